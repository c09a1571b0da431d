"""What goes into a store and what comes out."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Sparse = Mapping[int, float]


@dataclass(frozen=True, slots=True)
class IndexRow:
    """One chunk in the index: plain fields, and a sparse vector for each sparse route."""

    pk: str
    fields: Mapping[str, Any]
    sparse: Mapping[str, Sparse] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Found:
    """A row that a route found."""

    pk: str
    score: float


@dataclass(frozen=True, slots=True)
class TermCounts:
    """In how many of a route's rows some terms occur."""

    rows: int
    counts: Mapping[int, int]
