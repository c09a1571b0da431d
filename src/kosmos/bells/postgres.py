"""Rings by LISTEN and NOTIFY of PostgreSQL, both on one connection that is used for nothing else.

A ring is sent after the commit of what it is about, never within: transactions that notify commit one after
the other, so that a NOTIFY in a busy transaction would let all of them wait for each other's disk. Here there
is no disk to wait for, since a ring that is lost in a crash is no loss.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

from kosmos.bells.contract import Hear, Wire
from kosmos.errors import EngineUnavailable, KosmosError

if TYPE_CHECKING:
    from psycopg import AsyncConnection, Notify

CHANNEL = "kosmos_bell"
CONNECT_SECONDS = 5


class PostgresLine:
    """The line by a PostgreSQL, by its libpq address."""

    def __init__(self, address: str) -> None:
        self._address = address

    @asynccontextmanager
    async def open(self, hear: Hear, stir: Callable[[], None]) -> AsyncIterator[Wire]:
        """Connect and listen."""
        from psycopg import AsyncConnection

        with _clear_errors():
            conn = await AsyncConnection.connect(
                self._address,
                autocommit=True,
                prepare_threshold=None,
                connect_timeout=CONNECT_SECONDS,
                application_name="kosmos bell",
            )
        wire = _PostgresWire(conn, hear, stir)
        try:
            await wire.join()
            yield wire
        finally:
            wire.rest()
            await conn.close()


class _PostgresWire:
    """Between two statements the socket is watched without any task or timer."""

    def __init__(self, conn: "AsyncConnection", hear: Hear, stir: Callable[[], None]) -> None:
        self.failure: KosmosError | None = None
        self._conn = conn
        self._hear = hear
        self._stir = stir
        self._loop = asyncio.get_running_loop()
        self._socket = conn.fileno()
        self._watching = False
        conn.add_notify_handler(self._on_notify)

    async def join(self) -> None:
        """Listen from now on."""
        with _clear_errors():
            await self._conn.execute("SET synchronous_commit TO off")
            await self._conn.execute(f"LISTEN {CHANNEL}")
        self._watch()

    async def send(self, payload: str) -> None:
        """Notify. What comes meanwhile is heard as well."""
        self.rest()  # the driver watches the socket itself while it works
        with _clear_errors():
            await self._conn.execute("SELECT pg_notify(%s, %s)", (CHANNEL, payload))
        self._watch()

    def rest(self) -> None:
        """Watch the socket no more. Once only: after a failure its number may soon be somebody else's."""
        if self._watching:
            self._watching = False
            self._loop.remove_reader(self._socket)

    def _watch(self) -> None:
        self._watching = True
        self._loop.add_reader(self._socket, self._read)
        self._read()

    def _read(self) -> None:
        try:
            with _clear_errors():
                self._conn.pgconn.consume_input()
                while note := self._conn.pgconn.notifies():
                    self._hear(note.extra.decode(errors="replace"))
        except EngineUnavailable as error:
            self.failure = error
            self.rest()
            self._stir()

    def _on_notify(self, note: "Notify") -> None:
        self._hear(note.payload)


@contextmanager
def _clear_errors() -> Iterator[None]:
    import psycopg

    try:
        yield
    except (psycopg.Error, OSError) as error:
        raise EngineUnavailable(f"PostgreSQL: {str(error).strip().split(chr(10))[0]}") from error
