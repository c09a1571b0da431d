"""Chunks: exact ranges of lines of a canonical text, in a tree of headings and contents."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

CONTENT_LEVEL = -1
ERROR_LEVEL = -99


class ChunkType(StrEnum):
    """What a chunk is."""

    HEADING = "heading"
    CONTENT = "content"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class ChunkDraft:
    """A chunk before it has an identity: `parent` is the position of its heading in the same list."""

    type: ChunkType
    level: int
    start_line: int
    end_line: int
    raw_content: str
    summary: str
    token_count: int
    parent: int | None
    heading_path: tuple[str, ...] = ()
    from_split: bool = False
    merged: bool = False
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Chunk:
    """A stored chunk of one generation of a document."""

    id: str
    space_id: str
    document_id: str
    generation: int
    parent_id: str | None
    type: ChunkType
    level: int
    start_line: int
    end_line: int
    raw_content: str
    summary: str
    redaction: Mapping[str, Any] | None
    token_count: int
    position: int
    from_split: bool
    merged: bool
    metadata: Mapping[str, Any]
