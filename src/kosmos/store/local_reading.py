"""From the SQLite file to a snapshot: as a whole the first time, then only what has changed."""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kosmos.store.columns import Mask
from kosmos.store.dense import DenseRoute, Lists, map_vectors
from kosmos.store.filters import Filter, matches
from kosmos.store.local_writing import new_file
from kosmos.store.ranking import find_in
from kosmos.store.rows import Dense, IndexRow
from kosmos.store.segment_files import open_segment
from kosmos.store.segments import Lookup, Segment, StoredRow, build_segment, merge_segments
from kosmos.store.snapshot import Part, Snapshot
from kosmos.store.vectors import unpack_vectors

Slots = NDArray[np.int64]
_ROWS = "SELECT slot, pk, fields, sparse FROM item WHERE slot > ? ORDER BY slot"
_ROUTES = "SELECT name, dimension, file, count FROM route"
_BATCHES = "SELECT number, first, slots FROM batch WHERE route = ? AND number > ? ORDER BY number"


def read_snapshot(conn: sqlite3.Connection, folder: Path, known: Snapshot | None) -> Snapshot:
    """The state that the connection sees in its transaction; `known` is used as far as it still holds."""
    version, layout = conn.execute("SELECT version, layout FROM state").fetchone()
    if known is not None and known.version == version:
        return known
    graves = conn.execute("SELECT coalesce(max(number), 0) FROM grave").fetchone()[0]
    if known is not None and known.layout == layout:
        parts, last, dead = _grow(conn, known)
    else:
        parts, last, dead = _load(conn, folder, known)
        known = replace(known, dense={}) if known else None
    fresh = Snapshot(version, layout, graves, last, parts)
    former = known.dense if known else {}
    living = None if former else _living(parts)
    rows = conn.execute(_ROUTES).fetchall()
    dense = [_route(conn, folder, row, former.get(row[0]), (dead, living)) for row in rows]
    return replace(fresh, dense={route.name: route for route in dense})


def load_parts(conn: sqlite3.Connection, folder: Path) -> list[Part]:
    """The segments, and rows that are in none yet as one more, with what is dead in them."""
    dead = _slots(conn.execute("SELECT slot FROM grave"))
    files = conn.execute("SELECT file, last FROM segment ORDER BY first").fetchall()
    parts = [_bury(Part(open_segment(folder / file), None, file), dead) for file, _ in files]
    rows = conn.execute(_ROWS, (files[-1][1] if files else 0,)).fetchall()
    return [*parts, Part(build_segment(rows))] if rows else parts


def row_lookup(conn: sqlite3.Connection) -> Lookup:
    """Asks the rows themselves about fields that have no column."""

    def look(segment: Segment, leaf: Filter) -> Mask:
        mask = np.zeros(len(segment), bool)
        if len(segment):
            span = (int(segment.slots[0]), int(segment.slots[-1]))
            rows = conn.execute("SELECT slot, pk, fields FROM item WHERE slot BETWEEN ? AND ?", span)
            found = [slot for slot, pk, fields in rows if matches(leaf, {**json.loads(fields), "pk": pk})]
            mask[segment.rows_of(np.array(found, np.int64))] = True
        return mask

    return look


def _load(
    conn: sqlite3.Connection, folder: Path, known: Snapshot | None
) -> tuple[tuple[Part, ...], int, Slots]:
    mapped = {part.file: part.segment for part in known.parts} if known else {}
    files = conn.execute("SELECT file, last FROM segment ORDER BY first").fetchall()
    dead = _slots(conn.execute("SELECT slot FROM grave"))
    parts = [Part(mapped.get(file) or open_segment(folder / file), None, file) for file, _ in files]
    return *_with_tail(conn, [_bury(part, dead) for part in parts], files[-1][1] if files else 0), dead


def _grow(conn: sqlite3.Connection, known: Snapshot) -> tuple[tuple[Part, ...], int, Slots]:
    dead = _slots(conn.execute("SELECT slot FROM grave WHERE number > ?", (known.graves,)))
    return *_with_tail(conn, [_bury(part, dead) for part in known.parts], known.last), dead


def _with_tail(conn: sqlite3.Connection, parts: list[Part], last: int) -> tuple[tuple[Part, ...], int]:
    """Rows that are in no file yet become small parts in memory, which are merged as they grow."""
    rows = conn.execute(_ROWS, (last,)).fetchall()
    if rows:
        parts.append(Part(build_segment(rows)))
        last = rows[-1][0]
    while len(parts) > 1 and not parts[-2].file and len(parts[-2].segment) < 2 * len(parts[-1].segment):
        left, right = parts[-2:]
        merged = merge_segments([(left.segment, left.alive), (right.segment, right.alive)])
        parts[-2:] = [Part(merged)]
    return tuple(part for part in parts if len(part.segment)), last


def _bury(part: Part, dead: Slots) -> Part:
    rows = part.segment.rows_of(dead)
    if not len(rows):
        return part
    alive = np.ones(len(part.segment), bool) if part.alive is None else part.alive.copy()
    alive[rows] = False
    return replace(part, alive=alive)


def _living(parts: Sequence[Part]) -> Slots:
    pieces = [part.segment.slots if part.alive is None else part.segment.slots[part.alive] for part in parts]
    return np.concatenate([np.zeros(0, np.int64), *pieces])


