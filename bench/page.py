"""How smooth the page stays: the longest tasks of the browser's main thread with 20,000 lines and 5,000 jobs.

Wall time is what people feel; CPU time of the same tasks does not change with the load of the machine.
Reports only. Without Chromium or playwright nothing is measured.
"""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from measure import print_table, write_json

LINES = 20_000
JOBS = 5_000
PORT = 8497
URL = f"http://127.0.0.1:{PORT}"
LONG_MS = 50
WORDS = [
    "pump",
    "valve",
    "证书",
    "轮换",
    "tide",
    "sensor",
    "battery",
    "手册",
    "queue",
    "harbor",
    "备份",
    "alert",
]


@dataclass(frozen=True)
class Smoothness:
    """The tasks of one visit: how many were long, and the longest, in wall and in CPU milliseconds."""

    name: str
    tasks: int
    long_tasks: int
    longest_wall_ms: float
    longest_cpu_ms: float


def make_text() -> str:
    """A document of so many lines: headings, paragraphs, tables."""
    made = []
    for number in range(LINES):
        if number % 40 == 0:
            made.append(f"## Section {number // 40}: {WORDS[number // 40 % len(WORDS)]}")
        elif number % 40 in (1, 39):
            made.append("")
        else:
            made.append(
                " ".join(WORDS[(number * step) % len(WORDS)] for step in range(1, 14)) + f" {number}."
            )
    return "\n".join(made) + "\n"


async def furnish(home: Path, file: Path) -> str:
    """A space with the document and the jobs; the id of the document."""
    from kosmos.accounts.access import resolve_space
    from kosmos.app import open_app
    from kosmos.config import load_settings
    from kosmos.db.documents import list_documents
    from kosmos.db.tables import job
    from kosmos.domain.ids import new_id
    from kosmos.tasks.folders import add_paths
    from kosmos.workers import working_beside

    settings = load_settings({"KOSMOS_HOME": str(home), "KOSMOS_ENCODER": "none"})
    async with open_app(settings) as app, working_beside(app):
        who = await app.local_user()
        report = await add_paths(app.bench, who, "default", [file], on_step=lambda *_: None)
        assert report.added, report
        async with app.bench.db.write() as conn:
            space = (await resolve_space(conn, who, "default")).space.id
            (document,) = await list_documents(conn, space, after="", limit=2)
            now = datetime.now(UTC)
            await conn.execute(
                job.insert(), [_job(new_id(), space, document.id, at, now) for at in range(JOBS)]
            )
    return document.id


def _job(identity: str, space: str, document: str, at: int, now: datetime) -> dict[str, Any]:
    states = ("COMPLETED", "FAILED", "PAUSED", "CANCELLED")
    status = states[at % len(states)]
    return {
        "id": identity,
        "type": ("chunking", "indexing", "document_processing")[at % 3],
        "status": status,
        "reason": "The provider is busy." if status in ("PAUSED", "FAILED") else None,
        "space_id": space,
        "document_id": document,
        "priority": 0,
        "context": {},
        "progress": {"current_line": at % 1000, "total_lines": 1000},
        "prompt_tokens": 10 * at,
        "cached_tokens": 0,
        "output_tokens": at,
        "cost": 0.0,
        "epoch": 1,
        "attempts": 0,
        "created_at": now - timedelta(seconds=JOBS - at),
        "updated_at": now,
        "finished_at": None if status == "PAUSED" else now,
    }


@contextmanager
def serving(home: Path) -> Iterator[str]:
    """`kosmos serve` on that home; the link that it prints."""
    log = home.parent / "log"
    environ = {**os.environ, "KOSMOS_HOME": str(home), "KOSMOS_ENCODER": "none"}
    with log.open("wb") as err:
        process = subprocess.Popen(
            [sys.executable, "-m", "kosmos", "serve", "--port", str(PORT)], env=environ, stderr=err
        )
    try:
        while "#link=" not in log.read_text():
            assert process.poll() is None, log.read_text()
            time.sleep(0.2)
        urllib.request.urlopen(f"{URL}/healthz").close()
        yield log.read_text().split("once: ")[1].split()[0]
    finally:
        process.kill()
        process.wait()


