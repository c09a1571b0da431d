"""Dense vectors of a route: one file of float32 that only grows, mapped into memory."""

import mmap
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from kosmos.store.columns import Mask
from kosmos.store.ranking import find_in, leading
from kosmos.store.rows import Dense
from kosmos.store.segment_files import DamagedFile

STEP = 8192  # vectors by which a file grows, so that readers seldom have to map it anew
GATHER = 6  # fetching a vector from anywhere costs as much as so many in a row
Positions = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Lists:
    """Vectors near to each other lie together: those of list i at offsets[i]:offsets[i + 1]."""

    centres: Dense
    offsets: NDArray[np.int64]
    probes: int  # how many are looked into


@dataclass(frozen=True)
class DenseRoute:
    """The vectors of a route up to some moment. A position is the place of a vector in the file."""

    name: str
    file: str
    dimension: int
    mapped: Dense
    slots: NDArray[np.int64]  # the row of each position
    alive: Mask
    lists: Lists | None = None
    batches: int = 0  # the last batch that is in here

    @property
    def matrix(self) -> Dense:
        """The vectors, dead ones among them."""
        return self.mapped[: len(self.slots)]

    @cached_property
    def dead(self) -> Positions:
        """Positions whose row is gone or has another vector by now."""
        return np.flatnonzero(~self.alive)

    @cached_property
    def filled(self) -> int:
        """How many rows have a vector."""
        return len(self.slots) - len(self.dead)

    @cached_property
    def _ordered(self) -> tuple[NDArray[np.int64], Positions]:
        living = np.flatnonzero(self.alive)
        order = living[np.argsort(self.slots[living], kind="stable")]
        return self.slots[order], order

    def positions_of(self, slots: NDArray[np.int64]) -> tuple[Positions, Mask]:
        """The positions of the rows that have vectors, and which rows these are."""
        known, order = self._ordered
        at, there = find_in(known, slots)
        return order[at], there

    def best(self, query: Dense, k: int, slots: NDArray[np.int64] | None) -> tuple[Positions, Dense]:
        """Positions and scores of the k best, and of all that equal the last; only of some rows if given."""
        if slots is not None:
            positions = np.sort(self.positions_of(slots)[0])
            if len(positions) * GATHER < len(self.slots):
                return _cut(positions, self.matrix[positions] @ query, k)
            return self._scan(query, k, self._only(positions), share=len(positions) / len(self.slots))
        return self._scan(query, k, None, share=1.0)

    def _only(self, positions: Positions) -> Mask:
        mask = np.zeros(len(self.slots), bool)
        mask[positions] = True
        return mask

    def _scan(self, query: Dense, k: int, only: Mask | None, *, share: float) -> tuple[Positions, Dense]:
        if self.lists is not None:
            return self._probe(self.lists, query, k, self.alive if only is None else only, share)
        scores = self.matrix @ query
        if only is not None:
            scores[~only] = 0
        elif len(self.dead):
            scores[self.dead] = 0
        at = leading(scores, k)
        return at, scores[at]

    def _probe(self, lists: Lists, query: Dense, k: int, only: Mask, share: float) -> tuple[Positions, Dense]:
        """Look into the lists whose centres are nearest, and at everything that came after them."""
        count = len(lists.centres)
        wanted = lists.probes / max(share, 1 / count)
        nearest = np.argsort(-(lists.centres @ query))[: min(count, int(wanted) + 1)]
        spans = [(int(lists.offsets[at]), int(lists.offsets[at + 1])) for at in np.sort(nearest)]
        spans = join_spans([*spans, (int(lists.offsets[-1]), len(self.slots))])
        matrix = self.matrix
        scores = np.concatenate([matrix[start:end] @ query for start, end in spans])
        positions = np.concatenate([np.arange(start, end) for start, end in spans])
        scores[~only[positions]] = 0
        return _cut(positions, scores, k)


def _cut(positions: Positions, scores: Dense, k: int) -> tuple[Positions, Dense]:
    at = leading(scores, k)
    return positions[at], scores[at]


def join_spans(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans in order, those that touch as one, empty ones dropped (but not all)."""
    joined: list[tuple[int, int]] = [(0, 0)]
    for start, end in spans:
        if joined[-1][1] == start:
            joined[-1] = (joined[-1][0], end)
        elif start < end:
            joined.append((start, end))
    return joined


class LostVectors(DamagedFile):
    """The file of a dense route is gone or cut short."""


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except FileNotFoundError:
        raise LostVectors(f"{path.name} is gone") from None


def append_vectors(path: Path, first: int, vectors: Dense) -> None:
    """Write vectors behind the first so many, safe on the disk. What lay there belongs to nobody."""
    width = vectors.shape[1] * 4
    number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        capacity = -(-(first + len(vectors)) // STEP) * STEP * width
        if os.fstat(number).st_size < first * width:
            raise LostVectors(f"{path.name} is not what it was")
        if os.fstat(number).st_size < capacity:
            os.ftruncate(number, capacity)
        rest, at = np.ascontiguousarray(vectors, "<f4").data.cast("B"), first * width
        while rest:
            written = os.pwrite(number, rest, at)
            rest, at = rest[written:], at + written
        os.fsync(number)
    finally:
        os.close(number)


def map_vectors(path: Path, count: int, dimension: int) -> Dense:
    """All that a file has room for; LostVectors when it is shorter than so many vectors."""
    if not count:
        return np.zeros((0, dimension), np.float32)
    with _opened(path) as file:
        capacity = os.fstat(file.fileno()).st_size // (4 * dimension)
        if capacity < count:
            raise LostVectors(f"{path.name} has {capacity} vectors, not {count}")
        mapped = mmap.mmap(file.fileno(), capacity * dimension * 4, access=mmap.ACCESS_READ)
    return np.frombuffer(mapped, "<f4").reshape(capacity, dimension)