def _route(
    conn: sqlite3.Connection,
    folder: Path,
    row: tuple[str, int, str, int],
    known: DenseRoute | None,
    changed: tuple[Slots, Slots | None],
) -> DenseRoute:
    name, dimension, file, count = row
    if known is None or known.file != file:
        lists = _lists(conn, name, dimension)
        empty = np.zeros((0, dimension), np.float32)
        known = DenseRoute(name, file, dimension, empty, np.zeros(0, np.int64), np.zeros(0, bool), lists)
    batches = conn.execute(_BATCHES, (name, known.batches)).fetchall()
    mapped = known.mapped if len(known.mapped) >= count else map_vectors(folder / file, count, dimension)
    fresh = [np.frombuffer(batch[2], "<i8") for batch in batches]
    slots = np.concatenate([known.slots, *fresh])
    alive = _alive(slots, known.alive, changed)
    return replace(
        known, mapped=mapped, slots=slots, alive=alive, batches=batches[-1][0] if batches else known.batches
    )


def _alive(slots: Slots, before: Mask, changed: tuple[Slots, Slots | None]) -> Mask:
    """Which vectors count: the last one of each row that lives."""
    dead, living = changed
    fresh = slots[len(before) :]
    alive = np.concatenate([before, np.ones(len(fresh), bool)])
    if living is not None:
        alive &= _isin(slots, living)
    elif len(dead):
        alive &= ~_isin(slots, np.unique(dead))
    if len(fresh) and len(before):
        alive[: len(before)] &= ~_isin(slots[: len(before)], np.unique(fresh))
    if len(fresh):
        alive[len(before) :] &= last_of_each(fresh)
    return alive


def last_of_each(slots: Slots) -> Mask:
    """Which places hold a slot that does not come again."""
    low, high = int(slots.min()), int(slots.max())
    last: Mask
    if high - low < 8 * len(slots):  # a table is quicker than sorting; of equals, the last is written last
        table = np.zeros(high - low + 1, np.int64)
        places = np.arange(len(slots))
        table[slots - low] = places
        last = table[slots - low] == places
        return last
    order = np.argsort(slots, kind="stable")
    last = np.ones(len(slots), bool)
    last[order[:-1]] = slots[order[1:]] != slots[order[:-1]]
    return last


def _isin(slots: Slots, ordered: Slots) -> Mask:
    return find_in(ordered, slots)[1]


def _lists(conn: sqlite3.Connection, name: str, dimension: int) -> Lists | None:
    query = "SELECT centres, offsets, probes FROM route WHERE name = ?"
    centres, offsets, probes = conn.execute(query, (name,)).fetchone()
    if centres is None:
        return None
    shaped: Dense = np.frombuffer(centres, "<f4").reshape(-1, dimension)
    return Lists(shaped, np.frombuffer(offsets, "<i8"), probes)


def _slots(rows: sqlite3.Cursor) -> Slots:
    return np.fromiter((row[0] for row in rows), np.int64)


def read_rows(conn: sqlite3.Connection, pks: Sequence[str]) -> list[StoredRow]:
    """The rows of these pks that there are, by slot, in the order that was asked for."""
    query = "SELECT slot, pk, fields, sparse FROM item WHERE pk = ?"
    found = (conn.execute(query, (pk,)).fetchone() for pk in dict.fromkeys(pks))
    return [row for row in found if row]


def read_page(conn: sqlite3.Connection, after: str, limit: int) -> list[StoredRow]:
    """Rows behind a pk, in order."""
    query = "SELECT slot, pk, fields, sparse FROM item WHERE pk > ? ORDER BY pk LIMIT ?"
    return conn.execute(query, (after, limit)).fetchall()


def without_vectors(rows: Sequence[StoredRow]) -> list[IndexRow]:
    """Rows with their fields only."""
    return [IndexRow(pk, json.loads(fields)) for _, pk, fields, _ in rows]


def with_vectors(rows: Sequence[StoredRow], snapshot: Snapshot) -> list[IndexRow]:
    """Rows with their sparse and dense vectors."""
    slots = np.fromiter((row[0] for row in rows), np.int64, len(rows))
    found: list[dict[str, Dense]] = [{} for _ in rows]
    for name, route in snapshot.dense.items():
        positions, there = route.positions_of(slots)
        vectors = route.matrix[positions]
        for at, vector in zip(np.flatnonzero(there).tolist(), vectors, strict=True):
            found[at][name] = vector
    return [
        IndexRow(pk, json.loads(fields), unpack_vectors(sparse), dense)
        for (_, pk, fields, sparse), dense in zip(rows, found, strict=True)
    ]


def forget_files(conn: sqlite3.Connection, folder: Path, *, damaged: bool = False) -> None:
    """Let all segments be made anew from the rows; give up the vectors of files that are gone, or of all."""
    conn.execute("DELETE FROM segment")
    for name, dimension, file, count in conn.execute(_ROUTES).fetchall():
        path = folder / file
        lost = count and (not path.is_file() or path.stat().st_size < count * dimension * 4)
        if lost or damaged:
            conn.execute("DELETE FROM batch WHERE route = ?", (name,))
            fresh = "UPDATE route SET file = ?, count = 0, centres = NULL, offsets = NULL WHERE name = ?"
            conn.execute(fresh, (new_file(name, "f32"), name))
    conn.execute("UPDATE state SET layout = layout + 1")
