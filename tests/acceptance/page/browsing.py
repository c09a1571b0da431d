"""A real Chromium on the page, and what a person does with it."""

import asyncio
import os
import re
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Locator, Page, sync_playwright

from kosmos.accounts.links import make_link
from kosmos.app import open_app
from kosmos.config import load_settings

ARTEFACTS = Path(__file__).parents[3] / "artefacts" / "page"
SECONDS = 40
SIZES = {"desktop": (1280, 800), "phone": (390, 780)}
_DROP = """(box, files) => {
  const data = new DataTransfer();
  for (const [name, text] of files) data.items.add(new File([text], name));
  for (const kind of ["dragenter", "dragover", "drop"])
    box.dispatchEvent(new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true }));
}"""


def find_chromium() -> str:
    """The browser of the system; without one the test is skipped."""
    found = (
        os.environ.get("KOSMOS_TEST_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    )
    if not found:
        pytest.skip("no Chromium on this machine: apt-get install chromium")
    return found


@contextmanager
def open_browser() -> Iterator[Browser]:
    """The system's Chromium, without a window."""
    path = find_chromium()
    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--no-proxy-server", "--disable-gpu"]
        )
        yield browser
        browser.close()


def sign_in_link(home: Path, url: str) -> str:
    """A one-time link, as `kosmos serve` prints one."""

    async def make() -> str:
        async with open_app(load_settings({"KOSMOS_HOME": str(home), "KOSMOS_ENCODER": "none"})) as app:
            who = await app.local_user()
            async with app.bench.db.write() as conn:
                return await make_link(conn, who, app.bench.clock())

    # The driver of the browser keeps a loop in this thread.
    with ThreadPoolExecutor(1) as aside:
        return f"{url}/#link={aside.submit(asyncio.run, make()).result()}"


@dataclass
class Visit:
    """A person at the page: what they do, and what the browser had to say meanwhile."""

    page: Page
    url: str
    name: str = "visit"
    complaints: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)

    def listen(self) -> None:
        """Note errors of scripts, refusals of the policy, and requests to anybody else."""
        self.page.set_default_timeout(SECONDS * 1000)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", self._hear)
        self.page.on("request", self._note)

    def _hear(self, message: Any) -> None:
        if message.type == "error" and "404 (Not Found)" not in message.text:
            self.complaints.append(message.text)

    def _note(self, request: Any) -> None:
        parts = urlsplit(request.url)
        if parts.scheme in ("http", "https") and parts.netloc != urlsplit(self.url).netloc:
            self.foreign.append(request.url)

    def go(self, place: str) -> None:
        """Go to a room by its address."""
        self.page.goto(f"{self.url}/#/{place}")

    def at(self, selector: str, text: str | re.Pattern[str] | None = None) -> Locator:
        """The first element of that kind, once it is there."""
        found = self.page.locator(selector, has_text=text).first
        found.wait_for()
        return found

    def drop(self, files: dict[str, str]) -> None:
        """Drop files into the space."""
        self.at(".drop").evaluate(_DROP, list(files.items()))

    def shoot(self, name: str) -> None:
        """Keep a picture."""
        ARTEFACTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=ARTEFACTS / f"{self.name}-{name}.png")

    def way(self, room: str) -> None:
        """Click on the way to a room."""
        self.page.locator(f'nav a[data-room="{room}"]').click()


@contextmanager
def visit(browser: Browser, url: str, *, language: str = "en", size: str = "desktop") -> Iterator[Visit]:
    """A new person with a browser of their own."""
    width, height = SIZES[size]
    phone = size == "phone"
    context = browser.new_context(
        viewport={"width": width, "height": height},
        locale="zh-CN" if language == "zh" else "en",
        is_mobile=phone,
        has_touch=phone,
        reduced_motion="reduce",
    )
    made = Visit(context.new_page(), url, name=f"{language}-{size}")
    made.listen()
    try:
        yield made
    finally:
        context.close()
