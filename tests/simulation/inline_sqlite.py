"""SQLite without threads: statements run on the event loop, and faults happen where they may happen.

`InlineDatabase` is the product's `Database`; only what lies between it and SQLite is replaced.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.util import await_only

from kosmos.db import Database
from kosmos.db.brief import BriefConnection
from kosmos.db.engine import _on_begin

from .clockwork import Dead, Life, Node

BUSY_SECONDS = 30.0
T = TypeVar("T")


class Weather(Protocol):
    """Decides what happens at each point where a database may fail. May raise, and may take time."""

    async def before(self, node: Node, statement: str) -> None:
        """A statement, or COMMIT, is about to run."""

    async def after_commit(self, node: Node) -> None:
        """COMMIT has been done, but its caller does not know yet."""

    def at_once_before(self, node: Node, statement: str) -> None:
        """The same for somebody who cannot wait."""

    def at_once_after_commit(self, node: Node) -> None:
        """The same for somebody who cannot wait."""


class InlineConnection(sqlite3.Connection):
    """A connection of one node."""

    node: Node
    weather: Weather

    async def pass_on(self, statement: str, work: Callable[[], T]) -> T:
        """Run a statement; whoever needs the write lock waits for it in virtual time."""
        self._check()
        await self.weather.before(self.node, statement)
        waited = 0.0
        while True:
            try:
                return work()
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or waited >= BUSY_SECONDS:
                    raise
            step = min(0.02 + waited / 2, 1.0)
            waited += step
            await asyncio.sleep(step)
            self._check()

    async def pass_commit(self) -> None:
        """Commit; the weather may strike on either side."""
        self._check()
        try:
            await self.weather.before(self.node, "COMMIT")
        except sqlite3.OperationalError:
            self.rollback()
            raise
        super().commit()
        await self.weather.after_commit(self.node)

    def cursor(self, server_side: bool = False) -> "InlineCursor":  # type: ignore[override]
        """As SQLAlchemy asks for one."""
        return super().cursor(InlineCursor)

    def commit(self) -> None:
        """Commit, as SQLAlchemy does it."""
        await_only(self.pass_commit())

    def rollback(self) -> None:
        """Roll back; a dead node has already been rolled back."""
        if self.node.life in (Life.ALIVE, Life.FROZEN):
            super().rollback()

    def close(self) -> None:
        """Close once."""
        if self in self.node.connections:
            self.node.connections.remove(self)
            super().close()

    terminate = close

    def _check(self) -> None:
        if self.node.life is Life.BURIED:
            raise Dead


class InlineCursor(sqlite3.Cursor):
    """Runs statements at once, between two steps of the event loop."""

    connection: InlineConnection

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> "InlineCursor":  # type: ignore[override]
        """Run one statement."""
        plain = super().execute
        await_only(self.connection.pass_on(sql, lambda: plain(sql, parameters)))
        return self

    def executemany(self, sql: str, parameters: Any) -> "InlineCursor":
        """Run one statement many times."""
        plain = super().executemany
        await_only(self.connection.pass_on(sql, lambda: plain(sql, parameters)))
        return self

    async def _async_soft_close(self) -> None:
        """Rows are read from the cursor itself."""


class Direct:
    """The real connection for a transaction that waits for nothing: faults come, but no delays."""

    def __init__(self, connection: InlineConnection) -> None:
        self._connection = connection

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> sqlite3.Cursor:
        """Run one statement, which may be COMMIT."""
        connection = self._connection
        try:
            self._check(lambda: connection.weather.at_once_before(connection.node, sql))
        except sqlite3.OperationalError:
            if sql == "COMMIT":
                connection.rollback()
            raise
        done = sqlite3.Cursor(connection).execute(sql, parameters)
        if sql == "COMMIT":
            self._check(lambda: connection.weather.at_once_after_commit(connection.node))
        return done

    def executemany(self, sql: str, parameters: Any) -> sqlite3.Cursor:
        """Run one statement many times."""
        connection = self._connection
        self._check(lambda: connection.weather.at_once_before(connection.node, sql))
        return sqlite3.Cursor(connection).executemany(sql, parameters)

    def _check(self, pass_through: Callable[[], None]) -> None:
        """Whoever dies here cannot wait for the end of the world: what it still does, it does to nothing."""
        if self._connection.node.life in (Life.ALIVE, Life.FROZEN):
            pass_through()
        if self._connection.node.life in (Life.DEAD, Life.BURIED):
            raise Dead


class BriefDriver:
    """What a brief connection speaks to."""

    def __init__(self, connection: InlineConnection) -> None:
        self._connection = connection
        self.direct = Direct(connection)

    async def run(self, work: Callable[[Any], T]) -> T:
        """Begin: the one point where a brief transaction may have to wait."""
        raw = self._connection
        return await raw.pass_on("BEGIN IMMEDIATE", lambda: work(sqlite3.Cursor(raw)))

    async def rollback(self) -> None:
        """Roll back."""
        self._connection.rollback()


# One dialect and one cache of compiled statements for all worlds: compiling costs more than running.
_SHARED = create_async_engine("sqlite+aiosqlite:///nowhere")


class InlineDatabase(Database):
    """The product's `Database` over inline connections of one node."""

    def __init__(self, path: Path, node: Node, weather: Weather) -> None:
        self.url = _SHARED.url  # shown in messages only: the same in every world
        self.is_sqlite = True
        self._writer = asyncio.Lock()
        self._brief = None
        dialect = _SHARED.sync_engine.dialect
        self._pool = sa.AsyncAdaptedQueuePool(
            lambda: _connect(path, node, weather), pool_size=8, max_overflow=8, dialect=dialect
        )
        self.engine = self._new_engine()
        sa.event.listen(self.engine.sync_engine, "begin", _on_begin)

    @asynccontextmanager
    async def brief(self) -> AsyncIterator[AsyncConnection]:
        """The product's brief transactions, over a driver that has weather."""
        if self._brief is None:
            kept = BriefConnection(self._new_engine())
            await kept.start()
            inline = cast("Any", (await kept.get_raw_connection()).dbapi_connection)
            kept._driver = cast("Any", BriefDriver(inline))
            self._brief = kept
        async with super().brief() as conn:
            yield conn

    def _new_engine(self) -> AsyncEngine:
        engine = sa.Engine(self._pool, _SHARED.sync_engine.dialect, self.url)
        engine._compiled_cache = _SHARED.sync_engine._compiled_cache
        return AsyncEngine(engine)


def _connect(path: Path, node: Node, weather: Weather) -> Any:
    connection = sqlite3.connect(path, factory=InlineConnection, timeout=0, isolation_level=None)
    connection.node, connection.weather = node, weather
    connection.create_function("sim_node", 0, lambda: node.name)
    for pragma in ("PRAGMA synchronous=OFF", "PRAGMA foreign_keys=ON"):
        sqlite3.Cursor(connection).execute(pragma)
    node.connections.append(connection)
    return connection
