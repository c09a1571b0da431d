"""An inverted index: which rows have a term, and with what weight."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kosmos.store.rows import Sparse

Scores = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Postings:
    """The rows and weights of term i lie at offsets[i]:offsets[i + 1]."""

    terms: NDArray[np.uint32]
    offsets: NDArray[np.int64]
    rows: NDArray[np.int32]
    weights: NDArray[np.float32]

    def span(self, term: int) -> slice:
        """Where the postings of a term lie; empty when it does not occur."""
        at = int(np.searchsorted(self.terms, np.uint32(term)))
        if at == len(self.terms) or int(self.terms[at]) != term:
            return slice(0, 0)
        return slice(int(self.offsets[at]), int(self.offsets[at + 1]))

    def add_to(self, totals: Scores, query: Sparse) -> None:
        """Add each row's inner product with the query to its total."""
        for term, weight in query.items():
            span = self.span(term)
            if span.start < span.stop:
                # A plain float keeps float32; a numpy scalar would make everything float64.
                totals[self.rows[span]] += self.weights[span] * float(weight)

    def count(self, term: int, alive: NDArray[np.bool_] | None) -> int:
        """In how many living rows a term occurs."""
        span = self.span(term)
        return span.stop - span.start if alive is None else int(alive[self.rows[span]].sum())


def build_postings(
    terms: Sequence[NDArray[np.uint32]], weights: Sequence[NDArray[np.float64]], rows: Sequence[int]
) -> Postings:
    """An inverted index of vectors: their terms, their weights and the rows they belong to."""
    sizes = [len(vector) for vector in terms]
    return _grouped(
        np.concatenate([np.zeros(0, np.uint32), *terms]),
        np.repeat(np.asarray(rows, np.int32), sizes),
        np.concatenate([np.zeros(0, np.float32), *(part.astype(np.float32) for part in weights)]),
    )


def merge_postings(parts: Sequence[tuple[Postings, NDArray[np.int32]]]) -> Postings:
    """One index out of several; each part says by row where it goes, or -1."""
    pieces = []
    for part, places in parts:
        rows = places[part.rows]
        terms = np.repeat(part.terms, np.diff(part.offsets))
        kept = slice(None) if rows.size == 0 or rows.min() >= 0 else rows >= 0
        pieces.append((terms[kept], rows[kept], part.weights[kept]))
    terms_, rows_, weights_ = zip(*pieces, strict=True)
    return _grouped(np.concatenate(terms_), np.concatenate(rows_), np.concatenate(weights_))


def _grouped(terms: NDArray[np.uint32], rows: NDArray[np.int32], weights: NDArray[np.float32]) -> Postings:
    order = np.argsort(terms, kind="stable")  # sorted runs, one after another, are merged in linear time
    ordered = terms[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])) if len(ordered) else order
    offsets = np.append(starts, len(ordered)).astype(np.int64)
    return Postings(ordered[starts], offsets, rows[order], weights[order])
