"""A crawl in a process of its own, over a frontier in a table, that kills itself after so many commits.

Arguments: port of the site, database file, number of commits to survive.
"""

import asyncio
import json
import os
import signal
import sqlite3
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict

import httpcore2

from kosmos.crawl import CrawlLimits, CrawlPlan, Kind, Pace, Page, PageResult, State, crawl
from kosmos.crawl.frontier import entered
from kosmos.net import Fetcher
from kosmos.net.dialing import open_tcp

PUBLIC = "93.184.216.34"
TABLE = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = OFF;  -- the process dies here, not the machine
CREATE TABLE IF NOT EXISTS crawl_page
(url TEXT PRIMARY KEY, state TEXT, kind TEXT, depth INT, due REAL, row TEXT);
"""


class TableFrontier:
    """Rows in SQLite; a commit is a transaction."""

    def __init__(self, path: str, survive: int) -> None:
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.executescript(TABLE)
        self._left = survive

    async def add(self, pages: Sequence[Page]) -> None:
        for page in pages:
            self._write(entered(self._read(page.url), page))

    async def due(self, most: int, now: float) -> Sequence[Page]:
        rows = self._db.execute(
            "SELECT row FROM crawl_page WHERE state = 'pending' AND due <= ?"
            " ORDER BY kind DESC, depth, rowid LIMIT ?",
            (now, most),
        )
        return [_page(row) for (row,) in rows]

    async def next_due(self) -> float | None:
        (due,) = self._db.execute("SELECT min(due) FROM crawl_page WHERE state = 'pending'").fetchone()
        return due if due is None else float(due)

    async def commit(self, results: Sequence[PageResult]) -> None:
        self._db.execute("BEGIN IMMEDIATE")
        for result in results:
            self._write(result.page)
        await self.add([page for result in results for page in result.found])
        self._left -= 1
        if self._left == 0:  # in the middle of a transaction: its rows must not count
            os.kill(os.getpid(), signal.SIGKILL)
        self._db.execute("COMMIT")

    async def pages(self) -> AsyncIterator[Page]:
        for (row,) in self._db.execute("SELECT row FROM crawl_page").fetchall():
            yield _page(row)

    async def renew(self) -> None:
        raise NotImplementedError

    def _read(self, url: str) -> Page | None:
        found = self._db.execute("SELECT row FROM crawl_page WHERE url = ?", (url,)).fetchone()
        return _page(found[0]) if found else None

    def _write(self, page: Page) -> None:
        values = (page.url, page.state, page.kind, page.depth, page.due, json.dumps(asdict(page)))
        self._db.execute("INSERT OR REPLACE INTO crawl_page VALUES (?, ?, ?, ?, ?, ?)", values)


def _page(row: str) -> Page:
    data = json.loads(row)
    data |= {"kind": Kind(data["kind"]), "state": State(data["state"]), "links": tuple(data["links"])}
    return Page(**data)


async def main(port: int, path: str, survive: int) -> None:
    async def resolve(host: str, _: int) -> list[str]:
        return [PUBLIC]

    async def dial(address: str, _: int, seconds: float | None) -> httpcore2.AsyncNetworkStream:
        assert address == PUBLIC
        return await open_tcp("127.0.0.1", port, seconds)

    plan = CrawlPlan(
        ("http://docs.site.test/docs/",),
        pace=Pace(concurrency=4, per_host=4, delay=0.0, attempts=3, backoff=0.01),
        limits=CrawlLimits(depth=3),
    )
    async with Fetcher(resolver=resolve, dial=dial) as fetcher:
        end = await crawl(plan, TableFrontier(path, survive), fetcher=fetcher)
    sys.stdout.write(end.ending)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
