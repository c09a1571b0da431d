"""LocalStore: the embedded index. SQLite is the truth; searching happens in memory with numpy."""

import asyncio
import json
import logging
import shutil
import sqlite3
import struct
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from kosmos.errors import EngineUnavailable, NotFound
from kosmos.store.checks import check_name
from kosmos.store.columns import Mask
from kosmos.store.contract import Capabilities, Query, Stats
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

log = logging.getLogger(__name__)
_TRIES = 5


class LocalStore:
    """A SQLite file and a folder of mapped files for each collection; several processes may use them."""

    def __init__(self, folder: Path, *, limits: Limits | None = None) -> None:
        self._folder = folder
        self._limits = limits or Limits()
        self._snapshots: dict[str, Snapshot] = {}
        self._watch = Watch()
        self._reading = threading.Lock()
        self._writing = threading.Lock()  # waiting here is fair and cheap, waiting inside SQLite is polling

    async def ensure(self, collection: str, dense: Mapping[str, int] | None = None) -> None:
        """Make the collection and its dense routes (name -> dimension) unless they are there."""
        await asyncio.to_thread(self._ensure, collection, dense)

    async def drop(self, collection: str) -> None:
        """Remove the collection with all its rows."""
        await asyncio.to_thread(self._drop, collection)

    async def collections(self) -> list[str]:
        """The collections there are."""
        return sorted(path.stem for path in self._folder.glob("*.db"))

    async def upsert(self, collection: str, rows: Sequence[IndexRow]) -> None:
        """Store rows, each replacing the one of the same pk; all of them or none."""
        await asyncio.to_thread(self._upsert, collection, rows)

    async def fill(self, collection: str, vectors: Mapping[str, Mapping[str, Dense]]) -> int:
        """Give rows that are there (by pk) dense vectors (by route); how many rows took them."""
        return await asyncio.to_thread(self._fill, collection, vectors)

    async def empty(self, collection: str, route: str) -> int:
        """Take the vectors of a dense route away and forget its dimension; how many rows had one."""
        return await asyncio.to_thread(self._empty, collection, route)

    async def delete(self, collection: str, where: Filter) -> int:
        """Remove the rows that match; how many there were."""
        return await asyncio.to_thread(self._delete, collection, where)

    async def get(self, collection: str, pks: Sequence[str], *, vectors: bool = False) -> dict[str, IndexRow]:
        """The rows of these pks that there are."""
        return await asyncio.to_thread(self._get, collection, pks, vectors)

    async def query(self, collection: str, where: Filter, *, limit: int, after: str = "") -> list[IndexRow]:
        """Rows that match, by pk, without their vectors; `after` goes on behind a pk."""
        return await asyncio.to_thread(self._query, collection, where, limit, after)

    async def scan(
        self, collection: str, *, after: str = "", limit: int = 1000, vectors: bool = True
    ) -> list[IndexRow]:
        """Rows by pk, for export and rebuilding."""
        return await asyncio.to_thread(self._scan, collection, after, limit, vectors)

    async def count(self, collection: str, where: Filter | None = None) -> int:
        """How many rows there are, or match."""
        return await asyncio.to_thread(self._count, collection, where)

    async def search(
        self, collection: str, route: str, query: Query, *, k: int, where: Filter | None = None
    ) -> list[Found]:
        """The k best rows of a route by inner product; scores of zero or less dropped, ties broken by pk."""
        return (await self.search_many(collection, {route: query}, k=k, where=where))[route]

    async def search_many(
        self, collection: str, queries: Mapping[str, Query], *, k: int, where: Filter | None = None
    ) -> dict[str, list[Found]]:
        """The same for several routes at once, over one state of the collection."""
        return await asyncio.to_thread(self._search, collection, queries, k, where)

    async def term_counts(self, collection: str, route: str, terms: Sequence[int]) -> TermCounts:
        """In how many rows each of the terms occurs."""
        return await asyncio.to_thread(self._term_counts, collection, route, terms)

    async def stats(self, collection: str) -> Stats:
        """How full the collection is."""
        return await asyncio.to_thread(self._stats, collection)

    async def optimize(self, collection: str) -> None:
        """Tidy up: few files, lists of near vectors where there are many; check that vectors are intact."""
        await asyncio.to_thread(self._optimize, collection)

    def capabilities(self) -> Capabilities:
        """Exact up to `Limits.exact_rows` vectors a route."""
        return Capabilities(exact=True, several_processes=True)

    async def close(self) -> None:
        """Let go of mapped files."""
        self._snapshots.clear()
        self._watch.forget()

    def _path(self, collection: str) -> Path:
        return self._folder / f"{check_name(collection)}.db"

    def _files(self, collection: str) -> Path:
        return self._folder / f"{collection}.files"

    @contextmanager
    def _guard(self, collection: str) -> Iterator[None]:
        path = self._path(collection)
        try:
            yield
        except (sqlite3.Error, json.JSONDecodeError, struct.error, DamagedFile, OSError) as error:
            raise EngineUnavailable(
                f"The index {path} cannot be used: {error}.",
                remedy="Move that file away, then run: kosmos reindex",
            ) from error

    @contextmanager
    def _open(self, collection: str) -> Iterator[sqlite3.Connection]:
        path = self._path(collection)
        with self._guard(collection):
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with open_database(path) as conn:
                yield conn

    @contextmanager
    def _view(self, collection: str) -> Iterator[tuple[sqlite3.Connection | None, Snapshot]]:
        """A state of the collection; an empty one if it is not there, which is not made by looking at it."""
        if not self._path(collection).exists():
            yield None, Snapshot()
            return
        with self._open(collection) as conn:
            yield conn, self._snapshot(conn, collection)

    def _current(self, collection: str) -> Snapshot:
        """The state of the collection alone, at little cost where nothing has changed."""
        known = self._snapshots.get(collection)
        if known is not None and self._watch.version(self._path(collection)) == known.version:
            return known
        with self._view(collection) as (_, snapshot):
            return snapshot

    def _lookup(self, collection: str) -> Lookup:
        """Asks the rows, by a connection that is opened only for filters that need it."""

        def look(segment: Segment, leaf: Filter) -> Mask:
            with self._open(collection) as conn:
                return row_lookup(conn)(segment, leaf)

        return look

    @contextmanager
    def _change(self, collection: str) -> Iterator[sqlite3.Connection]:
        """A transaction, and afterwards what keeps the collection fast."""
        with self._open(collection) as conn:
            with self._writing, transaction(conn, write=True):
                yield conn
            tidy(conn, self._files(collection), self._limits)

    def _snapshot(self, conn: sqlite3.Connection, collection: str) -> Snapshot:
        """The rows in memory; what any process has changed is read."""
        (version,) = conn.execute("SELECT version FROM state").fetchone()
        known = self._snapshots.get(collection)
        if known is not None and known.version == version:
            return known
        for _ in range(_TRIES):
            try:
                with self._reading, transaction(conn, write=False):
                    return self._read(conn, collection)
            except (FileNotFoundError, LostVectors):
                continue  # it was replaced by another just before it could be opened
            except DamagedFile:
                break
        with self._writing, transaction(conn, write=True):
            log.warning("files of an index are lost and will be made anew", extra={"collection": collection})
            forget_files(conn, self._files(collection))
        with self._reading, transaction(conn, write=False):
            return self._read(conn, collection)

    def _read(self, conn: sqlite3.Connection, collection: str) -> Snapshot:
        fresh = read_snapshot(conn, self._files(collection), self._snapshots.get(collection))
        self._snapshots[collection] = fresh
        return fresh

    def _ensure(self, collection: str, dense: Mapping[str, int] | None) -> None:
        with self._open(collection) as conn, self._writing, transaction(conn, write=True):
            ensure_routes(conn, dense)

    def _drop(self, collection: str) -> None:
        path = self._path(collection)
        self._snapshots.pop(collection, None)
        self._watch.forget(path)
        # The journal first: a new file beside an old journal would take its rows for its own.
        for name in (path.with_suffix(".db-wal"), path.with_suffix(".db-shm"), path):
            name.unlink(missing_ok=True)
        shutil.rmtree(self._files(collection), ignore_errors=True)

    def _upsert(self, collection: str, rows: Sequence[IndexRow]) -> None:
        with self._change(collection) as conn:
            write_rows(conn, self._files(collection), rows)

    def _fill(self, collection: str, vectors: Mapping[str, Mapping[str, Dense]]) -> int:
        self._require(collection)
        with self._change(collection) as conn:
            return fill_rows(conn, self._files(collection), vectors)

    def _empty(self, collection: str, route: str) -> int:
        self._require(collection)
        with self._open(collection) as conn:
            known = self._snapshot(conn, collection).dense.get(route)
            with self._writing, transaction(conn, write=True):
                file = empty_route(conn, route)
            if file:
                (self._files(collection) / file).unlink(missing_ok=True)
        return known.filled if known else 0

    def _require(self, collection: str) -> None:
        if not self._path(collection).exists():
            raise NotFound(f"There is no collection {collection}.", remedy="Make it with `ensure` first.")

    def _delete(self, collection: str, where: Filter) -> int:
        with self._view(collection) as (conn, _):  # lost files are seen to before
            if conn is None:
                return 0
        with self._change(collection) as conn:
            with self._reading:
                snapshot = self._read(conn, collection)
            slots = snapshot.select(where, row_lookup(conn)).slots.tolist()
            delete_slots(conn, slots)
            return len(slots)

    def _get(self, collection: str, pks: Sequence[str], vectors: bool) -> dict[str, IndexRow]:
        with self._view(collection) as (conn, snapshot):
            rows = read_rows(conn, pks) if conn else []
            shown = with_vectors(rows, snapshot) if vectors else without_vectors(rows)
            return {row.pk: row for row in shown}

    def _query(self, collection: str, where: Filter, limit: int, after: str) -> list[IndexRow]:
        with self._view(collection) as (conn, snapshot):
            if conn is None:
                return []
            pks = snapshot.first_pks(snapshot.select(where, row_lookup(conn)), after, limit)
            return without_vectors(read_rows(conn, pks))

    def _scan(self, collection: str, after: str, limit: int, vectors: bool) -> list[IndexRow]:
        with self._view(collection) as (conn, snapshot):
            rows = read_page(conn, after, limit) if conn else []
            return with_vectors(rows, snapshot) if vectors else without_vectors(rows)

    def _count(self, collection: str, where: Filter | None) -> int:
        snapshot = self._current(collection)
        if where is None:
            return snapshot.rows
        return len(snapshot.select(where, self._lookup(collection)).slots)

    def _search(
        self, collection: str, queries: Mapping[str, Query], k: int, where: Filter | None
    ) -> dict[str, list[Found]]:
        snapshot = self._current(collection)
        if not snapshot.version:  # it is not there, and so has no routes to be wrong about
            return {route: [] for route in queries}
        wanted = snapshot.select(where, self._lookup(collection))
        return {route: snapshot.search(route, query, k, wanted) for route, query in queries.items()}

    def _term_counts(self, collection: str, route: str, terms: Sequence[int]) -> TermCounts:
        return self._current(collection).term_counts(route, terms)

    def _stats(self, collection: str) -> Stats:
        with self._view(collection) as (_, snapshot):
            paths = [self._path(collection), *self._files(collection).glob("*")]
            return Stats(
                rows=snapshot.rows,
                filled={name: route.filled for name, route in snapshot.dense.items()},
                dimensions=dict(snapshot.dimensions),
                bytes=sum(path.stat().st_size for path in paths if path.is_file()),
            )

    def _optimize(self, collection: str) -> None:
        self._require(collection)
        files = self._files(collection)
        with self._open(collection) as conn:
            self._snapshot(conn, collection)
            try:
                check_vectors(conn, files)
            except DamagedFile as error:
                log.warning("vectors are damaged and have to be made anew", extra={"reason": str(error)})
                with self._writing, transaction(conn, write=True):
                    forget_files(conn, files, damaged=True)
            tidy(conn, files, self._limits, eager=True)
