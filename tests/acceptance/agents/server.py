"""`kosmos serve` as a process of its own, which can be killed."""

import asyncio
import os
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import httpx2

from acceptance.forking import Forked
from acceptance.sent_events import SentEvents
from kosmos.doubles.model_server import ModelServer


def free_port() -> int:
    """A port that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Server:
    """A server on a home; after `kill` it can be started again on the same port."""

    home: Path
    port: int = field(default_factory=free_port)
    process: Forked | None = None

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def token(self) -> str:
        """The token of the local owner."""
        return (self.home / "token").read_text().strip()

    def _spawn(self) -> Forked:
        kept = {key: value for key, value in os.environ.items() if not key.startswith("KOSMOS_")}
        environ = {**kept, "KOSMOS_HOME": str(self.home), "KOSMOS_WORKER_SLOTS": "0"}
        return Forked(["serve", "--port", str(self.port)], environ, self.home.with_suffix(".log"))

    async def start(self) -> Self:
        """Return once it answers."""
        self.process = self._spawn()
        async with httpx2.AsyncClient(trust_env=False) as http:
            for _ in range(600):
                assert self.process.poll() is None, "the server ended"
                try:
                    if (await http.get(f"{self.url}/healthz")).is_success:
                        return self
                except httpx2.TransportError:
                    await asyncio.sleep(0.1)
        raise AssertionError("the server does not start")

    def end(self, how: signal.Signals = signal.SIGKILL) -> None:
        """End the process and wait until it is gone."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(timeout=60)
            self.process = None

    def client(self) -> httpx2.AsyncClient:
        """A client with the owner's token."""
        headers = {"authorization": f"Bearer {self.token}"}
        return httpx2.AsyncClient(base_url=self.url, headers=headers, timeout=60, trust_env=False)


@asynccontextmanager
async def serving(home: Path) -> AsyncIterator[Server]:
    """A server that is ended afterwards, whatever happened to it."""
    server = await Server(home).start()
    try:
        yield server
    finally:
        server.end()


async def prepare(http: httpx2.AsyncClient, double: ModelServer, **agent: Any) -> str:
    """A model and an agent; the id of a session with it."""
    form = {"name": "double", "type": "LLM", "base_url": double.base_url, "model": "m", "is_default": True}
    (await http.post("/api/v1/credentials", json=form)).raise_for_status()
    made = await http.post("/api/v1/agents", json={"name": "teller", "allowed_tools": [], **agent})
    session = await http.post("/api/v1/sessions", json={"agent": made.json()["id"], "title": "t"})
    return str(session.raise_for_status().json()["id"])


async def read_events(response: httpx2.Response) -> AsyncIterator[dict[str, Any]]:
    """Server-sent events as they come."""
    gathered = SentEvents()
    async for line in response.aiter_lines():
        if event := gathered.feed(line):
            yield event
