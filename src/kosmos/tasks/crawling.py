"""`crawling`: reads a site page by page, and enters each page that is kept as a document.

What became of a page, the addresses it named and its document with the jobs for it are written in one
transaction. Whoever is killed repeats at most the visits under way.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.crawl import CrawlEnd, CrawlPlan, Kind, Page, PageResult, State
from kosmos.crawl import crawl as visit_pages
from kosmos.crawl.crawler import Ending
from kosmos.crawl.urls import host_of
from kosmos.db import crawls, documents
from kosmos.db.crawls import Crawl
from kosmos.domain.accounts import Principal
from kosmos.domain.values import storable
from kosmos.errors import Conflict, FetchFailed, FetchRefused, NotFound, NotReady
from kosmos.jobs.registry import Registry
from kosmos.jobs.run import Run
from kosmos.tasks.acting import initiator_of
from kosmos.tasks.crawl_frontier import Settled, TableFrontier
from kosmos.tasks.crawl_plans import plan_of_json
from kosmos.tasks.crawl_rounds import HELD, misled, open_round, withdrawn
from kosmos.tasks.documents import clear_document, erase_document
from kosmos.tasks.entering import Source, enter, find_unchanged
from kosmos.tasks.pipeline import Result
from kosmos.tasks.web_sources import WebContent, web_source
from kosmos.tasks.workbench import Workbench

CRAWLING = "crawling"
TRIES = 3  # at one commit, where others add the same pages or collect garbage
MAX_NAMED = 50


def crawl_lane(crawl: Crawl) -> dict[str, Any]:
    """What all jobs of a crawl have in common: there is one at a time, and one for each host."""
    host = hashlib.sha256(host_of(crawl.start).encode()).hexdigest()[:32]
    return {"dedupe_key": f"{CRAWLING}:{crawl.id}", "lane": f"{CRAWLING}:{host}", "lane_limit": 1}


async def crawl_of(conn: AsyncConnection, space_id: str, context: Mapping[str, Any]) -> dict[str, Any]:
    """What a job is about whose context names a crawl of that space; NotFound when there is none."""
    crawl_id = str(context.get("crawl_id", ""))
    crawl = await crawls.get_crawl(conn, crawl_id) if storable(crawl_id) else None
    if crawl is None or crawl.space_id != space_id:
        raise NotFound("There is no such crawl in this space.", remedy="List them with: kosmos crawls list")
    return crawl_lane(crawl)


async def crawl_site(bench: Workbench, run: Run) -> Result:
    """Visit what is due until nothing is, then remove the documents of pages that are gone."""
    _check_patience(run)
    async with run.db.read() as conn:
        crawl = await crawls.get_crawl(conn, run.job.context["crawl_id"])
    if crawl is None:
        raise NotFound("The crawl of this job is gone.", remedy="Nothing to do.")
    plan = plan_of_json(crawl.plan)
    frontier = TableFrontier(run.db, crawl.id, write=run.batch)
    done, known = await open_round(run, crawl, plan, frontier)
    who = await initiator_of(bench, run.job)
    keeper = _Keeper(bench, run, who, crawl.space_id, plan, frontier, done, known)
    while True:
        end = await visit_pages(plan, frontier, fetcher=bench.fetcher, commit=keeper.commit, clock=run.clock)
        if end.ending is Ending.WAITING and end.until is not None:
            raise await _patience(run, end.until)
        if end.ending is not Ending.DONE or not await keeper.reopen():
            return await keeper.finish(end)


def _check_patience(run: Run) -> None:
    """A host that asked to be left alone is left alone, however often the job is looked at."""
    left = float(run.progress.get("not_before", 0.0)) - run.clock().timestamp()
    if left > 0:
        raise _not_yet(left)


async def _patience(run: Run, until: float) -> NotReady:
    async with run.batch({**run.progress, "not_before": until}):
        pass
    return _not_yet(until - run.clock().timestamp())


def _not_yet(seconds: float) -> NotReady:
    return NotReady(
        f"The site asks to be left alone for {max(seconds, 1):.0f} s; the crawl goes on by itself then.",
        seconds=max(seconds, 1.0),
    )


@dataclass(slots=True)
class _Keeper:
    """Writes what visits bring, and counts."""

    bench: Workbench
    run: Run
    who: Principal
    space_id: str
    plan: CrawlPlan
    frontier: TableFrontier
    done: int
    known: int

    async def commit(self, results: Sequence[PageResult]) -> None:
        """Write results and enter documents, all or nothing; the bytes are stored before."""
        settled = await self.frontier.settle(results)
        sources = [self._source(result) for result in results if result.page.state is State.KEPT]
        for left in reversed(range(TRIES)):
            new = await self._stored(sources)
            try:
                await self._write(settled, new)
                return
            except (Conflict, sa.exc.IntegrityError):
                # Somebody adds the same page, or collected the bytes before a row referred to them.
                if not left:
                    raise

    def _source(self, result: PageResult) -> Source:
        page = result.page
        content = WebContent(page.url, result.content, page.media_type, result.charset)
        return web_source(content, self.plan.profile)

    async def _stored(self, sources: Sequence[Source]) -> list[Source]:
        """Those whose bytes are not those of their document already; the bytes are in the blob store then."""
        hashed = [(hashlib.sha256(source.data).hexdigest(), source) for source in sources]
        new = []
        # In one order everywhere, so that nobody waits in a circle.
        for digest, source in sorted(hashed, key=lambda each: each[0]):
            if await find_unchanged(self.bench, self.space_id, source.origin, digest) is None:
                await self.bench.blobs.put(source.data)
                new.append(source)
        return new

    async def _write(self, settled: Settled, sources: Sequence[Source]) -> None:
        done, known = self.done + settled.done, self.known + settled.new
        jobs: list[str] = []
        async with self.run.batch(self._progress(done, known, entered=len(sources))) as conn:
            await self.frontier.put(conn, settled.rows)
            for source in sources:
                jobs += await self._enter(conn, source)
        self.done, self.known = done, known
        self.bench.wake(jobs)

    async def _enter(self, conn: AsyncConnection, source: Source) -> list[str]:
        registry = self.run.registry or Registry()
        added = await enter(self.bench, conn, source, who=self.who, space_id=self.space_id, registry=registry)
        return [job.id for job in added.jobs]

    def _progress(self, done: int, known: int, *, entered: int = 0) -> dict[str, Any]:
        """Where the crawl stands. A page that is opened again does not take back what was done."""
        before = self.run.progress
        return {
            "round": before["round"],
            "current_page": max(done, before.get("current_page", 0)),
            "total_pages": known,
            "entered": before.get("entered", 0) + entered,
            "removed": before.get("removed", 0),
        }

    async def reopen(self) -> bool:
        """Let pages be visited again whose content another one has lost; whether there are any."""
        pages = misled([page async for page in self.frontier.pages()])
        if pages:
            async with self.run.batch() as conn:
                fresh = [Page(page.url, depth=page.depth, referrer=page.referrer) for page in pages]
                await self.frontier.put(conn, fresh)
            self.done -= len(pages)
        return bool(pages)

    async def finish(self, end: CrawlEnd) -> Result:
        """End the round: say why when nothing came of it, else remove what the site no longer has."""
        rows = [page async for page in self.frontier.pages()]
        if not any(page.state in HELD for page in rows):
            raise self._nothing(rows)
        left_out = [
            replace(page, state=State.SKIPPED, reason=end.ending.value)
            for page in rows
            if page.state is State.PENDING
        ]
        async with self.run.batch(self._progress(self.done + len(left_out), self.known)) as conn:
            await self.frontier.put(conn, left_out)
        removed = await self._remove(withdrawn(rows))
        progress = self.run.progress
        return {
            "ending": end.ending.value,
            "round": progress["round"],
            "pages": progress["total_pages"],
            "kept": sum(page.state in HELD for page in rows),
            "entered": progress["entered"],
            "removed": progress["removed"],
            "removed_pages": removed[:MAX_NAMED],
        }

    def _nothing(self, rows: Sequence[Page]) -> FetchFailed | FetchRefused:
        """The error of a crawl that kept nothing, by what became of its start."""
        first = next((page for page in rows if page.depth == 0 and page.kind is Kind.PAGE), None)
        if first is None:
            return FetchFailed("There was nothing to visit.", remedy="Check the address.")
        reason = first.reason or (f"it leads to {first.target}" if first.target else first.state.value)
        kind = FetchRefused if first.state in {State.REFUSED, State.SKIPPED} else FetchFailed
        return kind(
            f"Nothing of {first.url} could be kept: {reason.rstrip('.')}.",
            remedy=f"See the report: kosmos crawls report {self.run.job.context['crawl_id']}",
        )

    async def _remove(self, urls: Sequence[str]) -> list[str]:
        """Remove the documents of these addresses; those that there were."""
        removed = []
        for url in urls:
            async with self.run.db.read() as conn:
                document = await documents.find_by_origin(conn, self.space_id, url)
            if document is None:
                continue
            progress = {**self.run.progress, "removed": self.run.progress["removed"] + 1}
            async with self.run.batch(progress) as conn:
                hashes = await erase_document(conn, document)
            await clear_document(self.bench, document, hashes)
            removed.append(url)
        return removed
