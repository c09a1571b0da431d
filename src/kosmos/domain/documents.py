"""Documents: one source, one canonical text addressed by line."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any


class DocumentStatus(StrEnum):
    """How far a document has come."""

    PENDING = "PENDING"
    PROCESSING = "PROCESSING"
    READY = "READY"
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True)
class Document:
    """A source in a space. `origin` identifies it; `source` is what people are shown."""

    id: str
    space_id: str
    origin: str
    source: str
    filename: str
    filetype: str
    size: int
    source_url: str | None
    title: str
    original_sha256: str
    canonical_sha256: str | None
    line_count: int
    status: DocumentStatus
    error: str | None
    version: int
    live_generation: int  # the chunks that readers see
    draft_generation: int | None  # chunks that are being made, or wait to be indexed
    metadata: Mapping[str, Any]
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class DocumentVersion:
    """One generation of a document in the making, or the live one: which bytes became which text.

    `hints` are what whoever added it knew about the source and its bytes do not say.
    """

    document_id: str
    generation: int
    version: int
    original_sha256: str
    canonical_sha256: str | None
    extract_sha256: str | None  # where lines came from, and what was left out
    size: int
    filetype: str
    converter: str
    line_count: int
    title: str
    metadata: Mapping[str, Any]
    hints: Mapping[str, Any]
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Canonical:
    """Canonical text: LF only, no final newline, so that line n is `text.split("\\n")[n - 1]`.

    `converter` is what made it, as `html/1`: the same bytes and the same converter give the same text.
    """

    text: str
    title: str
    metadata: Mapping[str, Any]
    converter: str = ""

    @property
    def lines(self) -> list[str]:
        """The lines, the first of which has number 1."""
        return self.text.split("\n")


def slice_lines(text: str, start_line: int, end_line: int) -> str:
    """The text of the lines start..end (from 1, both included) of a canonical text."""
    return "\n".join(text.split("\n")[start_line - 1 : end_line])
