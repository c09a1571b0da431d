"""One state of a collection in memory: segments with their living rows, dense routes. It never changes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kosmos.errors import InvalidInput
from kosmos.store.checks import check_dense, check_sparse
from kosmos.store.columns import Mask
from kosmos.store.contract import Query
from kosmos.store.dense import DenseRoute
from kosmos.store.filters import Filter
from kosmos.store.ranking import leading
from kosmos.store.rows import Dense, Found, Sparse, TermCounts
from kosmos.store.segments import Lookup, Segment, mask_segment

Hits = tuple[NDArray[np.float64], NDArray[np.int64]]  # scores and slots


@dataclass(frozen=True, slots=True)
class Part:
    """A segment, the file it is in (none: memory only) and which of its rows live (None: all)."""

    segment: Segment
    alive: Mask | None = None
    file: str = ""

    @property
    def living(self) -> int:
        """How many rows live."""
        return len(self.segment) if self.alive is None else int(self.alive.sum())


@dataclass(frozen=True)
class Selection:
    """Which rows of each part are wanted; without a filter, those that live."""

    parts: Sequence[Part]
    masks: Sequence[Mask | None]
    filtered: bool

    @cached_property
    def rows(self) -> list[NDArray[np.intp]]:
        """The wanted rows of each part."""
        return [
            np.arange(len(part.segment)) if mask is None else np.flatnonzero(mask)
            for part, mask in zip(self.parts, self.masks, strict=True)
        ]

    @cached_property
    def slots(self) -> NDArray[np.int64]:
        """The slots of all wanted rows, in order."""
        pieces = [part.segment.slots[rows] for part, rows in zip(self.parts, self.rows, strict=True)]
        return np.concatenate([np.zeros(0, np.int64), *pieces])


@dataclass(frozen=True)
class Snapshot:
    """Parts are ordered by slot and do not overlap."""

    version: int = 0
    layout: int = 0
    graves: int = 0  # the last death that is in here
    last: int = 0  # the last slot that is in here
    parts: tuple[Part, ...] = ()
    dense: Mapping[str, DenseRoute] = field(default_factory=dict)

    @cached_property
    def dimensions(self) -> dict[str, int]:
        """The dense routes."""
        return {name: route.dimension for name, route in self.dense.items()}

    @cached_property
    def rows(self) -> int:
        """How many rows live."""
        return sum(part.living for part in self.parts)

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        return np.array([part.segment.slots[0] for part in self.parts], np.int64)

    def select(self, where: Filter | None, lookup: Lookup) -> Selection:
        """The rows that live and match."""
        if where is None:
            return Selection(self.parts, [part.alive for part in self.parts], filtered=False)
        masks = [mask_segment(part.segment, where, lookup) for part in self.parts]
        for part, mask in zip(self.parts, masks, strict=True):
            if part.alive is not None:
                np.logical_and(mask, part.alive, out=mask)
        return Selection(self.parts, masks, filtered=True)

    def search(self, route: str, query: Query, k: int, wanted: Selection) -> list[Found]:
        """The k best of the wanted rows."""
        if isinstance(query, Mapping):
            if route in self.dense:
                raise InvalidInput(f"The route {route} is dense; it is searched with a vector.")
            check_sparse(route, query)
            return self._named(self._search_sparse(route, query, k, wanted), k)
        vector = check_dense(route, query, self.dimensions)
        return self._named(self._search_dense(self.dense[route], vector, k, wanted), k)

    def term_counts(self, route: str, terms: Sequence[int]) -> TermCounts:
        """In how many rows each of the terms occurs."""
        found = [
            (part.segment.routes[route], part.alive) for part in self.parts if route in part.segment.routes
        ]
        counts = {term: sum(postings.count(term, alive) for postings, alive in found) for term in terms}
        return TermCounts(self.rows, counts)

    def first_pks(self, wanted: Selection, after: str, limit: int) -> list[str]:
        """The first keys of the wanted rows behind one of them, in order."""
        found: list[str] = []
        for part, rows in zip(self.parts, wanted.rows, strict=True):
            column = part.segment.columns["pk"]
            codes = column.codes[rows]
            ((start, _),) = column.values.between(after, None)
            ahead = codes[codes >= start]
            if len(ahead) > limit + 1:
                ahead = np.partition(ahead, limit)[: limit + 1]
            found += [_text(column.values.raw(code)) for code in ahead.tolist()]
        return sorted(pk for pk in found if pk > after)[:limit]

    def _search_sparse(self, route: str, query: Sparse, k: int, wanted: Selection) -> Hits:
        scores, slots = [np.zeros(0)], [np.zeros(0, np.int64)]
        for at, part in enumerate(self.parts):
            postings = part.segment.routes.get(route)
            if postings is None:
                continue
            totals = np.zeros(len(part.segment))
            postings.add_to(totals, query)
            if wanted.filtered:
                rows = wanted.rows[at]
                rows = rows[leading(totals[rows], k)]
            else:
                if (mask := wanted.masks[at]) is not None:
                    totals[~mask] = 0
                rows = leading(totals, k)
            scores.append(totals[rows])
            slots.append(part.segment.slots[rows])
        return np.concatenate(scores), np.concatenate(slots)

    def _search_dense(self, route: DenseRoute, query: Dense, k: int, wanted: Selection) -> Hits:
        positions, scores = route.best(query, k, wanted.slots if wanted.filtered else None)
        return scores.astype(np.float64), route.slots[positions]

    def _named(self, hits: Hits, k: int) -> list[Found]:
        scores, slots = hits
        at = leading(scores, k)
        named = zip(scores[at].tolist(), self._pks(slots[at]), strict=True)
        return [Found(pk, score) for score, pk in sorted(named, key=lambda pair: (-pair[0], pair[1]))[:k]]

    def _pks(self, slots: NDArray[np.int64]) -> list[str]:
        owners = np.searchsorted(self._starts, slots, side="right") - 1
        names = np.empty(len(slots), object)
        for at in np.unique(owners).tolist():
            segment, mine = self.parts[at].segment, owners == at
            names[mine] = segment.pks(np.searchsorted(segment.slots, slots[mine]))
        return names.tolist()


def _text(raw: object) -> str:
    return raw.decode() if isinstance(raw, bytes) else str(raw)
