"""Killed with signal 9 in the middle, twice: what was committed is never asked for again."""

import asyncio
import signal
import sqlite3
import sys
from pathlib import Path

from .hard_site import HOST, Site

CHILD = Path(__file__).with_name("killed_crawl.py")
CONCURRENCY = 4
RETRIED = {"/docs/busy": 2, "/docs/flaky": 2, "/docs/down": 3, "/robots.txt": 3}


async def run(site: Site, database: Path, survive: int) -> tuple[int, str]:
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        str(CHILD),
        str(site.port),
        str(database),
        str(survive),
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await child.communicate()
    return child.returncode or 0, out.decode()


def committed(database: Path) -> set[str]:
    with sqlite3.connect(database) as db:
        rows = db.execute("SELECT url FROM crawl_page WHERE state != 'pending'").fetchall()
    db.close()
    return {url.removeprefix(f"http://{HOST}") for (url,) in rows}


async def test_killed_twice_and_resumed(site: Site, documents: frozenset[str], tmp_path: Path) -> None:
    database = tmp_path / "crawl.db"
    under_way: set[str] = set()
    for survive in (40, 60):
        code, _ = await run(site, database, survive)
        assert code == -signal.SIGKILL
        done = committed(database)
        assert 0 < len(done & set(site.asked)) < 300
        under_way |= set(site.asked) - done
    assert await run(site, database, -1) == (0, "done")
    twice = {path for path, count in site.asked.items() if count > RETRIED.get(path, 1)}
    assert twice <= under_way
    assert len(twice) <= 2 * CONCURRENCY
    assert documents <= committed(database)
