"""What a converter gets out of a file: Markdown, where each part of it came from, and its figures."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Origin:
    """From this line of the text on (until the next origin of its kind), the text comes from that place.

    `kind` is `page`, `slide`, `sheet`, `cell`, `section` or `line` (a line of the original file); `place`
    counts from 1; `name` is a sheet's or a section's name. Lines go on together: n lines below an origin
    of kind `line` stands line `place` + n of the file.
    """

    line: int
    kind: str
    place: int
    name: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """An image found in a source. The text refers to it as `![caption](asset:sha256)`."""

    sha256: str
    data: bytes
    media_type: str
    caption: str
    line: int


@dataclass(frozen=True, slots=True)
class Extract:
    """The Markdown of a source, LF only, with its figures and origins; `notes` say what was left out."""

    markdown: str
    title: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    origins: tuple[Origin, ...] = ()
    figures: tuple[Figure, ...] = ()
    notes: tuple[str, ...] = ()