def watch(browser: Any, page: Any, name: str, act: Callable[[], None]) -> Smoothness:
    """What the main thread did while something was done."""
    browser.start_tracing(page=page, categories=["toplevel", "__metadata"])
    act()
    events = json.loads(browser.stop_tracing())["traceEvents"]
    mains = {
        (event["pid"], event["tid"])
        for event in events
        if event.get("name") == "thread_name" and event["args"].get("name") == "CrRendererMain"
    }
    tasks = [
        event
        for event in events
        if event.get("ph") == "X" and "RunTask" in event["name"] and (event["pid"], event["tid"]) in mains
    ]
    wall = [event.get("dur", 0) / 1000 for event in tasks]
    cpu = [event.get("tdur", 0) / 1000 for event in tasks]
    return Smoothness(
        name, len(tasks), sum(ms > LONG_MS for ms in cpu), max(wall, default=0.0), max(cpu, default=0.0)
    )


def read_through(page: Any, document: str) -> None:
    """Open the long document, scroll, jump, point."""
    page.goto(f"{URL}/#/read/{document}")
    page.wait_for_selector(".line")
    page.locator(".long-text").hover()
    for _ in range(40):
        page.mouse.wheel(0, 2500)
        page.wait_for_timeout(30)
    box = page.locator(".map").bounding_box()
    for share in (0.95, 0.1, 0.5, 0.8, 0.3):
        page.mouse.click(box["x"] + 8, box["y"] + box["height"] * share)
        page.wait_for_timeout(250)
    page.locator(".chunk-pane .long-list").hover()
    for _ in range(30):
        page.mouse.wheel(0, 1500)
        page.wait_for_timeout(30)
    for _ in range(10):
        page.locator(".long-text").hover(position={"x": 300, "y": 100 + 40 * _})


def watch_jobs(page: Any) -> None:
    """Open all jobs, scroll, filter."""
    page.goto(f"{URL}/#/jobs")
    page.locator("kosmos-jobs .room-head p", has_text=f"of {JOBS + 3:,} jobs").wait_for()
    page.locator(".long-list").hover()
    for _ in range(40):
        page.mouse.wheel(0, 3000)
        page.wait_for_timeout(30)
    for status in ("FAILED", "PAUSED", ""):
        page.select_option("select[name=status]", status)
        page.wait_for_timeout(200)


def drive(link: str, document: str) -> list[Smoothness]:
    """Go through the rooms and watch each."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--no-proxy-server"]
        )
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(120_000)
        floor = watch(browser, page, "signing in", lambda: _sign_in(page, link))
        read = watch(browser, page, f"{LINES:,} lines", lambda: read_through(page, document))
        jobs = watch(browser, page, f"{JOBS:,} jobs", lambda: watch_jobs(page))
        browser.close()
    return [floor, read, jobs]


def _sign_in(page: Any, link: str) -> None:
    page.goto(link)
    page.wait_for_selector("tbody a")


def main() -> None:
    """Measure, print, write `bench/results/page.json`."""
    try:
        import playwright  # noqa: F401
    except ImportError:
        print("not measured: playwright is not installed")
        return
    if shutil.which("chromium") is None:
        print("not measured: no chromium on this machine")
        return
    with tempfile.TemporaryDirectory(prefix="kosmos-page-") as folder:
        home = Path(folder) / "home"
        file = Path(folder) / "long.md"
        file.write_text(make_text(), encoding="utf-8")
        document = asyncio.run(furnish(home, file))
        with serving(home) as link:
            found = drive(link, document)
    floor = found[0]
    rows = [
        [
            item.name,
            str(item.tasks),
            str(item.long_tasks),
            f"{item.longest_wall_ms:.0f}",
            f"{item.longest_cpu_ms:.0f}",
            f"{item.longest_cpu_ms / max(1, floor.longest_cpu_ms):.1f}",
        ]
        for item in found
    ]
    print_table(
        "Main thread of the browser",
        ["visit", "tasks", f"> {LONG_MS} ms CPU", "longest ms", "longest ms CPU", "x floor"],
        rows,
    )
    file = write_json("page", {"visits": [asdict(item) for item in found]})
    print(f"written: bench/results/{file.name}")


if __name__ == "__main__":
    main()
