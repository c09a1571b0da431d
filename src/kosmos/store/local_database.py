"""The SQLite file of a collection: the truth about its rows, and which files belong to it."""

import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

BUSY_SECONDS = 30
_TABLES = """
-- A slot is never used twice: a row that is replaced gets a new one.
CREATE TABLE item (slot INTEGER PRIMARY KEY AUTOINCREMENT, pk TEXT NOT NULL UNIQUE,
                   fields TEXT NOT NULL, sparse BLOB NOT NULL);
CREATE TABLE grave (number INTEGER PRIMARY KEY AUTOINCREMENT, slot INTEGER NOT NULL);
CREATE TRIGGER item_gone AFTER DELETE ON item BEGIN INSERT INTO grave (slot) VALUES (old.slot); END;
CREATE TABLE segment (file TEXT PRIMARY KEY, first INTEGER NOT NULL, last INTEGER NOT NULL,
                      bytes INTEGER NOT NULL);
CREATE TABLE route (name TEXT PRIMARY KEY, dimension INTEGER NOT NULL, file TEXT NOT NULL,
                    count INTEGER NOT NULL, centres BLOB, offsets BLOB, probes INTEGER);
-- Which rows the vectors from a position on belong to; in their order the later one counts.
CREATE TABLE batch (number INTEGER PRIMARY KEY AUTOINCREMENT, route TEXT NOT NULL, first INTEGER NOT NULL,
                    slots BLOB NOT NULL, checksum INTEGER NOT NULL);
CREATE TABLE state (version INTEGER NOT NULL, layout INTEGER NOT NULL);
-- Not from 0: a collection made anew must not pass for the one that was dropped.
INSERT INTO state VALUES (random() / 2, random() / 2);
"""
# Files of former versions kept rows without slots.
_FORMER_ROWS = "INSERT INTO item (pk, fields, sparse) SELECT pk, fields, sparse FROM entry ORDER BY rowid"


@contextmanager
def open_database(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection to the file, which is made or brought up to date where needed."""
    conn = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        conn.execute("PRAGMA synchronous=NORMAL")
        # Not whether the file exists: somebody may be half-way through making it, or died there.
        if not _has_table(conn, "item"):
            _create(conn)
        yield conn
    finally:
        conn.close()


@contextmanager
def transaction(conn: sqlite3.Connection, *, write: bool) -> Iterator[None]:
    """All or nothing, over one state of the file; a change raises its version."""
    conn.execute("BEGIN IMMEDIATE" if write else "BEGIN")
    try:
        yield
        if write:
            conn.execute("UPDATE state SET version = version + 1")
        conn.execute("COMMIT")
    except BaseException:
        conn.execute("ROLLBACK")
        raise


class Watch:
    """Tells cheaply, by connections that stay open, whether files have changed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[Path, tuple[int, sqlite3.Connection]] = {}
        weakref.finalize(self, _close_all, self._kept)

    def version(self, path: Path) -> int | None:
        """The version of a file; None if it is not there, or has to be looked at properly."""
        with self._lock:
            try:
                inode = path.stat().st_ino
                kept = self._kept.get(path)
                if kept is None or kept[0] != inode:  # another file by the same name
                    self._forget(path)
                    kept = self._kept[path] = (inode, self._open(path))
                (version,) = kept[1].execute("SELECT version FROM state").fetchone()
            except (OSError, sqlite3.Error, TypeError):
                self._forget(path)
                return None
            return int(version)

    def forget(self, path: Path | None = None) -> None:
        """Let go of a file, or of all."""
        with self._lock:
            for each in [path] if path else list(self._kept):
                self._forget(each)

    def _open(self, path: Path) -> sqlite3.Connection:
        return sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)

    def _forget(self, path: Path) -> None:
        _, conn = self._kept.pop(path, (0, None))
        if conn is not None:
            conn.close()


def _close_all(kept: dict[Path, tuple[int, sqlite3.Connection]]) -> None:
    for _, conn in kept.values():
        conn.close()


def last_slot(conn: sqlite3.Connection) -> int:
    """The highest slot that was ever given."""
    found = conn.execute("SELECT seq FROM sqlite_sequence WHERE name = 'item'").fetchone()
    return int(found[0]) if found else 0


def _has_table(conn: sqlite3.Connection, name: str) -> bool:
    return conn.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (name,)).fetchone() is not None


def _create(conn: sqlite3.Connection) -> None:
    _switch_to_wal(conn)
    conn.execute("BEGIN IMMEDIATE")
    try:
        if not _has_table(conn, "item"):
            former = _has_table(conn, "entry")
            if _has_table(conn, "state"):
                conn.execute("DROP TABLE state")
            for statement in _statements():
                conn.execute(statement)
            if former:
                conn.execute(_FORMER_ROWS)
                conn.execute("DROP TABLE entry")
        conn.execute("COMMIT")
    except BaseException:
        conn.execute("ROLLBACK")
        raise


def _statements() -> Iterator[str]:
    """The statements one by one: a script would commit what was begun."""
    rest = ""
    for line in _TABLES.strip().split("\n"):
        rest += line + "\n"
        if sqlite3.complete_statement(rest):
            yield rest
            rest = ""


def _switch_to_wal(conn: sqlite3.Connection) -> None:
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            conn.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            # Where several make the same file, this one statement says "locked" without waiting.
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
