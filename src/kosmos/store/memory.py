"""The rows of a collection as arrays, ready to be searched."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kosmos.store.rows import Found, IndexRow, Sparse, TermCounts


@dataclass(frozen=True, slots=True)
class Postings:
    """An inverted index: the rows and weights of term i lie at offsets[i]:offsets[i + 1]."""

    terms: NDArray[np.int64]
    offsets: NDArray[np.int64]
    rows: NDArray[np.int32]
    weights: NDArray[np.float32]

    def span(self, term: int) -> slice:
        """Where the postings of a term lie; empty when it does not occur."""
        at = int(np.searchsorted(self.terms, term))
        if at == len(self.terms) or int(self.terms[at]) != term:
            return slice(0, 0)
        return slice(int(self.offsets[at]), int(self.offsets[at + 1]))


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One version of a collection. Rows are ordered by pk, so that equal scores have a fixed order."""

    version: int
    pks: tuple[str, ...]
    fields: tuple[Mapping[str, Any], ...]
    routes: Mapping[str, Postings]

    def scores(self, route: str, query: Sparse) -> NDArray[np.float64]:
        """The inner product of every row with the query."""
        total = np.zeros(len(self.pks))
        postings = self.routes.get(route)
        if postings is None:
            return total
        for term, weight in query.items():
            span = postings.span(term)
            total[postings.rows[span]] += postings.weights[span] * weight
        return total

    def best(self, scores: NDArray[np.float64], k: int) -> list[Found]:
        """The k rows with the highest positive scores."""
        positive = np.flatnonzero(scores > 0)
        order = positive[np.argsort(-scores[positive], kind="stable")][:k]
        return [Found(self.pks[row], float(scores[row])) for row in order]

    def term_counts(self, route: str, terms: Sequence[int]) -> TermCounts:
        """In how many rows each of the terms occurs."""
        postings = self.routes.get(route)
        if postings is None:
            return TermCounts(len(self.pks), dict.fromkeys(terms, 0))
        spans = {term: postings.span(term) for term in terms}
        return TermCounts(len(self.pks), {term: span.stop - span.start for term, span in spans.items()})


def build_snapshot(version: int, rows: Sequence[IndexRow]) -> Snapshot:
    """Arrays from rows that are ordered by pk."""
    names = sorted({route for row in rows for route in row.sparse})
    return Snapshot(
        version=version,
        pks=tuple(row.pk for row in rows),
        fields=tuple({**row.fields, "pk": row.pk} for row in rows),
        routes={name: _postings([row.sparse.get(name, {}) for row in rows]) for name in names},
    )


def _postings(vectors: Sequence[Sparse]) -> Postings:
    sizes = [len(vector) for vector in vectors]
    terms = np.fromiter((term for vector in vectors for term in vector), np.int64, sum(sizes))
    weights = np.fromiter((w for vector in vectors for w in vector.values()), np.float32, sum(sizes))
    rows = np.repeat(np.arange(len(vectors), dtype=np.int32), sizes)
    order = np.argsort(terms, kind="stable")
    unique, first = np.unique(terms[order], return_index=True)
    offsets = np.append(first, len(order)).astype(np.int64)
    return Postings(unique, offsets, rows[order], weights[order])
