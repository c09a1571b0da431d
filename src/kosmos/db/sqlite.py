"""SQLite behind asyncio, with fewer trips between threads than its driver makes by itself.

A trip to the driver's thread and back costs more than most statements do. So a statement makes one
trip instead of four, and a connection for brief transactions makes none: it works in the thread of its
caller, where it waits for the write lock without holding up the event loop.
"""

import asyncio
import sqlite3
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import aiosqlite

BUSY_SECONDS = 30.0
_FIRST_PAUSE = 0.001
_LONGEST_PAUSE = 0.05
_END: object = getattr(aiosqlite.core, "_STOP_RUNNING_SENTINEL", None)  # what ends the driver's thread
_PRAGMAS = ("PRAGMA synchronous=NORMAL", "PRAGMA foreign_keys=ON")

T = TypeVar("T")


class Connection(aiosqlite.Connection):
    """A connection as SQLAlchemy's dialect wants it; a `brief` one works in the caller's thread."""

    def __init__(self, path: Path, *, brief: bool) -> None:
        super().__init__(lambda: _open(path, brief=brief), iter_chunk_size=64)
        self._thread.daemon = True
        self._brief = brief

    def stop(self) -> "asyncio.Future[Any] | None":
        """Let the thread end by itself: whoever asks may be gone before it could answer."""
        if _END is None:
            return super().stop()
        self._running = False
        self._tx.put_nowait((None, self._end))
        return None

    def _end(self) -> object:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        return _END

    def cursor(self) -> "Cursor":  # type: ignore[override]
        """A cursor; making one costs nothing."""
        return Cursor(self)

    async def _execute(self, fn: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """Every call of the driver passes through here."""
        if not self._brief:
            done: T = await super()._execute(fn, *args, **kwargs)  # type: ignore[no-untyped-call]
            return done
        return await _when_free(lambda: fn(*args, **kwargs))

    @property
    def direct(self) -> sqlite3.Connection:
        """The real connection; a brief one may be used in the caller's thread."""
        return self._conn

    def run(self, work: Callable[[sqlite3.Connection], T]) -> Awaitable[T]:
        """Do something with the real connection."""
        return self._execute(work, self._conn)


class Cursor:
    """Runs a statement and fetches what it found in one go."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._rows: list[Any] = []
        self.description: Any = None
        self.rowcount = -1
        self.lastrowid: int | None = None
        self.arraysize = 1

    async def __aenter__(self) -> "Cursor":
        return self

    async def execute(self, sql: str, parameters: Sequence[Any] = ()) -> "Cursor":
        """Run a statement."""
        return self._keep(*await self._connection.run(lambda conn: _fetch(conn.execute(sql, parameters))))

    async def executemany(self, sql: str, parameters: Iterable[Sequence[Any]]) -> "Cursor":
        """Run a statement once for each of many parameters."""
        return self._keep(*await self._connection.run(lambda conn: _fetch(conn.executemany(sql, parameters))))

    async def fetchall(self) -> list[Any]:
        """What the statement found."""
        return self._rows

    async def close(self) -> None:
        """Nothing is open any more."""

    def _keep(self, cursor: sqlite3.Cursor, rows: list[Any]) -> "Cursor":
        self._rows = rows
        self.description, self.rowcount, self.lastrowid = (
            cursor.description,
            cursor.rowcount,
            cursor.lastrowid,
        )
        return self


def _open(path: Path, *, brief: bool) -> sqlite3.Connection:
    # The isolation level None means that we say BEGIN ourselves.
    wait = 0.0 if brief else BUSY_SECONDS
    conn = sqlite3.connect(path, timeout=wait, check_same_thread=False, isolation_level=None)
    for pragma in _PRAGMAS:
        conn.execute(pragma)
    return conn


def _fetch(cursor: sqlite3.Cursor) -> tuple[sqlite3.Cursor, list[Any]]:
    rows = cursor.fetchall() if cursor.description else []
    cursor.close()
    return cursor, rows


async def _when_free(work: Callable[[], T]) -> T:
    """Do it now; when another connection holds the lock, give way to others and try again."""
    pause, deadline = _FIRST_PAUSE, time.monotonic() + BUSY_SECONDS
    while True:
        try:
            return work()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
        await asyncio.sleep(pause)
        pause = min(_LONGEST_PAUSE, pause * 2)
