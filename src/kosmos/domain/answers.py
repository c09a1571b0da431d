"""Search results and answers, in the one shape that every surface gives out."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class RouteRank:
    """Where one route put a result, and with what score."""

    rank: int
    score: float


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One result of a search: an exact range of lines and why it is here."""

    document_id: str
    source: str
    title: str
    chunk_id: str
    start_line: int
    end_line: int
    page: int | None
    text: str
    summary: str
    score: float
    routes: Mapping[str, RouteRank]
    origin: str = "anchor"


@dataclass(frozen=True, slots=True)
class Citation:
    """Where a statement stands: `quote` is a substring of those lines of the canonical text."""

    marker: str
    document_id: str
    source: str
    start_line: int
    end_line: int
    page: int | None
    quote: str


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer with everything needed to check it."""

    answer: str
    citations: tuple[Citation, ...]
    strategy: str
    run_id: str
    usage: Mapping[str, Any] = field(default_factory=dict)
