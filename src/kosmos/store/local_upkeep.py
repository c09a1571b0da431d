"""What keeps a collection fast: rows into files, files into fewer files, vectors into lists.

Everything here can be killed at any moment or left out: rows are in SQLite, and a file counts only once
SQLite names it. One process at a time does it; others go on reading and writing meanwhile.
"""

import fcntl
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kosmos.store.clusters import assign_lists, count_probes, find_centres, list_count, order_lists
from kosmos.store.dense import DenseRoute, Lists, append_vectors
from kosmos.store.local_database import last_slot, transaction
from kosmos.store.local_reading import load_parts, read_snapshot
from kosmos.store.local_writing import checksum, new_file, note_batch
from kosmos.store.segment_files import DamagedFile, sync_folder, write_segment
from kosmos.store.segments import merge_segments
from kosmos.store.snapshot import Part

MAX_SEGMENT = 262_144  # rows; larger ones would take long to merge
BLOCK = 65_536
DEAD = 0.3  # the share of dead rows from which on a file is written anew


@dataclass(frozen=True, slots=True)
class Limits:
    """From when on something is done."""

    seal_rows: int = 4096  # rows in no file yet
    exact_rows: int = 200_000  # vectors of a route that are all looked at


def tidy(conn: sqlite3.Connection, folder: Path, limits: Limits, *, eager: bool = False) -> None:
    """Do what is due; with `eager` all that can be done. Nothing if somebody else is at it."""
    if not eager and not _is_due(conn, limits):
        return
    with _alone(folder) as free:
        if not free:
            return
        seal_rows(conn, folder, eager=eager)
        for (name,) in conn.execute("SELECT name FROM route").fetchall():
            if _wants_rewrite(conn, name, limits, eager=eager):
                rewrite_route(conn, folder, name, limits)
        sweep(conn, folder)


def _is_due(conn: sqlite3.Connection, limits: Limits) -> bool:
    sealed = conn.execute("SELECT coalesce(max(last), 0) FROM segment").fetchone()[0]
    graves = conn.execute("SELECT count(*) FROM grave").fetchone()[0]
    routes = [name for (name,) in conn.execute("SELECT name FROM route")]
    return (
        last_slot(conn) - sealed >= limits.seal_rows
        or graves > max(limits.seal_rows, DEAD * (last_slot(conn) or 1))
        or any(_wants_rewrite(conn, name, limits) for name in routes)
    )


