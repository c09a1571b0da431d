"""Search results and answers, in the one shape that every surface gives out."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class RouteRank:
    """Where one route put a result, with what score, and what that adds to the whole.

    By weighted sum, `part` is `weight` × (`score` − `low`) / (`high` − `low`), never below 0; by
    reciprocal ranks it is `weight` / (k + `rank`); both divided by the `scale` of the explanation.
    """

    rank: int
    score: float
    weight: float = 1.0
    low: float = 0.0
    high: float = 0.0
    part: float = 0.0


@dataclass(frozen=True, slots=True)
class Likeness:
    """How alike question and text are, from 0 to 1, whatever else was found.

    `term` is the share of the question's weight that stands in the text, `vector` the cosine.
    """

    term: float
    vector: float | None

    def mix(self, weight: float) -> float:
        """Both as one number, the vector with that weight; the terms alone where there is no vector."""
        return self.term if self.vector is None else (1 - weight) * self.term + weight * self.vector

    @property
    def best(self) -> float:
        """The one that sees more: terms are blind to other words, vectors to rare names."""
        return max(self.term, self.vector or 0.0)


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A chunk that stands beside a result in its document."""

    chunk_id: str
    start_line: int
    end_line: int
    text: str


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
    reason: str = ""  # why it is here although the question did not find it itself
    space_id: str = ""
    likeness: Likeness | None = None  # where it was asked for
    more: int = 0  # further chunks of the same document, when results are grouped
    neighbours: tuple[Neighbour, ...] = ()
    explain: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Findings:
    """What a search brought. `warnings` say which routes are missing from it and why."""

    hits: tuple[SearchHit, ...]
    warnings: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()  # what was searched for: the question, and how a model put it


@dataclass(frozen=True, slots=True)
class Citation:
    """Where a statement stands: `quote` is a substring of those lines of the canonical text.

    `version` is that of the document, 0 where nobody looked. What the web said has a `url`, no document
    and no lines.
    """

    marker: str
    document_id: str
    source: str
    start_line: int
    end_line: int
    page: int | None
    quote: str
    version: int = 0
    url: str | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence of an answer: which markers it bears, and why it has no support if it has none."""

    text: str
    markers: tuple[str, ...] = ()
    problem: str | None = None  # `no citation` or `quote not found`


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer with everything needed to check it."""

    answer: str
    citations: tuple[Citation, ...]
    strategy: str
    run_id: str
    usage: Mapping[str, Any] = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()
    removed: tuple[str, ...] = ()  # markers of the model that pointed nowhere
    details: Mapping[str, Any] = field(default_factory=dict)  # what a workflow chose on the way, and why
