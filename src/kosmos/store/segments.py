"""A segment: some rows as columns and postings. It never changes; rows that die are noted elsewhere."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kosmos.store.columns import (
    Column,
    ListColumn,
    Mask,
    build_column,
    build_list_column,
    merge_columns,
    merge_lists,
)
from kosmos.store.filters import And, Contains, Eq, Filter, In, Not, Or, Prefix, Range, matches
from kosmos.store.postings import Postings, build_postings, merge_postings
from kosmos.store.ranking import find_in
from kosmos.store.values import FIRST
from kosmos.store.vectors import unpack_arrays

StoredRow = tuple[int, str, str, bytes]  # slot, pk, fields, sparse vectors
LONG_TEXT = 200  # fields whose texts are longer on average get no column


@dataclass(frozen=True, slots=True)
class Segment:
    """Rows ordered by slot."""

    slots: NDArray[np.int64]
    columns: Mapping[str, Column]
    lists: Mapping[str, ListColumn]
    routes: Mapping[str, Postings]
    deferred: frozenset[str]  # fields that have no column because their texts are long

    def __len__(self) -> int:
        return len(self.slots)

    def pks(self, rows: NDArray[np.intp]) -> list[str]:
        """The keys of rows."""
        column = self.columns["pk"]
        return column.values.texts.some(column.codes[rows] - FIRST)

    def rows_of(self, slots: NDArray[np.int64]) -> NDArray[np.intp]:
        """Where the slots that are here stand."""
        return find_in(self.slots, slots)[0]


Lookup = Callable[[Segment, Filter], Mask]  # asks the truth about a field that has no column


def build_segment(rows: Sequence[StoredRow]) -> Segment:
    """Columns and postings from rows that are ordered by slot."""
    fields: list[dict[str, Any]] = [{**json.loads(row[2]), "pk": row[1]} for row in rows]
    names = sorted({name for each in fields for name in each})
    raw = {name: [each.get(name) for each in fields] for name in names}
    deferred = frozenset(name for name in names if name != "pk" and _is_long(raw[name]))
    shown = [name for name in names if name not in deferred]
    lists = {name: build_list_column(raw[name]) for name in shown}
    return Segment(
        slots=np.fromiter((row[0] for row in rows), np.int64, len(rows)),
        columns={name: build_column(raw[name]) for name in shown},
        lists={name: column for name, column in lists.items() if column is not None},
        routes=_build_routes([row[3] for row in rows]),
        deferred=deferred,
    )


def merge_segments(parts: Sequence[tuple[Segment, Mask | None]]) -> Segment:
    """One segment out of several, one behind another, with only the rows that live."""
    kept = [np.flatnonzero(alive) if alive is not None else np.arange(len(part)) for part, alive in parts]
    places = _places([len(part) for part, _ in parts], kept)
    segments = [part for part, _ in parts]
    deferred = frozenset[str]().union(*(part.deferred for part in segments))
    names = sorted({name for part in segments for name in part.columns} - deferred)
    lists = sorted({name for part in segments for name in part.lists} - deferred)
    routes = sorted({name for part in segments for name in part.routes})
    zipped = list(zip(segments, kept, places, strict=True))
    return Segment(
        slots=np.concatenate([part.slots[rows] for part, rows, _ in zipped]),
        columns={
            name: merge_columns([(part.columns.get(name), rows) for part, rows, _ in zipped])
            for name in names
        },
        lists={name: merge_lists([(part.lists.get(name), at) for part, _, at in zipped]) for name in lists},
        routes={
            name: merge_postings([(part.routes[name], at) for part, _, at in zipped if name in part.routes])
            for name in routes
        },
        deferred=deferred,
    )


def mask_segment(segment: Segment, where: Filter, lookup: Lookup) -> Mask:
    """Which rows match."""
    match where:
        case And(parts):
            mask = np.ones(len(segment), bool)
            for part in parts:
                mask &= mask_segment(segment, part, lookup)
            return mask
        case Or(parts):
            mask = np.zeros(len(segment), bool)
            for part in parts:
                mask |= mask_segment(segment, part, lookup)
            return mask
        case Not(part):
            return ~mask_segment(segment, part, lookup)
        case _:
            return lookup(segment, where) if where.field in segment.deferred else _mask_leaf(segment, where)


def _mask_leaf(segment: Segment, leaf: Eq | In | Range | Contains | Prefix) -> Mask:
    if isinstance(leaf, Contains):
        listed = segment.lists.get(leaf.field)
        return listed.containing(leaf.value, len(segment)) if listed else np.zeros(len(segment), bool)
    column = segment.columns.get(leaf.field)
    if column is None:
        return np.full(len(segment), matches(leaf, {}))
    match leaf:
        case Eq(_, value):
            return column.equal([value])
        case In(_, values):
            return column.equal(values)
        case Range(_, low, high):
            return column.within(column.values.between(low, high))
        case Prefix(_, value):
            return column.within([column.values.starting(value)])


def _places(sizes: Sequence[int], kept: Sequence[NDArray[np.intp]]) -> list[NDArray[np.int32]]:
    """By part and row: the row it becomes, or -1."""
    places, start = [], 0
    for size, rows in zip(sizes, kept, strict=True):
        place = np.full(size, -1, np.int32)
        place[rows] = np.arange(start, start + len(rows), dtype=np.int32)
        places.append(place)
        start += len(rows)
    return places


def _is_long(values: Iterable[Any]) -> bool:
    lengths = [len(value) for value in values if isinstance(value, str)]
    return bool(lengths) and sum(lengths) > LONG_TEXT * len(lengths)


def _build_routes(packed: Sequence[bytes]) -> dict[str, Postings]:
    found: dict[str, tuple[list[Any], list[Any], list[int]]] = {}
    for row, data in enumerate(packed):
        for route, terms, weights in unpack_arrays(data):
            entry = found.setdefault(route, ([], [], []))
            entry[0].append(terms)
            entry[1].append(weights)
            entry[2].append(row)
    return {route: build_postings(*entry) for route, entry in sorted(found.items())}
