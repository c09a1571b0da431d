"""An instance whose way out leads to the hard site, and crawls of it as jobs."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.accounts.people import make_first_user
from kosmos.accounts.spaces import list_spaces
from kosmos.accounts.tokens import authenticate
from kosmos.blobs.folder import FolderBlobs
from kosmos.crawl import CrawlLimits, CrawlPlan, Pace, Page
from kosmos.db import Database, crawls, documents
from kosmos.db import jobs as table
from kosmos.db.tables import job as job_rows
from kosmos.domain.accounts import Principal
from kosmos.domain.clock import system_clock
from kosmos.domain.documents import Document
from kosmos.domain.jobs import Job
from kosmos.jobs.run import Run
from kosmos.jobs.worker import LEASE, Worker
from kosmos.net import Fetcher, Limits, Policy
from kosmos.store.local import LocalStore
from kosmos.tasks.crawl_frontier import as_page
from kosmos.tasks.crawling import crawl_site
from kosmos.tasks.crawls import Started, start_crawl
from kosmos.tasks.job_types import make_registry
from kosmos.tasks.workbench import Workbench

from .hard_site import ROOT, Site

PLAN = CrawlPlan(
    (ROOT,),
    # The refused ones are made part of the crawl, so that only the way out can refuse them.
    prefixes=(ROOT, "http://127.0.0.1:9/", "http://169.254.169.254/", "http://inside.test/"),
    pace=Pace(concurrency=8, per_host=8, delay=0.0, attempts=3, backoff=0.01),
    limits=CrawlLimits(depth=9),
)
FEWER = replace(PLAN, exclude=("/docs/s[2-9]/*",))
SMALL = replace(
    PLAN, include=("/docs/s1/p?/", "/docs/s1/", "/docs/dup/?", "/docs/meta", "/docs/private/*", "*/latest/")
)


@dataclass(frozen=True)
class CrawlScene:
    """An owner, their space, the engines and the site."""

    bench: Workbench
    owner: Principal
    space_id: str
    site: Site

    def using(self, **engines: Any) -> "CrawlScene":
        """The same instance seen through other engines."""
        return replace(self, bench=replace(self.bench, **engines))

    async def start(self, plan: CrawlPlan = PLAN) -> Started:
        """Ask for a crawl."""
        return await start_crawl(self.bench, self.owner, self.space_id, plan)

    async def crawl(self, plan: CrawlPlan = PLAN) -> tuple[Started, Job]:
        """Ask for a crawl, and what came of it."""
        started = await self.start(plan)
        return started, await self.run(started.job.id)

    def worker(self) -> Worker:
        """A worker on the engines."""
        return Worker(self.bench.db, make_registry(self.bench), name="test", clock=self.bench.clock)

    async def run(self, job_id: str) -> Job:
        """The job after a worker has taken it and nothing else."""
        worker = self.worker()
        async with worker.keeping():
            assert await worker.run_one(job_id)
        return await self.job(job_id)

    async def work(self) -> None:
        """Let a worker do everything that is due."""
        worker = self.worker()
        running = asyncio.create_task(worker.run())
        await worker.idle()
        worker.stop()
        await running

    async def killed(self, job_id: str, doom: Callable[[Run], bool]) -> None:
        """Work on a job until something holds, then vanish without a word, in the middle of a batch."""
        async with self.bench.db.write() as conn:
            now = self.bench.clock()
            (claimed,) = await table.take(conn, [job_id], worker="doomed", now=now, until=now + LEASE)
        run = _Doomed(claimed, self.bench, doom)
        run.victim = asyncio.create_task(crawl_site(self.bench, run))
        await asyncio.gather(run.victim, return_exceptions=True)
        assert run.victim.cancelled()
        async with self.bench.db.write() as conn:
            await conn.execute(job_rows.update().where(job_rows.c.id == job_id).values(due_at=now))

    async def job(self, job_id: str) -> Job:
        """The job as it is now."""
        async with self.bench.db.read() as conn:
            job = await table.get_job(conn, job_id)
        assert job is not None
        return job

    async def rows(self, crawl_id: str) -> dict[str, Page]:
        """The frontier, by address below the root of the documentation."""
        async with self.bench.db.read() as conn:
            rows = [as_page(row) for row in await crawls.all_pages(conn, crawl_id)]
        return {page.url.removeprefix(ROOT): page for page in rows}

    async def documents(self) -> dict[str, Document]:
        """The documents of the space, by address below the root of the documentation."""
        async with self.bench.db.read() as conn:
            found = await documents.list_documents(conn, self.space_id, limit=1000)
        return {document.origin.removeprefix(ROOT): document for document in found}

    async def jobs(self) -> int:
        """How many jobs there are."""
        async with self.bench.db.read() as conn:
            return await conn.scalar(sa.select(sa.func.count()).select_from(job_rows)) or 0


class _Doomed(Run):
    """A claim whose holder is killed in the middle of a batch."""

    def __init__(self, job: Job, bench: Workbench, doom: Callable[[Run], bool]) -> None:
        super().__init__(job, db=bench.db, clock=bench.clock, lease=LEASE, registry=make_registry(bench))
        self.doom = doom
        self.victim: asyncio.Task[Any] | None = None

    @asynccontextmanager
    async def batch(self, progress: Mapping[str, Any] | None = None) -> AsyncIterator[AsyncConnection]:
        async with super().batch(progress) as conn:
            yield conn
            if self.victim is not None and self.doom(self):
                self.victim.cancel()
                await asyncio.sleep(0)  # inside of the transaction: it must not count


@asynccontextmanager
async def open_scene(db: Database, folder: Path, site: Site) -> AsyncIterator[CrawlScene]:
    """An instance at its first start."""
    policy = Policy(limits=Limits(content_bytes=10**6, seconds=10))
    fetcher = Fetcher(policy, resolver=site.resolve, dial=site.dial)
    blobs, store = FolderBlobs(folder / "blobs"), LocalStore(folder / "index")
    bench = Workbench(db=db, blobs=blobs, store=store, clock=system_clock, fetcher=fetcher)
    async with db.write() as conn:
        token = await make_first_user(conn, name="ada", now=bench.clock())
        assert token is not None
        owner = await authenticate(conn, token, bench.clock())
        (view,) = await list_spaces(conn, owner)
    try:
        yield CrawlScene(bench, owner, view.space.id, site)
    finally:
        await fetcher.close()
        await bench.converter.close()