@contextmanager
def _alone(folder: Path) -> Iterator[bool]:
    folder.mkdir(mode=0o700, exist_ok=True)
    number = os.open(folder / "upkeep.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield _lock(number)
    finally:
        os.close(number)


def _lock(number: int) -> bool:
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def seal_rows(conn: sqlite3.Connection, folder: Path, *, eager: bool) -> None:
    """Write the rows that are in no file yet, and anew those files that are small or full of dead rows."""
    with transaction(conn, write=False):
        end = last_slot(conn)
        graves = conn.execute("SELECT coalesce(max(number), 0) FROM grave").fetchone()[0]
        parts = load_parts(conn, folder)
    for start, stop in plan_merges([(part.living, len(part.segment)) for part in parts], eager=eager):
        group = parts[start:stop]
        if len(group) > 1 or not group[0].file or _is_dying(group[0], eager=eager):
            _replace(conn, folder, group, end=end if stop == len(parts) else None, graves=graves)


def _is_dying(part: Part, *, eager: bool) -> bool:
    return part.living < (1 if eager else 1 - DEAD) * len(part.segment)


def plan_merges(sizes: Sequence[tuple[int, int]], *, eager: bool = False) -> list[tuple[int, int]]:
    """Which neighbours (living rows, all rows) are written anew as one; the last one is new.

    A neighbour less than twice as large is taken along, so that there are few files, and each row is
    written but a few times.
    """
    if not sizes:
        return []
    start, total = len(sizes) - 1, sizes[-1][0]
    while start and (eager or sizes[start - 1][0] < 2 * total) and total + sizes[start - 1][0] <= MAX_SEGMENT:
        start -= 1
        total += sizes[start][0]
    dying = [at for at in range(start) if sizes[at][0] < (1 - DEAD) * sizes[at][1]]
    return [*((at, at + 1) for at in dying), (start, len(sizes))]


def _replace(
    conn: sqlite3.Connection, folder: Path, group: Sequence[Part], *, end: int | None, graves: int
) -> None:
    merged = merge_segments([(part.segment, part.alive) for part in group])
    first, last = int(group[0].segment.slots[0]), int(group[-1].segment.slots[-1])
    file = new_file("rows", "seg")
    size = write_segment(folder / file, merged) if len(merged) else 0
    with transaction(conn, write=True):
        for part in group:
            conn.execute("DELETE FROM segment WHERE file = ?", (part.file,))
        if size:
            conn.execute("INSERT INTO segment VALUES (?, ?, ?, ?)", (file, first, end or last, size))
        span = (graves, first, end or last)
        conn.execute("DELETE FROM grave WHERE number <= ? AND slot BETWEEN ? AND ?", span)
        conn.execute("UPDATE state SET layout = layout + 1")
    for part in group:
        if part.file:
            (folder / part.file).unlink(missing_ok=True)


def _wants_rewrite(conn: sqlite3.Connection, name: str, limits: Limits, *, eager: bool = False) -> bool:
    row = conn.execute("SELECT count, offsets FROM route WHERE name = ?", (name,)).fetchone()
    if row is None:
        return False
    count, offsets = row
    covered = int(np.frombuffer(offsets, "<i8")[-1]) if offsets else 0
    if count > limits.exact_rows and count - covered > (0 if eager else max(limits.exact_rows, covered) // 4):
        return True
    if count < limits.seal_rows:
        return False
    rows = conn.execute("SELECT count(*) FROM item").fetchone()[0]
    return bool(count - rows > DEAD * count)


def rewrite_route(conn: sqlite3.Connection, folder: Path, name: str, limits: Limits) -> None:
    """Write the living vectors of a route into a new file, near ones together where there are many."""
    with transaction(conn, write=False):
        route = read_snapshot(conn, folder, None).dense.get(name)
    if route is None:
        return
    order = np.flatnonzero(route.alive)
    lists: tuple[bytes | None, bytes | None, int | None] = (None, None, None)
    if len(order) > limits.exact_rows:
        order, made = _put_into_lists(route, order)
        lists = (made.centres.tobytes(), made.offsets.tobytes(), made.probes)
    file = new_file(name, "f32")
    for start in range(0, len(order), BLOCK):
        append_vectors(folder / file, start, route.matrix[order[start : start + BLOCK]])
    sync_folder(folder)
    with transaction(conn, write=True):
        if _switch(conn, folder, route, order, file):
            change = "UPDATE route SET centres = ?, offsets = ?, probes = ? WHERE name = ?"
            conn.execute(change, (*lists, name))
            conn.execute("UPDATE state SET layout = layout + 1")


def _put_into_lists(route: DenseRoute, living: NDArray[np.intp]) -> tuple[NDArray[np.intp], Lists]:
    """Living positions list by list. Vectors stay in their lists until more lists are wanted."""
    count = list_count(len(living))
    known = route.lists
    if known is None or len(known.centres) != count:
        known = Lists(find_centres(route.matrix, living, count), np.zeros(count + 1, np.int64), 0)
    covered = int(known.offsets[-1])
    before = np.repeat(np.arange(count, dtype=np.int32), np.diff(known.offsets))
    fresh = living[living >= covered]
    labels = np.concatenate(
        [before[living[living < covered]], assign_lists(route.matrix, fresh, known.centres)]
    )
    order, offsets = order_lists(living, labels, count)
    return order, Lists(known.centres, offsets, count_probes(route.matrix, living, labels, known.centres))


def _switch(
    conn: sqlite3.Connection, folder: Path, route: DenseRoute, order: NDArray[np.intp], file: str
) -> bool:
    """Let the new file take the place of the old one, with what was appended meanwhile."""
    row = conn.execute("SELECT file, count FROM route WHERE name = ?", (route.name,)).fetchone()
    if row is None or row[0] != route.file:
        return False
    late = read_snapshot(conn, folder, None).dense[route.name]
    conn.execute("DELETE FROM batch WHERE route = ?", (route.name,))
    added = np.arange(len(route.slots), len(late.slots))
    if len(added):
        append_vectors(folder / file, len(order), late.matrix[added])
    whole = np.concatenate([order, added])
    for start in range(0, len(whole), BLOCK):
        part = whole[start : start + BLOCK]
        note_batch(conn, route.name, start, late.slots[part].tolist(), late.matrix[part])
    conn.execute("UPDATE route SET file = ?, count = ? WHERE name = ?", (file, len(whole), route.name))
    return True


def sweep(conn: sqlite3.Connection, folder: Path) -> None:
    """Remove files that nobody names: left by killed processes, or replaced."""
    if _unnamed(conn, folder):
        with transaction(conn, write=True):  # while nobody writes a file that is yet to be named
            for path in _unnamed(conn, folder):
                path.unlink(missing_ok=True)


def _unnamed(conn: sqlite3.Connection, folder: Path) -> list[Path]:
    named = {file for (file,) in conn.execute("SELECT file FROM segment UNION SELECT file FROM route")}
    return [path for path in folder.iterdir() if path.name not in {*named, "upkeep.lock"}]


def check_vectors(conn: sqlite3.Connection, folder: Path) -> None:
    """DamagedFile when vectors are not those that were written."""
    with transaction(conn, write=False):
        routes = read_snapshot(conn, folder, None).dense
        for route, first, slots, known in conn.execute("SELECT route, first, slots, checksum FROM batch"):
            if checksum(routes[route].matrix[first : first + len(slots) // 8]) != known:
                raise DamagedFile(f"{routes[route].file} is damaged")
