"""One browser and one served instance for all tests of the page."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import Browser

from acceptance.agents.server import free_port
from acceptance.forking import Forked
from acceptance.page.browsing import find_chromium, open_browser, sign_in_link
from acceptance.small_site import SmallSite, serve_site

TEXT = "# Valves\n\nThe red valve opens at dawn and closes at noon.\n"
ANSWER = "It **opens at dawn** [1]."


@dataclass
class Host:
    """`kosmos serve` as a process of its own, which can be ended and started again on the same port."""

    home: Path
    port: int
    allow: str = ""
    process: Forked | None = None

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        """What it says."""
        return self.home.parent / f"{self.home.name}.log"

    def start(self) -> None:
        """Return once it answers."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith("KOSMOS_")}
        environ = {**kept, "KOSMOS_HOME": str(self.home), "KOSMOS_ENCODER": "none"}
        environ["KOSMOS_FETCH_ALLOW_HOSTS"] = self.allow
        self.process = Forked(["serve", "--port", str(self.port)], environ, self.log)
        with httpx2.Client(trust_env=False) as http:
            for _ in range(900):
                assert self.process.poll() is None, self.log.read_text()
                try:
                    if http.get(f"{self.url}/healthz").is_success:
                        return
                except httpx2.TransportError:
                    time.sleep(0.1)
        raise AssertionError(self.log.read_text())

    def end(self, how: signal.Signals = signal.SIGKILL) -> None:
        """End the process and wait until it is gone."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(timeout=60)
            self.process = None

    def link(self) -> str:
        """A one-time link to the page."""
        return sign_in_link(self.home, self.url)

    def client(self) -> httpx2.Client:
        """A client with the owner's token."""
        token = (self.home / "token").read_text().strip()
        headers = {"authorization": f"Bearer {token}"}
        return httpx2.Client(base_url=self.url, headers=headers, timeout=60, trust_env=False)


@pytest.fixture(scope="package")
def site() -> Iterator[SmallSite]:
    """A small site to crawl."""
    with serve_site() as served:
        yield served


@pytest.fixture(scope="package")
def host(tmp_path_factory: pytest.TempPathFactory, site: SmallSite) -> Iterator[Host]:
    """A served instance."""
    find_chromium()
    made = Host(tmp_path_factory.mktemp("page") / "home", free_port(), allow=site.place)
    made.start()
    yield made
    made.end()


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """The browser. Its driver keeps a loop in this thread, so that it must go before other tests come."""
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="package")
def double(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A model that searches, thinks, and answers."""
    search = {
        "tool_calls": [{"name": "search", "arguments": {"query": "red valve"}}],
        "reasoning": "Let me look.",
    }
    script = {
        "replies": [
            {"content": "Red valve", "when": {"anywhere": "Give a title"}, "repeat": True},
            {**search, "when": {"anywhere": "When does the red valve open?"}},
            {"content": ANSWER, "when": {"anywhere": "valves.md"}, "repeat": True},
            {"content": "word " * 400, "pace": 0.05, "when": {"anywhere": "Go on for ever"}, "repeat": True},
        ],
        "default": {"content": "Valves"},
    }
    path = tmp_path_factory.mktemp("double") / "script.json"
    path.write_text(json.dumps(script))
    port = free_port()
    command = [sys.executable, "-m", "kosmos", "model-double", str(path), "--port", str(port)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    yield f"http://127.0.0.1:{port}/v1"
    process.kill()
    process.wait()


@pytest.fixture(scope="package")
def modelled(tmp_path_factory: pytest.TempPathFactory, double: str) -> Iterator[Host]:
    """A server with a model."""
    made = Host(tmp_path_factory.mktemp("chat") / "home", free_port())
    made.start()
    with made.client() as http:
        form = {"name": "m", "type": "LLM", "base_url": double, "model": "m", "is_default": True}
        http.post("/api/v1/credentials", json=form).raise_for_status()
        space = http.get("/api/v1/spaces").json()["items"][0]["id"]
        http.post(
            f"/api/v1/spaces/{space}/documents", params={"filename": "valves.md"}, content=TEXT.encode()
        )
    yield made
    made.end()
