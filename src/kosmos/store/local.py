"""LocalStore: the embedded index. SQLite is the truth; searching happens in memory with numpy."""

import asyncio
import json
import re
import sqlite3
import struct
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from kosmos.errors import EngineUnavailable, InvalidInput
from kosmos.store.filters import And, Eq, Filter, In, matches
from kosmos.store.memory import Snapshot, build_snapshot
from kosmos.store.rows import Found, IndexRow, Sparse, TermCounts
from kosmos.store.vectors import pack_vectors, unpack_vectors

BUSY_SECONDS = 30
_NAME = re.compile(r"[a-z0-9_]{1,64}")
_EVERYTHING = "SELECT pk, fields FROM entry"
# How rows are found by what many are deleted by at once.
_BY_KEY = {
    "pk": "SELECT pk, fields FROM entry WHERE pk IN (SELECT value FROM json_each(?))",
    "document_id": "SELECT pk, fields FROM entry "
    "WHERE json_extract(fields, '$.document_id') IN (SELECT value FROM json_each(?))",
}
_SCHEMA = """
CREATE TABLE IF NOT EXISTS entry (pk TEXT PRIMARY KEY, fields TEXT NOT NULL, sparse BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS entry_document ON entry (json_extract(fields, '$.document_id'));
CREATE TABLE IF NOT EXISTS state (version INTEGER NOT NULL);
-- Not from 0: a collection made anew must not pass for the one that was dropped.
INSERT INTO state SELECT random() / 2 WHERE NOT EXISTS (SELECT 1 FROM state);
"""


