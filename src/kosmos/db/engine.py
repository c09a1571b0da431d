"""Opens the database and hands out connections: to read, to write, and to do either briefly."""

import asyncio
import errno
import os
import sqlite3
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import aiosqlite
import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from kosmos.config.pools import postgres_engine
from kosmos.db.brief import BriefConnection
from kosmos.db.sqlite import BUSY_SECONDS, Connection
from kosmos.errors import ConfigError, EngineUnavailable


def parse_url(url: str) -> sa.URL:
    """The URL with the drivers Kosmos uses, or ConfigError with examples."""
    remedy = "Use sqlite:///path/to/file.db or postgresql://user:password@host:5432/name."
    try:
        parsed = sa.make_url(url)
    except sa.exc.ArgumentError:
        raise ConfigError("The database URL cannot be read.", remedy=remedy) from None
    kind = parsed.drivername.split("+", maxsplit=1)[0]
    if kind == "sqlite" and parsed.database:
        return parsed.set(drivername="sqlite+aiosqlite")
    if kind in ("postgresql", "postgres") and parsed.database:
        return parsed.set(drivername="postgresql+psycopg")
    raise ConfigError(f"The database URL starts with {kind!r} or names no database.", remedy=remedy)


class Database:
    """The relational database, SQLite or PostgreSQL."""

    def __init__(self, url: str) -> None:
        self.url = parse_url(url)
        self.is_sqlite = self.url.drivername.startswith("sqlite")
        if self.is_sqlite:
            _prepare_file(Path(str(self.url.database)))
        self.engine = _engine(self.url)
        # SQLite has one writer: waiting here is fair and cheap, waiting inside SQLite is polling.
        self._writer = asyncio.Lock() if self.is_sqlite else None
        self._quick: AsyncEngine | None = None
        self._brief: BriefConnection | None = None
        self._glances: list[BriefConnection] = []

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        """A connection that changes nothing. On SQLite it sees one state of the data; on PostgreSQL each
        query sees its own, in a transaction or not, so that there is none to be begun and ended."""
        with _clear_errors(self.url):
            async with self._readers().connect() as conn:
                yield conn

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[AsyncConnection]:
        """A `read` that sees the state of its first query to the end, however long it takes."""
        with _clear_errors(self.url):
            async with self.engine.connect() as conn:
                if not self.is_sqlite:  # there a reader never sees anything else
                    await conn.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
                yield conn

    @asynccontextmanager
    async def write(self) -> AsyncIterator[AsyncConnection]:
        """A connection in a transaction that commits when the block ends and rolls back when it fails."""
        if self._writer is None:
            with _clear_errors(self.url):
                async with self.engine.begin() as conn:
                    yield conn
            return
        with _clear_errors(self.url):
            async with self._writer, self.engine.connect() as conn:
                await conn.execution_options(kosmos_write=True)
                async with conn.begin():
                    yield conn

    @asynccontextmanager
    async def brief(self) -> AsyncIterator[AsyncConnection]:
        """A `write` of a few small statements that wait for nothing else in between.

        On SQLite they run in the caller's thread, which is far cheaper; long ones would hold it up.
        """
        if self._writer is None:
            async with self.write() as conn:
                yield conn
            return
        with _clear_errors(self.url):
            async with self._writer:
                if self._brief is None:
                    self._brief = await self._open_brief()
                async with self._brief.transaction() as conn:
                    yield conn

    @asynccontextmanager
    async def glance(self) -> AsyncIterator[AsyncConnection]:
        """A `read` of a few rows by their keys, with nothing else in between; cheap in the way of `brief`."""
        if not self.is_sqlite:
            async with self.read() as conn:
                yield conn
            return
        with _clear_errors(self.url):
            kept = self._glances.pop() if self._glances else await self._open_brief()
            try:
                async with kept.reading() as conn:
                    yield conn
            finally:
                self._glances.append(kept)

    async def close(self) -> None:
        """Close all connections."""
        kept, self._glances = self._glances, []
        if self._brief is not None:
            kept, self._brief = [*kept, self._brief], None
        for conn in kept:
            await conn.close()
        if self._quick is not None:
            await self._quick.dispose()
        await self.engine.dispose()

    def _readers(self) -> AsyncEngine:
        """The engine for reads, of the same pool."""
        return self.engine if self.is_sqlite else self.engine.execution_options(isolation_level="AUTOCOMMIT")

    async def _open_brief(self) -> BriefConnection:
        self._quick = self._quick or _sqlite_engine(self.url, brief=True)
        return await BriefConnection.open(self._quick)


