"""A tiny HTTP proxy that sends each request to the next server, and streams what comes back."""

import asyncio
import contextlib
import itertools
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

_HOP = re.compile(rb"\r\nconnection:[^\r]*", re.IGNORECASE)
_MOST = 64 * 1024


class RoundRobin:
    """One request a connection. A server that cannot be reached is passed over, as real proxies do."""

    def __init__(self, ports: Sequence[int]) -> None:
        self._turns = itertools.cycle(ports)
        self._count = len(ports)
        self._tasks: set[asyncio.Task[None]] = set()
        self.went: list[int] = []  # to which port each request went

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request and its answer."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                head = await reader.readuntil(b"\r\n\r\n")
                await self._pass_on(_HOP.sub(b"", head)[:-2] + b"Connection: close\r\n\r\n", reader, writer)
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _pass_on(self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers, asks = await self._connect()
        try:
            asks.write(head)
            back = asyncio.create_task(_pump(answers, writer))
            body = asyncio.create_task(_pump(reader, asks))  # ends when the client goes away
            await asyncio.wait({back, body}, return_when=asyncio.FIRST_COMPLETED)
            for one in (back, body):
                one.cancel()
            await asyncio.gather(back, body, return_exceptions=True)
        finally:
            asks.close()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        for port in itertools.islice(self._turns, self._count):
            with contextlib.suppress(OSError):
                pair = await asyncio.open_connection("127.0.0.1", port)
                self.went.append(port)
                return pair
        raise ConnectionResetError("no server is there")

    async def close(self) -> None:
        """End what goes on."""
        for task in set(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while piece := await reader.read(_MOST):
            writer.write(piece)
            await writer.drain()


@asynccontextmanager
async def proxying(ports: Sequence[int]) -> AsyncIterator[tuple[RoundRobin, str]]:
    """The proxy in front of servers on these ports, and its address."""
    proxy = RoundRobin(ports)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    try:
        yield proxy, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        await proxy.close()
