"""The real application on a real port of loopback, beside the tests."""

import asyncio
import socket
import threading
import time
from collections.abc import Coroutine
from typing import Any, Self, TypeVar

import httpx2
import uvicorn

from kosmos.api.application import create_api
from kosmos.app import App
from kosmos.config import Settings
from kosmos.domain.clock import Clock, system_clock

T = TypeVar("T")


class Served:
    """Uvicorn in a thread with an event loop of its own; `run` lets a coroutine run in that loop."""

    def __init__(self, settings: Settings, clock: Clock = system_clock) -> None:
        self.settings = settings
        self.api = create_api(settings, clock=clock)
        # Named as TCP, or asyncio leaves Nagle's algorithm on and every answer takes 40 ms.
        self._listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self._listener.bind(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        config = uvicorn.Config(self.api, lifespan="on", log_config=None, access_log=False)
        self._server = uvicorn.Server(config)
        self._clients: list[httpx2.Client] = []
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        await self._server.serve(sockets=[self._listener])

    def __enter__(self) -> Self:
        self._thread.start()
        while not self._server.started:
            assert self._thread.is_alive(), "the server did not start; the log says why"
            time.sleep(0.005)
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(timeout=20)
        self._listener.close()
        for client in self._clients:
            client.close()

    def client(self, token: str | None = None) -> httpx2.Client:
        """A connection that presents the token; closed with the server."""
        headers = {"authorization": f"Bearer {token}"} if token else {}
        made = httpx2.Client(base_url=self.url, headers=headers, timeout=30, trust_env=False)
        self._clients.append(made)
        return made

    @property
    def app(self) -> App:
        """Kosmos as the server has opened it."""
        app: App = self.api.state.kosmos
        return app

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """What the coroutine returns, after it ran in the server's loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=60)
