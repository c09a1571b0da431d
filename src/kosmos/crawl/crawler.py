"""The crawl: plan, visit, settle, commit, until nothing is left or a limit is reached."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from kosmos.crawl.frontier import Frontier, reopens
from kosmos.crawl.manners import Manners
from kosmos.crawl.pacing import Pacer
from kosmos.crawl.pages import Kind, Page, PageResult, State
from kosmos.crawl.plans import CrawlPlan, Scope
from kosmos.crawl.reading import Reader
from kosmos.crawl.urls import host_of, shape_of
from kosmos.crawl.visiting import Visitor
from kosmos.domain.clock import Clock, system_clock
from kosmos.net import Fetcher

Commit = Callable[[Sequence[PageResult]], Awaitable[None]]

_UNASKED = {State.PENDING, State.SKIPPED}


class Ending(StrEnum):
    """Why a run ended."""

    DONE = "done"
    STOPPED = "stopped"
    WAITING = "waiting"  # a host asks to be left alone for longer than a run should wait
    PAGE_LIMIT = "page limit"
    BYTE_LIMIT = "byte limit"


@dataclass(frozen=True, slots=True)
class CrawlEnd:
    """How a run ended; `until` says when WAITING is over, in seconds since 1970."""

    ending: Ending
    visited: int
    until: float | None = None


async def crawl(
    plan: CrawlPlan,
    frontier: Frontier,
    *,
    fetcher: Fetcher,
    commit: Commit | None = None,
    stop: asyncio.Event | None = None,
    clock: Clock = system_clock,
) -> CrawlEnd:
    """Crawl from where the frontier stands.

    `commit` stores results instead of the frontier alone, in one transaction with it if it likes; what it
    has stored is never fetched again. `stop` ends the run after the visits under way; cancelling the
    task ends it at once, and those visits are repeated next time.
    """
    run = _Run(plan, frontier, _visitor(plan, fetcher, clock), commit or frontier.commit, clock)
    try:
        return await run.go(stop or asyncio.Event())
    finally:
        await run.abandon()


def _visitor(plan: CrawlPlan, fetcher: Fetcher, clock: Clock) -> Visitor:
    manners = Manners(fetcher, clock, obeyed=plan.robots)
    return Visitor(plan, fetcher, manners, Pacer(plan.pace.per_host), Reader(plan, Scope(plan)), clock)


@dataclass(slots=True)
class _Run:
    plan: CrawlPlan
    frontier: Frontier
    visitor: Visitor
    commit: Commit
    clock: Clock
    depths: dict[str, int] = field(default_factory=dict)  # of every known address
    contents: dict[str, str] = field(default_factory=dict)  # sha256 → the first address that had it
    holders: dict[str, str] = field(default_factory=dict)  # address → the content it had last round
    aliases: dict[str, str] = field(default_factory=dict)  # address → the canonical one it names
    shapes: Counter[str] = field(default_factory=Counter)
    asked: int = 0
    bytes: int = 0
    visited: int = 0
    until: float | None = None
    under_way: dict[asyncio.Task[PageResult], str] = field(default_factory=dict)

    async def go(self, stop: asyncio.Event) -> CrawlEnd:
        await self._recall()
        await self._seed()
        while True:
            ending = self._reached(stop)
            if ending is None:
                await self._start()
            if self.under_way:
                await self._harvest()
            elif ending is not None or (ending := await self._idle(stop)) is not None:
                return await self._ended(ending)

    async def _ended(self, ending: Ending) -> CrawlEnd:
        over = await self.frontier.next_due() is None
        return CrawlEnd(Ending.DONE if over else ending, self.visited, self.until)

    async def abandon(self) -> None:
        """Give up the visits under way."""
        for task in self.under_way:
            task.cancel()
        await asyncio.gather(*self.under_way, return_exceptions=True)

    async def _recall(self) -> None:
        async for page in self.frontier.pages():
            self._remember(page)
            self._count(page)
            if page.state in {State.KEPT, State.UNCHANGED}:
                self.contents[page.sha256] = page.url
            elif page.state is State.PENDING and page.sha256:
                self.holders[page.url] = page.sha256
                self.contents.setdefault(page.sha256, page.url)
            if page.state is State.ALIAS and page.target:
                self.aliases[page.url] = page.target

    async def _seed(self) -> None:
        starts = self.visitor.reader.scope.starts
        seeds = [Page(url) for url in starts]
        if self.plan.profile.sitemaps:
            seeds += [Page(url, kind=Kind.SITEMAP) for url in await self._sitemaps(starts)]
        new = [page for page in seeds if page.url not in self.depths]
        for page in new:
            self._remember(page)
        await self.frontier.add(new)

    async def _sitemaps(self, starts: Sequence[str]) -> list[str]:
        """Those that robots.txt names, else the usual place."""
        found: dict[str, None] = {}
        for origin in dict.fromkeys(start.partition("://")[0] + "://" + host_of(start) for start in starts):
            robots = await self.visitor.manners.of(f"{origin}/")
            named = (
                [self.visitor.reader.scope.canonical(text, origin) for text in robots.sitemaps]
                if robots
                else []
            )
            mine = [url for url in named if url and host_of(url) == host_of(origin)]
            found.update(dict.fromkeys(mine or [f"{origin}/sitemap.xml"]))
        return list(found)

    def _reached(self, stop: asyncio.Event) -> Ending | None:
        if stop.is_set():
            return Ending.STOPPED
        if self.until is not None:
            return Ending.WAITING
        if self.asked >= self.plan.limits.pages:
            return Ending.PAGE_LIMIT
        return Ending.BYTE_LIMIT if self.bytes >= self.plan.limits.bytes else None

    async def _start(self) -> None:
        """Begin visits, as many as may be under way."""
        free = min(
            self.plan.pace.concurrency - len(self.under_way), self.plan.limits.pages - self._committed()
        )
        if free <= 0:
            return
        busy = set(self.under_way.values())
        due = await self.frontier.due(free + len(busy), self.clock().timestamp())
        for page in [page for page in due if page.url not in busy][:free]:
            self.under_way[asyncio.create_task(self.visitor.visit(page))] = page.url

    def _committed(self) -> int:
        """Pages asked for already, and those that will be."""
        return self.asked + len(self.under_way)

    async def _harvest(self) -> None:
        done, _ = await asyncio.wait(self.under_way, return_when=asyncio.FIRST_COMPLETED)
        results = [self._settled(task.result()) for task in done]
        await self.commit(results)
        for task in done:
            del self.under_way[task]
        self.visited += len(results)
        for result in results:
            self._count(result.page)

    async def _idle(self, stop: asyncio.Event) -> Ending | None:
        """Nothing is due and nothing under way: the end, or a pause until something is due."""
        due = await self.frontier.next_due()
        if due is None:
            return Ending.DONE
        wait = due - self.clock().timestamp()
        if wait > self.plan.pace.patience:
            self.until = due
            return Ending.WAITING
        try:
            async with asyncio.timeout(max(wait, 0.0)):
                await stop.wait()
        except TimeoutError:
            pass
        return None

    def _settled(self, result: PageResult) -> PageResult:
        """Compare a result with what is known of the whole crawl."""
        if result.wait > self.plan.pace.patience:
            self.until = max(self.until or 0.0, self.clock().timestamp() + result.wait)
        result = self._own_address(result)
        page = result.page
        self._let_go(page)
        if page.state is State.KEPT:
            first = self.contents.setdefault(page.sha256, page.url)
            if first != page.url:
                # The same bytes name the same links; relative ones would only go round in circles.
                return PageResult(replace(page, state=State.DUPLICATE, target=first, links=()))
        return replace(result, found=tuple(self._news(result.found)))

    def _let_go(self, page: Page) -> None:
        """A page that has something else by now no longer holds what it had in the last round."""
        before = self.holders.get(page.url)
        same = page.state is State.KEPT and page.sha256 == before
        still = same or page.state in {State.PENDING, State.UNCHANGED}
        if before is not None and not still and self.contents.get(before) == page.url:
            del self.contents[before]

    def _own_address(self, result: PageResult) -> PageResult:
        """Of pages that name each other as canonical, the last keeps its content: somebody has to."""
        page = result.page
        if page.state is not State.ALIAS or page.target is None:
            return result
        if self._leads_to(page.target, page.url):
            return replace(result, page=replace(page, state=State.KEPT, target=None))
        self.aliases[page.url] = page.target
        return replace(result, content=b"")

    def _leads_to(self, url: str, end: str) -> bool:
        seen: set[str] = set()
        while url not in seen and url != end:
            seen.add(url)
            url = self.aliases.get(url, url)
        return url == end

    def _news(self, found: Sequence[Page]) -> Iterator[Page]:
        """The addresses that are new, found by a shorter way, or sent back to by their canonical one."""
        for page in found:
            known = self.depths.get(page.url)
            if known is None or page.depth < known or reopens(self.aliases.get(page.url), page):
                new = self._checked(page) if known is None else page
                self._remember(new)
                yield new

    def _checked(self, page: Page) -> Page:
        """Calendars and the like never end: their pages differ in numbers only."""
        alike = self.shapes[shape_of(page.url)]
        if page.kind is Kind.SITEMAP or page.state is not State.PENDING or alike < self.plan.limits.alike:
            return page
        return replace(page, state=State.SKIPPED, reason="too many alike", attempts=1)

    def _remember(self, page: Page) -> None:
        if page.url not in self.depths:
            self.shapes[shape_of(page.url)] += 1
        self.depths[page.url] = page.depth

    def _count(self, page: Page) -> None:
        if page.state not in _UNASKED and page.kind is Kind.PAGE:
            self.asked += 1
            self.bytes += page.size
