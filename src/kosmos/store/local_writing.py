"""Changes of a collection: rows into SQLite, vectors into files, in an order that survives kill -9.

Vectors are on the disk before the transaction that says whose they are; what was written without it is
overwritten by the next writer. Only one writer is at work at a time: SQLite sees to that.
"""

import json
import secrets
import sqlite3
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from kosmos.store.checks import check_dense, check_dimension, check_routes, check_rows, fields_json
from kosmos.store.dense import append_vectors
from kosmos.store.local_database import last_slot
from kosmos.store.rows import Dense, IndexRow
from kosmos.store.vectors import pack_vectors


def ensure_routes(conn: sqlite3.Connection, dense: Mapping[str, int] | None) -> None:
    """Make the dense routes that are not there."""
    known = read_dimensions(conn)
    for name, dimension in check_routes(dense).items():
        check_dimension(name, known.get(name), dimension)
        if name not in known:
            row = (name, dimension, new_file(name, "f32"))
            conn.execute("INSERT INTO route (name, dimension, file, count) VALUES (?, ?, ?, 0)", row)


def read_dimensions(conn: sqlite3.Connection) -> dict[str, int]:
    """The dense routes."""
    return dict(conn.execute("SELECT name, dimension FROM route"))


def new_file(name: str, ending: str) -> str:
    """A file name that was never used: who still reads an old file is not disturbed."""
    return f"{name}-{secrets.token_hex(8)}.{ending}"


def write_rows(conn: sqlite3.Connection, folder: Path, rows: Sequence[IndexRow]) -> None:
    """Put rows in, each into a new slot; those they replace go."""
    checked = check_rows(rows, read_dimensions(conn))
    first = last_slot(conn) + 1
    values = [
        (first + at, row.pk, fields_json(row), pack_vectors(row.sparse)) for at, row in enumerate(checked)
    ]
    conn.executemany("DELETE FROM item WHERE pk = ?", ((row.pk,) for row in checked))
    conn.executemany("INSERT INTO item VALUES (?, ?, ?, ?)", values)
    vectors: dict[str, dict[int, Dense]] = {}
    for at, row in enumerate(checked):
        for route, vector in row.dense.items():
            vectors.setdefault(route, {})[first + at] = vector
    write_vectors(conn, folder, vectors)


def fill_rows(conn: sqlite3.Connection, folder: Path, vectors: Mapping[str, Mapping[str, Dense]]) -> int:
    """Give rows that are there vectors; how many rows took them."""
    dimensions = read_dimensions(conn)
    found: dict[str, dict[int, Dense]] = {}
    taken = 0
    for pk, routes in vectors.items():
        checked = {route: check_dense(route, vector, dimensions) for route, vector in routes.items()}
        slot = conn.execute("SELECT slot FROM item WHERE pk = ?", (pk,)).fetchone()
        for route, vector in checked.items() if slot else ():
            found.setdefault(route, {})[slot[0]] = vector
        taken += bool(slot and checked)
    write_vectors(conn, folder, found)
    return taken


def write_vectors(conn: sqlite3.Connection, folder: Path, vectors: Mapping[str, Mapping[int, Dense]]) -> None:
    """Append vectors by route and slot."""
    for route, by_slot in vectors.items():
        file, first = conn.execute("SELECT file, count FROM route WHERE name = ?", (route,)).fetchone()
        matrix = np.stack(list(by_slot.values()))
        folder.mkdir(mode=0o700, exist_ok=True)
        append_vectors(folder / file, first, matrix)
        note_batch(conn, route, first, list(by_slot), matrix)
        conn.execute("UPDATE route SET count = ? WHERE name = ?", (first + len(matrix), route))


def note_batch(conn: sqlite3.Connection, route: str, first: int, slots: Sequence[int], matrix: Dense) -> None:
    """Record whose vectors lie behind the first so many."""
    row = (route, first, np.asarray(slots, "<i8").tobytes(), checksum(matrix))
    conn.execute("INSERT INTO batch (route, first, slots, checksum) VALUES (?, ?, ?, ?)", row)


def checksum(matrix: Dense) -> int:
    """Of vectors as they lie in a file."""
    return zlib.crc32(np.ascontiguousarray(matrix, "<f4").data)


def empty_route(conn: sqlite3.Connection, route: str) -> str | None:
    """Take the vectors of a route away and forget its dimension; the file that is not needed any more."""
    found = conn.execute("SELECT file FROM route WHERE name = ?", (route,)).fetchone()
    conn.execute("DELETE FROM batch WHERE route = ?", (route,))
    conn.execute("DELETE FROM route WHERE name = ?", (route,))
    conn.execute("UPDATE state SET layout = layout + 1")
    return str(found[0]) if found else None


def delete_slots(conn: sqlite3.Connection, slots: Sequence[int]) -> None:
    """Remove rows; a trigger notes their deaths."""
    gone = json.dumps(list(slots))
    conn.execute("DELETE FROM item WHERE slot IN (SELECT value FROM json_each(?))", (gone,))