class LocalStore:
    """One SQLite file for each collection in a folder; several processes may use it at once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._snapshots: dict[str, Snapshot] = {}
        self._lock = threading.Lock()

    async def ensure(self, collection: str) -> None:
        """Make the collection unless it is there."""
        await asyncio.to_thread(self._ensure, collection)

    async def drop(self, collection: str) -> None:
        """Remove the collection with all its rows."""
        await asyncio.to_thread(self._drop, collection)

    async def collections(self) -> list[str]:
        """The collections there are."""
        return sorted(path.stem for path in self._folder.glob("*.db"))

    async def upsert(self, collection: str, rows: Sequence[IndexRow]) -> None:
        """Store rows, each replacing the one of the same pk; all of them or none."""
        await asyncio.to_thread(self._upsert, collection, rows)

    async def delete(self, collection: str, where: Filter) -> int:
        """Remove the rows that match; how many there were."""
        return await asyncio.to_thread(self._delete, collection, where)

    async def count(self, collection: str) -> int:
        """How many rows there are."""
        return len((await asyncio.to_thread(self._snapshot, collection)).pks)

    async def query(self, collection: str, where: Filter, *, limit: int, after: str = "") -> list[IndexRow]:
        """Rows that match, by pk, without their vectors; `after` goes on behind a pk."""
        return await asyncio.to_thread(self._query, collection, where, limit, after)

    async def scan(self, collection: str) -> list[IndexRow]:
        """All rows by pk."""
        return await asyncio.to_thread(self._scan, collection)

    async def search(
        self, collection: str, route: str, query: Sparse, *, k: int, where: Filter | None = None
    ) -> list[Found]:
        """The k best rows of a sparse route by inner product; zero scores dropped, ties broken by pk."""
        return await asyncio.to_thread(self._search, collection, route, query, k, where)

    async def term_counts(self, collection: str, route: str, terms: Sequence[int]) -> TermCounts:
        """In how many rows each of the terms occurs."""
        snapshot = await asyncio.to_thread(self._snapshot, collection)
        return snapshot.term_counts(route, terms)

    def _path(self, collection: str) -> Path:
        if not _NAME.fullmatch(collection):
            raise InvalidInput(f"{collection!r} is no name for a collection.", remedy="Use a-z, 0-9 and _.")
        return self._folder / f"{collection}.db"

    @contextmanager
    def _open(self, collection: str) -> Iterator[sqlite3.Connection]:
        path = self._path(collection)
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            conn = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
            try:
                conn.execute("PRAGMA synchronous=NORMAL")
                # Not whether the file exists: somebody may be half-way through making it, or died there.
                made = "SELECT count(*) FROM sqlite_master WHERE name IN ('state', 'entry_document')"
                if conn.execute(made).fetchone() != (2,):
                    _create(conn)
                yield conn
            finally:
                conn.close()
        except (sqlite3.Error, json.JSONDecodeError, struct.error) as error:
            raise EngineUnavailable(
                f"The index {path} cannot be used: {error}.",
                remedy="Move that file away, then run: kosmos reindex",
            ) from error

    @contextmanager
    def _change(self, collection: str) -> Iterator[sqlite3.Connection]:
        with self._open(collection) as conn:
            conn.execute("BEGIN IMMEDIATE")
            try:
                yield conn
                conn.execute("UPDATE state SET version = version + 1")
                conn.execute("COMMIT")
            except BaseException:
                conn.execute("ROLLBACK")
                raise

    def _ensure(self, collection: str) -> None:
        with self._open(collection):
            pass

    def _drop(self, collection: str) -> None:
        path = self._path(collection)
        with self._lock:
            self._snapshots.pop(collection, None)
        # The journal first: a new file beside an old journal would take its rows for its own.
        for name in (path.with_suffix(".db-wal"), path.with_suffix(".db-shm"), path):
            name.unlink(missing_ok=True)

    def _upsert(self, collection: str, rows: Sequence[IndexRow]) -> None:
        values = [
            (row.pk, json.dumps(dict(row.fields), ensure_ascii=False), pack_vectors(row.sparse))
            for row in rows
        ]
        with self._change(collection) as conn:
            conn.executemany("INSERT OR REPLACE INTO entry VALUES (?, ?, ?)", values)

    def _delete(self, collection: str, where: Filter) -> int:
        with self._change(collection) as conn:
            rows = conn.execute(*_candidates(where))
            gone = [(pk,) for pk, fields in rows if matches(where, {**json.loads(fields), "pk": pk})]
            conn.executemany("DELETE FROM entry WHERE pk = ?", gone)
            return len(gone)

    def _query(self, collection: str, where: Filter, limit: int, after: str) -> list[IndexRow]:
        with self._open(collection) as conn:
            rows = [(pk, json.loads(text)) for pk, text in conn.execute(*_candidates(where)) if pk > after]
        found = [IndexRow(pk, fields) for pk, fields in rows if matches(where, {**fields, "pk": pk})]
        return sorted(found, key=lambda row: row.pk)[:limit]

    def _scan(self, collection: str) -> list[IndexRow]:
        with self._open(collection) as conn:
            return _read_rows(conn)

    def _snapshot(self, collection: str) -> Snapshot:
        """The rows in memory, read again when any process has changed them."""
        with self._open(collection) as conn:
            (version,) = conn.execute("SELECT version FROM state").fetchone()
            known = self._snapshots.get(collection)
            if known is not None and known.version == version:
                return known
            with self._lock:
                conn.execute("BEGIN")
                (version,) = conn.execute("SELECT version FROM state").fetchone()
                fresh = build_snapshot(version, _read_rows(conn))
                conn.execute("COMMIT")
                self._snapshots[collection] = fresh
                return fresh

    def _search(
        self, collection: str, route: str, query: Sparse, k: int, where: Filter | None
    ) -> list[Found]:
        snapshot = self._snapshot(collection)
        scores = snapshot.scores(route, query)
        if where is not None:
            keep = np.fromiter((matches(where, fields) for fields in snapshot.fields), bool, len(scores))
            scores = np.where(keep, scores, 0.0)
        return snapshot.best(scores, k)


def _create(conn: sqlite3.Connection) -> None:
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            conn.execute("PRAGMA journal_mode=WAL")
            break
        except sqlite3.OperationalError as error:
            # Where several make the same file, this one statement says "locked" without waiting.
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
    conn.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT;")


def _candidates(where: Filter) -> tuple[str, tuple[str, ...]]:
    """A query that finds all rows that match, and few others where the filter names keys."""
    for part in where.parts if isinstance(where, And) else (where,):
        if not isinstance(part, Eq | In) or part.field not in _BY_KEY:
            continue
        wanted = list(part.values) if isinstance(part, In) else [part.value]
        if all(isinstance(key, str) and "\x00" not in key for key in wanted):  # SQLite ends a text there
            return _BY_KEY[part.field], (json.dumps(wanted),)
    return _EVERYTHING, ()


def _read_rows(conn: sqlite3.Connection) -> list[IndexRow]:
    rows = conn.execute("SELECT pk, fields, sparse FROM entry ORDER BY pk")
    return [IndexRow(pk, json.loads(fields), unpack_vectors(sparse)) for pk, fields, sparse in rows]
