"""Crawls as their makers and readers handle them: start, list, report. Rights are checked here."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace

from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.accounts.access import require_space, visible_space_ids
from kosmos.crawl import CrawlPlan, CrawlReport, analyse
from kosmos.crawl.plans import Scope
from kosmos.db import crawls
from kosmos.db import jobs as job_table
from kosmos.db.crawls import Crawl
from kosmos.db.jobs import JobFilter
from kosmos.domain.accounts import Principal, Role
from kosmos.domain.ids import new_id
from kosmos.domain.jobs import Job, NewJob
from kosmos.domain.values import storable
from kosmos.errors import NotFound
from kosmos.jobs.creation import create_jobs
from kosmos.net.guard import Guard
from kosmos.tasks.crawl_frontier import as_page
from kosmos.tasks.crawl_plans import plan_as_json
from kosmos.tasks.crawling import CRAWLING, crawl_lane
from kosmos.tasks.following import Ended, follow_jobs
from kosmos.tasks.job_types import make_registry
from kosmos.tasks.producing import choose_producer
from kosmos.tasks.workbench import Workbench

MAX_JOBS = 1000


@dataclass(frozen=True, slots=True)
class CrawlView:
    """A crawl and the newest of its jobs, if that is still known."""

    crawl: Crawl
    job: Job | None


@dataclass(frozen=True, slots=True)
class Started:
    """A crawl that was asked for. `existing`: it was waiting or running already, by the plan it had."""

    crawl: Crawl
    job: Job
    existing: bool


async def start_crawl(bench: Workbench, who: Principal, space_id: str, plan: CrawlPlan) -> Started:
    """Crawl a site into a space that the caller may edit. A site that was crawled before gets another round.

    What the rules of the way out forbid by the address alone is refused at once.
    """
    start = Scope(plan).starts[0]
    Guard(bench.fetcher.policy).target(start)
    async with bench.db.write() as conn:
        await require_space(conn, who, space_id, need=Role.EDITOR)
        await choose_producer(bench, conn, who, space_id)  # its pages could not be chunked otherwise
        crawl = await crawls.find_crawl(conn, space_id, start)
        before = await job_table.find_open(conn, crawl_lane(crawl)["dedupe_key"]) if crawl else None
        if crawl is None or before is None:
            crawl = await _planned(bench, conn, crawl or _new(bench, space_id, start), plan)
        new = NewJob(
            type=CRAWLING,
            space_id=space_id,
            initiator_id=who.user.id,
            context={"crawl_id": crawl.id},
            **crawl_lane(crawl),
        )
        job = (await create_jobs(conn, make_registry(bench), [new], bench.clock()))[0]
    bench.wake([job.id])
    return Started(crawl, job, existing=before is not None)


def _new(bench: Workbench, space_id: str, start: str) -> Crawl:
    now = bench.clock()
    return Crawl(new_id(), space_id, start, plan={}, round=0, created_at=now, updated_at=now)


async def _planned(bench: Workbench, conn: AsyncConnection, crawl: Crawl, plan: CrawlPlan) -> Crawl:
    """The crawl, stored with the plan of today."""
    now, stored = bench.clock(), plan_as_json(plan)
    planned = replace(crawl, plan=stored, updated_at=now)
    if crawl.plan:
        await crawls.update_crawl(conn, crawl.id, {"plan": stored}, now)
    else:
        await crawls.insert_crawl(conn, planned)
    return planned


async def list_crawls(bench: Workbench, who: Principal, space_id: str | None = None) -> list[CrawlView]:
    """The crawls of a space, or of all spaces that the caller may read."""
    async with bench.db.read() as conn:
        if space_id is not None:
            spaces = [(await require_space(conn, who, space_id)).space.id]
        else:
            spaces = await visible_space_ids(conn, who)
        found = [crawl for space in spaces for crawl in await crawls.list_crawls(conn, space)]
        return await _with_jobs(conn, found) if found else []


async def get_crawl(bench: Workbench, who: Principal, crawl_id: str) -> CrawlView:
    """One crawl, if the caller may read its space."""
    async with bench.db.read() as conn:
        crawl = await _require(conn, who, crawl_id)
        return (await _with_jobs(conn, [crawl]))[0]


async def report_crawl(bench: Workbench, who: Principal, crawl_id: str) -> tuple[CrawlView, CrawlReport]:
    """What a crawl has found out about its site so far."""
    view = await get_crawl(bench, who, crawl_id)
    async with bench.db.read() as conn:
        rows = await crawls.all_pages(conn, crawl_id)
    return view, await asyncio.to_thread(lambda: analyse([as_page(row) for row in rows]))


async def follow_documents(bench: Workbench, crawl: Crawl) -> AsyncIterator[tuple[int, Ended]]:
    """The documents of a space that are being worked on, as they end, each with how many there were."""
    ids: list[str] = []
    before = ""
    async with bench.db.read() as conn:
        wanted = JobFilter([crawl.space_id], type="indexing")
        while found := await job_table.list_jobs(conn, wanted, before=before, limit=MAX_JOBS):
            before = found[-1].id
            ids += [job.id for job in found if not job.status.ended]
    async for ended in follow_jobs(bench, ids):
        yield len(ids), ended


async def _with_jobs(conn: AsyncConnection, found: Sequence[Crawl]) -> list[CrawlView]:
    spaces = sorted({crawl.space_id for crawl in found})
    wanted = JobFilter(spaces, type=CRAWLING)
    newest: dict[str, Job] = {}
    for job in await job_table.list_jobs(conn, wanted, limit=MAX_JOBS):
        newest.setdefault(job.context.get("crawl_id", ""), job)
    return [CrawlView(crawl, newest.get(crawl.id)) for crawl in found]


async def _require(conn: AsyncConnection, who: Principal, crawl_id: str) -> Crawl:
    """The crawl; one of a space that the caller may not see does not exist for them."""
    crawl = await crawls.get_crawl(conn, crawl_id) if storable(crawl_id) else None
    if crawl is not None:
        try:
            await require_space(conn, who, crawl.space_id)
        except NotFound:
            crawl = None
    if crawl is None:
        raise NotFound(f"There is no crawl {crawl_id}.", remedy="List them with: kosmos crawls list")
    return crawl
