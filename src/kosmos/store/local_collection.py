"""One collection of a LocalStore: a SQLite file and the mapped files beside it."""

import json
import logging
import shutil
import sqlite3
import struct
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from kosmos.errors import EngineUnavailable, NotFound
from kosmos.store.columns import Mask
from kosmos.store.contract import Query, Stats
from kosmos.store.dense import LostVectors
from kosmos.store.filters import Filter
from kosmos.store.local_database import Watch, open_database, transaction
from kosmos.store.local_reading import (
    forget_files,
    read_page,
    read_rows,
    read_snapshot,
    row_lookup,
    with_vectors,
    without_vectors,
)
from kosmos.store.local_upkeep import Limits, check_vectors, tidy
from kosmos.store.local_writing import delete_slots, empty_route, ensure_routes, fill_rows, write_rows
from kosmos.store.rows import Dense, Found, IndexRow, TermCounts
from kosmos.store.segment_files import DamagedFile
from kosmos.store.segments import Lookup, Segment
from kosmos.store.snapshot import Snapshot
from kosmos.telemetry.routes import watched_route

log = logging.getLogger(__name__)
_TRIES = 5
T = TypeVar("T")


class Collection:
    """Several threads and processes may use it at once; all methods block."""

    def __init__(self, path: Path, watch: Watch, limits: Limits) -> None:
        self._path = path
        self._files = path.with_suffix(".files")
        self._watch = watch
        self._limits = limits
        self._known: Snapshot | None = None
        self._reading = threading.Lock()
        self._writing = threading.Lock()  # waiting here is fair and cheap, waiting inside SQLite is polling

    def ensure(self, dense: Mapping[str, int] | None) -> None:
        """Make the file and the dense routes that are not there."""
        with self._open() as conn, self._writing, transaction(conn, write=True):
            ensure_routes(conn, dense)

    def drop(self) -> None:
        """Remove all files."""
        path = self._path
        self._known = None
        self._watch.forget(path)
        # The journal first: a new file beside an old journal would take its rows for its own.
        for name in (path.with_suffix(".db-wal"), path.with_suffix(".db-shm"), path):
            name.unlink(missing_ok=True)
        shutil.rmtree(self._files, ignore_errors=True)

    def upsert(self, rows: Sequence[IndexRow]) -> None:
        """Store rows."""
        self._write(lambda conn: write_rows(conn, self._files, rows))

    def fill(self, vectors: Mapping[str, Mapping[str, Dense]]) -> int:
        """Give rows dense vectors."""
        self._require()
        return self._write(lambda conn: fill_rows(conn, self._files, vectors))

    def empty(self, route: str) -> int:
        """Take the vectors of a route away."""
        self._require()
        with self._view() as (_, snapshot):
            known = snapshot.dense.get(route)
        file = self._write(lambda conn: empty_route(conn, route))
        if file:
            (self._files / file).unlink(missing_ok=True)
        return known.filled if known else 0

    def delete(self, where: Filter) -> int:
        """Remove the rows that match."""
        with self._view() as (conn, _):  # lost files are seen to before
            if conn is None:
                return 0

        def work(conn: sqlite3.Connection) -> int:
            slots = self._read(conn).select(where, row_lookup(conn)).slots.tolist()
            delete_slots(conn, slots)
            return len(slots)

        return self._write(work)

    def get(self, pks: Sequence[str], vectors: bool) -> dict[str, IndexRow]:
        """Rows by pk."""
        with self._view() as (conn, snapshot):
            rows = read_rows(conn, pks) if conn else []
            shown = with_vectors(rows, snapshot) if vectors else without_vectors(rows)
            return {row.pk: row for row in shown}

    def query(self, where: Filter, limit: int, after: str) -> list[IndexRow]:
        """Rows that match, in order."""
        with self._view() as (conn, snapshot):
            if conn is None:
                return []
            pks = snapshot.first_pks(snapshot.select(where, row_lookup(conn)), after, limit)
            return without_vectors(read_rows(conn, pks))

    def scan(self, after: str, limit: int, vectors: bool) -> list[IndexRow]:
        """Rows in order."""
        with self._view() as (conn, snapshot):
            rows = read_page(conn, after, limit) if conn else []
            return with_vectors(rows, snapshot) if vectors else without_vectors(rows)

    def count(self, where: Filter | None) -> int:
        """How many rows match."""
        snapshot = self._current()
        if where is None:
            return snapshot.rows
        return len(snapshot.select(where, self._lookup()).slots)

    def search(self, queries: Mapping[str, Query], k: int, where: Filter | None) -> dict[str, list[Found]]:
        """The best of each route, all over one state."""
        snapshot = self._current()
        if not snapshot.version:  # it is not there, and so has no routes to be wrong about
            return {route: [] for route in queries}
        wanted = snapshot.select(where, self._lookup())
        found: dict[str, list[Found]] = {}
        for route, query in queries.items():
            with watched_route(route):
                found[route] = snapshot.search(route, query, k, wanted)
        return found

    def term_counts(self, route: str, terms: Sequence[int]) -> TermCounts:
        """In how many rows terms occur."""
        return self._current().term_counts(route, terms)

    def stats(self) -> Stats:
        """Rows, vectors and bytes."""
        with self._view() as (_, snapshot):
            paths = [self._path, *self._files.glob("*")]
            return Stats(
                rows=snapshot.rows,
                filled={name: route.filled for name, route in snapshot.dense.items()},
                dimensions=dict(snapshot.dimensions),
                bytes=sum(path.stat().st_size for path in paths if path.is_file()),
            )

    def optimize(self) -> None:
        """Check vectors, and do all that keeps searching fast."""
        self._require()
        with self._view():
            pass
        with self._open() as conn:
            try:
                check_vectors(conn, self._files)
            except DamagedFile as error:
                self._forget(conn, error, damaged=True)
            tidy(conn, self._files, self._limits, eager=True)

    def _require(self) -> None:
        if not self._path.exists():
            name = self._path.stem
            raise NotFound(f"There is no collection {name}.", remedy="Make it with `ensure` first.")

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with open_database(self._path) as conn:
                yield conn
        except (sqlite3.Error, json.JSONDecodeError, struct.error, DamagedFile, OSError) as error:
            raise EngineUnavailable(
                f"The index {self._path} cannot be used: {error}.",
                remedy="Move that file away, then run: kosmos reindex",
            ) from error

    @contextmanager
    def _view(self) -> Iterator[tuple[sqlite3.Connection | None, Snapshot]]:
        """One state of the file and its snapshot; a collection that is not there is not made by looking."""
        if not self._path.exists():
            yield None, Snapshot()
            return
        with self._open() as conn:
            snapshot = self._begin(conn)
            try:
                yield conn, snapshot
            finally:
                conn.execute("ROLLBACK")

    def _begin(self, conn: sqlite3.Connection) -> Snapshot:
        """Begin to read; files that are lost are given up first."""
        for left in range(_TRIES, -1, -1):
            conn.execute("BEGIN")
            try:
                return self._read(conn)
            except (FileNotFoundError, DamagedFile) as error:
                conn.execute("ROLLBACK")  # perhaps it was replaced just before it could be opened
                if left == 1:
                    self._forget(conn, error)
            except BaseException:
                conn.execute("ROLLBACK")
                raise
        raise DamagedFile("files go as fast as they are made")

    def _read(self, conn: sqlite3.Connection) -> Snapshot:
        with self._reading:
            self._known = fresh = read_snapshot(conn, self._files, self._known)
            return fresh

    def _current(self) -> Snapshot:
        """The snapshot alone, at little cost where nothing has changed."""
        known = self._known
        if known is not None and self._watch.version(self._path) == known.version:
            return known
        with self._view() as (_, snapshot):
            return snapshot

    def _lookup(self) -> Lookup:
        """Asks the rows, by a connection that is opened only for filters that need it."""

        def look(segment: Segment, leaf: Filter) -> Mask:
            with self._open() as conn:
                return row_lookup(conn)(segment, leaf)

        return look

    def _write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do it in a transaction, and afterwards what keeps the collection fast."""
        with self._open() as conn:
            try:
                result = self._changed(conn, work)
            except LostVectors as error:
                self._forget(conn, error)
                result = self._changed(conn, work)
            try:
                tidy(conn, self._files, self._limits)
            except (DamagedFile, OSError) as error:  # the rows are safe; it can be done later
                log.warning("an index could not be tidied", extra={"reason": str(error)})
            return result

    def _changed(self, conn: sqlite3.Connection, work: Callable[[sqlite3.Connection], T]) -> T:
        with self._writing, transaction(conn, write=True):
            return work(conn)

    def _forget(self, conn: sqlite3.Connection, reason: Exception, *, damaged: bool = False) -> None:
        log.warning(
            "files of an index are lost; they are made anew from its rows, vectors by their encoder",
            extra={"collection": self._path.stem, "reason": str(reason)},
        )
        with self._writing, transaction(conn, write=True):
            forget_files(conn, self._files, damaged=damaged)