def _prepare_file(path: Path) -> None:
    """Let the file appear readable to its owner only (SQLite's other files take after it) and in WAL mode."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _make_file(path)
        _switch_to_wal(path)
    except (OSError, sqlite3.OperationalError) as error:
        raise ConfigError(
            f"The database file {path} cannot be opened: {getattr(error, 'strerror', None) or error}.",
            remedy="Check the path and its permissions, or set KOSMOS_HOME to a folder of yours.",
        ) from None


def _make_file(path: Path) -> None:
    """Make the file unless it is there. One that is there must not be opened: closing it again would take
    away the locks of every SQLite connection that this process has to it, and with them its journal."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        if path.is_file() and not os.access(path, os.R_OK | os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path)) from None


def _switch_to_wal(path: Path) -> None:
    """The mode stays with the file, but a restored copy may have lost it.

    This one statement says "locked" without waiting where several processes switch a new file at once.
    """
    deadline = time.monotonic() + BUSY_SECONDS
    conn = sqlite3.connect(path)
    try:
        while True:
            try:
                conn.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
            except sqlite3.DatabaseError:
                return  # no database at all: the first query says so
    finally:
        conn.close()


def _engine(url: sa.URL) -> AsyncEngine:
    if url.drivername.startswith("postgresql"):
        try:
            import psycopg  # noqa: F401
        except ImportError:
            raise ConfigError(
                "PostgreSQL is configured, but its driver is not installed.",
                remedy="Run: pip install 'kosmos[postgres]'",
            ) from None
        return postgres_engine(url, size=10, more=20)
    return _sqlite_engine(url, brief=False)


def _sqlite_engine(url: sa.URL, *, brief: bool) -> AsyncEngine:
    path = Path(str(url.database)).absolute()

    async def connect() -> aiosqlite.Connection:
        return await Connection(path, brief=brief)

    # A transaction that fails rolls back by itself, so there is nothing left to reset.
    engine = create_async_engine(
        url,
        pool_size=8,
        max_overflow=8,
        pool_reset_on_return=None if brief else "rollback",
        async_creator=connect,
    )
    if not brief:  # a brief connection begins by itself
        event.listen(engine.sync_engine, "begin", _on_begin)
    return engine


def _on_begin(conn: sa.Connection) -> None:
    """A writer takes the write lock at once: a reader that turns writer half-way fails as 'locked'."""
    write = conn.get_execution_options().get("kosmos_write", False)
    conn.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")


@contextmanager
def _clear_errors(url: sa.URL) -> Iterator[None]:
    """Turn what a driver says about an unreachable or damaged database into an error with a remedy."""
    try:
        yield
    except sa.exc.IntegrityError:
        raise
    except sa.exc.TimeoutError as error:  # all connections are in use and none came back
        raise _unavailable(url, "all connections are in use") from error
    except sa.exc.DBAPIError as error:
        reason = str(error.orig).strip().split("\n")[0]
        if "not a database" in reason or "malformed" in reason:
            raise ConfigError(
                f"{url.database} is not an intact SQLite database: {reason}.",
                remedy="Restore it from a backup, or move it away to start anew.",
            ) from error
        # A server that goes away is told in many ways: refused, closed, shut down by its administrator.
        if isinstance(error, sa.exc.OperationalError | sa.exc.InterfaceError) or error.connection_invalidated:
            raise _unavailable(url, reason) from error
        if _cancelled():  # what the driver then fails to clean up must not hide it
            raise asyncio.CancelledError from error
        raise


def _cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _unavailable(url: sa.URL, reason: str) -> EngineUnavailable:
    shown = url.render_as_string(hide_password=True)
    return EngineUnavailable(
        f"The database {shown} cannot be used: {reason}.",
        remedy="Check that it runs, is reachable and writable; `kosmos doctor` tells more.",
    )
