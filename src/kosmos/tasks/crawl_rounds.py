"""The rounds of a crawl: how one begins or goes on, and what it leaves behind when it ends."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from kosmos.crawl import CrawlPlan, Kind, Page, State
from kosmos.crawl.frontier import renewed
from kosmos.crawl.plans import Scope
from kosmos.db import crawls, documents
from kosmos.db.crawls import Crawl
from kosmos.domain.documents import Document, DocumentStatus
from kosmos.errors import Conflict
from kosmos.jobs.run import Run
from kosmos.tasks.crawl_frontier import TableFrontier, is_done

HELD = frozenset({State.KEPT, State.UNCHANGED})
ELSEWHERE = frozenset({State.REDIRECT, State.ALIAS, State.DUPLICATE})
WITHDRAWN = frozenset({State.GONE, State.UNLISTED})


async def open_round(run: Run, crawl: Crawl, plan: CrawlPlan, frontier: TableFrontier) -> tuple[int, int]:
    """Go on with the round of a job, or begin one; how many pages are done, and how many known.

    What an earlier job left open is done first. A round in which nothing was kept is not gone on with.
    """
    begun = run.progress.get("round")
    if begun is not None and begun != crawl.round:
        raise Conflict(
            f"Round {crawl.round} of this crawl has begun since.", remedy="Crawl the site again instead."
        )
    before = [page async for page in frontier.pages()]
    waiting = any(page.state is State.PENDING for page in before)
    if begun is None or (before and not waiting and not any(page.state in HELD for page in before)):
        before = await _begin(run, crawl, plan, frontier, before, goes_on=waiting)
    return sum(map(is_done, before)), sum(page.kind is Kind.PAGE for page in before)


async def _begin(
    run: Run, crawl: Crawl, plan: CrawlPlan, frontier: TableFrontier, before: list[Page], *, goes_on: bool
) -> list[Page]:
    """Write the rows with which a job begins; they are what the plan of today wants."""
    number = crawl.round if goes_on else crawl.round + 1
    scope = Scope(plan)
    if goes_on:
        rows = [_within(page, plan, scope) for page in before]
    else:
        rows = _renewed(before, plan, scope, known=await _known_documents(run, crawl.space_id))
    known = {page.url for page in rows}
    rows += [Page(url) for url in scope.starts if url not in known]
    async with run.restart({"round": number, "current_page": 0, "total_pages": len(rows)}) as conn:
        await frontier.restart(conn, rows)
        await crawls.update_crawl(conn, crawl.id, {"round": number}, run.clock())
    return rows


def _renewed(
    before: Iterable[Page], plan: CrawlPlan, scope: Scope, *, known: Mapping[str, Document]
) -> list[Page]:
    """The rows of another round: without what the plan no longer wants; what is not there is read anew."""
    rows = []
    for page in before:
        fresh = renewed(page)
        if fresh is None or _within(fresh, plan, scope) is not fresh:
            continue
        document = known.get(page.url)
        if document is None or document.original_sha256 != page.sha256:
            fresh = replace(fresh, etag=None, last_modified=None)
        rows.append(fresh)
    return rows


def _within(page: Page, plan: CrawlPlan, scope: Scope) -> Page:
    """The row, left out if it waits and the plan of today does not want it."""
    if page.kind is Kind.SITEMAP or page.depth == 0 or page.state is not State.PENDING:
        return page
    objection = scope.objection(page.url) or ("too deep" if page.depth > plan.limits.depth else None)
    return replace(page, state=State.SKIPPED, reason=objection) if objection else page


async def _known_documents(run: Run, space_id: str) -> dict[str, Document]:
    """The documents of a space that are complete and not being changed, by where they came from."""
    found: dict[str, Document] = {}
    after = ""
    async with run.db.read() as conn:
        while batch := await documents.list_documents(conn, space_id, after=after, limit=1000):
            after = batch[-1].id
            found.update({item.origin: item for item in batch if _is_whole(item)})
    return found


def _is_whole(document: Document) -> bool:
    return document.status is DocumentStatus.READY and document.draft_generation is None


def misled(rows: Iterable[Page]) -> list[Page]:
    """Duplicates of what another page had in the last round and no longer has: to be visited again."""
    pages = {page.url: page for page in rows}
    found = [page for page in pages.values() if page.state is State.DUPLICATE]
    return [page for page in found if not _has(pages.get(page.target or ""), page.sha256)]


def _has(page: Page | None, sha256: str) -> bool:
    return page is not None and page.state in HELD and page.sha256 == sha256


def withdrawn(rows: Iterable[Page]) -> list[str]:
    """The addresses that no longer have content of their own: gone, unlisted, or held under another one."""
    pages = {page.url: page for page in rows if page.kind is Kind.PAGE}
    return [
        page.url
        for page in pages.values()
        if page.state in WITHDRAWN or (page.state in ELSEWHERE and _is_held(page, pages))
    ]


def _is_held(page: Page, pages: Mapping[str, Page]) -> bool:
    """Whether the ways that lead away from a page end at one with content."""
    seen: set[str] = set()
    while page.state in ELSEWHERE and page.url not in seen:
        seen.add(page.url)
        page = pages.get(page.target or "", page)
    return page.state in HELD
