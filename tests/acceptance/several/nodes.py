"""Two `kosmos serve` on one PostgreSQL, with or without a Redis, behind a proxy."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx2

from acceptance.agents.server import Server
from acceptance.forking import Forked
from acceptance.several.proxy import RoundRobin, proxying


@dataclass
class Node(Server):
    """One of them; what it logs is kept."""

    environ: dict[str, str] = field(default_factory=dict)

    @property
    def log(self) -> str:
        """What it has logged so far."""
        return self._log.read_text()

    @property
    def _log(self) -> Path:
        return self.home / f"{self.port}.log"

    def _spawn(self) -> Forked:
        return Forked(["serve", "--port", str(self.port)], self.environ, self._log)


@dataclass
class Site:
    """The two servers, and what a user sees of them."""

    one: Node
    two: Node
    proxy: RoundRobin
    url: str

    def client(self) -> httpx2.AsyncClient:
        """A client of the proxy, with the owner's token."""
        headers = {"authorization": f"Bearer {self.one.token}"}
        return httpx2.AsyncClient(base_url=self.url, headers=headers, timeout=60, trust_env=False)


@asynccontextmanager
async def site(home: Path, database_url: str, redis_url: str | None = None) -> AsyncIterator[Site]:
    """Everything open; ended afterwards, whatever happened to it."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("KOSMOS_")}
    settings = {"HOME": str(home), "DATABASE_URL": database_url, "ENCODER": "none", "WORKER_SLOTS": "0"}
    settings |= {"LOG_LEVEL": "INFO", "PROVIDER_TIMEOUT": "600"}
    settings |= {"REDIS_URL": redis_url} if redis_url else {}
    environ = {**kept, **{f"KOSMOS_{key}": value for key, value in settings.items()}}
    upgrade = [sys.executable, "-m", "kosmos", "db", "upgrade"]
    await asyncio.to_thread(
        subprocess.run, upgrade, env=environ, check=True, capture_output=True, timeout=120
    )
    one = Node(home, environ=environ)
    two = Node(home, environ={**environ, "KOSMOS_WORKER_SLOTS": "2"})  # works for both
    try:
        await one.start()
        await two.start()
        async with proxying([one.port, two.port]) as (proxy, url):
            yield Site(one, two, proxy, url)
    finally:
        one.end()
        two.end()
