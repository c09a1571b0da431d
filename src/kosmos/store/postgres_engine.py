"""Connections to the PostgreSQL of the index; its failures become errors with a remedy."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from kosmos.config.pools import postgres_engine
from kosmos.errors import ConfigError, EngineUnavailable


class Server:
    """A pool of connections, opened as they are needed."""

    def __init__(self, url: str) -> None:
        self._url = _parse(url)
        self._engine = _engine(self._url)
        self._single = self._engine.execution_options(isolation_level="AUTOCOMMIT")  # of the same pool

    @asynccontextmanager
    async def glance(self) -> AsyncIterator[AsyncConnection]:
        """A connection of which each query sees its own state: no transaction has to be begun and ended."""
        with self._clear_errors():
            async with self._single.connect() as conn:
                yield conn

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        """A connection that sees one state of the data."""
        with self._clear_errors():
            async with self._engine.connect() as conn:
                await conn.execution_options(isolation_level="REPEATABLE READ")
                yield conn

    @asynccontextmanager
    async def write(self) -> AsyncIterator[AsyncConnection]:
        """A transaction that commits when the block ends and rolls back when it fails."""
        with self._clear_errors():
            async with self._engine.begin() as conn:
                yield conn

    async def close(self) -> None:
        """Close all connections."""
        await self._engine.dispose()

    @contextmanager
    def _clear_errors(self) -> Iterator[None]:
        try:
            yield
        except (sa.exc.DBAPIError, sa.exc.TimeoutError) as error:
            shown = self._url.render_as_string(hide_password=True)
            reason = str(getattr(error, "orig", error)).strip().split("\n")[0]
            raise EngineUnavailable(
                f"The index in {shown} cannot be used: {reason}.",
                remedy="Check that it runs, is reachable and writable; `kosmos doctor` tells more.",
            ) from error


def _parse(url: str) -> sa.URL:
    try:
        parsed = sa.make_url(url)
    except sa.exc.ArgumentError:
        parsed = None
    if parsed is None or not parsed.database:
        raise ConfigError(
            "The URL of the index names no PostgreSQL database.",
            remedy="Use postgresql://user:password@host:5432/name.",
        )
    return parsed.set(drivername="postgresql+psycopg")


def _engine(url: sa.URL) -> AsyncEngine:
    try:
        import psycopg  # noqa: F401
    except ImportError:
        raise ConfigError(
            "The index is in PostgreSQL, but its driver is not installed.",
            remedy="Run: pip install 'kosmos[postgres]'",
        ) from None
    return postgres_engine(url, size=5, more=10)
