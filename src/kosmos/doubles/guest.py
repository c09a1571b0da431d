"""Uvicorn as a guest in someone else's event loop."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

from kosmos.errors import Conflict

HOST = "127.0.0.1"
GRACE_SECONDS = 2.0
STEP_SECONDS = 0.005


class GuestServer(uvicorn.Server):
    """Serves from a task of the running loop: no signal handlers, no set-up of logging, no polling."""

    def __init__(self, app: ASGIApp) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                interface="asgi3",
                http="h11",
                ws="none",
                lifespan="off",
                log_config=None,
                proxy_headers=False,
            )
        )
        self._settled = asyncio.Event()  # startup has come to its end, good or bad
        self._stopped = asyncio.Event()

    async def start(self, listener: socket.socket) -> None:
        """Return once requests are answered, or raise what prevents it."""
        self._serving = asyncio.create_task(self.serve(sockets=[listener]))
        await self._settled.wait()
        if not self.started:
            await self._serving

    async def stop(self) -> None:
        """Return once every connection is closed."""
        self._stopped.set()
        await self._serving

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the host."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start listening, and say so."""
        try:
            await super().startup(sockets)
        finally:
            self._settled.set()

    async def main_loop(self) -> None:
        """Wait for the end without looking at the clock ten times a second."""
        await self.on_tick(0)
        await self._stopped.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close everything, in steps short enough for suites that start hundreds of servers."""
        for listener in (*self.servers, *(sockets or ())):
            listener.close()
        state = self.server_state
        for _ in range(int(GRACE_SECONDS / STEP_SECONDS)):
            for connection in list(state.connections):
                connection.shutdown()
            await asyncio.sleep(STEP_SECONDS)
            if not state.connections and not state.tasks:
                return
        for connection in list(state.connections):
            connection.transport.abort()
        await asyncio.sleep(STEP_SECONDS)  # most tasks end by themselves once the client is gone
        for task in list(state.tasks):
            task.cancel()
        await asyncio.sleep(STEP_SECONDS)


def listen(port: int) -> socket.socket:
    """A socket on the loopback address; port 0 means any free one."""
    # With the protocol named, asyncio turns Nagle's algorithm off; without it every reply waits 40 ms.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
    except (OSError, OverflowError) as error:
        listener.close()
        raise Conflict(
            f"Port {port} cannot be used: {error}.", remedy="Choose another port, or 0 for any free one."
        ) from error
    return listener
