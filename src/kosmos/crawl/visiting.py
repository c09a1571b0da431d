"""One visit: manners, pace, fetch, and what to do when it does not work at once."""

import asyncio
import logging
import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from kosmos.crawl.manners import Manners
from kosmos.crawl.pacing import Pacer, retry_after
from kosmos.crawl.pages import Kind, Page, PageResult, State
from kosmos.crawl.plans import CrawlPlan
from kosmos.crawl.reading import Reader
from kosmos.crawl.robots import Robots
from kosmos.crawl.urls import host_of
from kosmos.domain.clock import Clock
from kosmos.errors import FetchFailed, FetchRefused
from kosmos.net import Fetched, Fetcher, Validators

log = logging.getLogger(__name__)

_AGAIN = {408, 425, 429, 500, 502, 503, 504}
_LARGE = 2**18  # reading more would hold up the other visits
_BUSY = {429, 503}


@dataclass(frozen=True, slots=True)
class Visitor:
    """Visits pages of one crawl; every visit ends in a result."""

    plan: CrawlPlan
    fetcher: Fetcher
    manners: Manners
    pacer: Pacer
    reader: Reader
    clock: Clock
    jitter: Callable[[], float] = random.random

    async def visit(self, page: Page) -> PageResult:
        """Fetch a page and read it."""
        page = replace(page, attempts=page.attempts + 1, reason="", due=0.0)
        try:
            result = await self._asked(page)
        except FetchRefused as error:
            result = PageResult(replace(page, state=State.REFUSED, reason=error.message))
        except FetchFailed as error:
            result = self._failed(page, error)
        except Exception:
            # One page that cannot be read must not end the crawl.
            log.exception("A page could not be read: %s", page.url)
            result = PageResult(replace(page, state=State.FAILED, reason="cannot be read"))
        return replace(result, page=replace(result.page, fetched_at=self.clock().timestamp()))

    async def _asked(self, page: Page) -> PageResult:
        robots = await self.manners.of(page.url)
        if robots is None:
            return self._failed(page, FetchFailed("robots.txt cannot be read", retryable=True))
        if not robots.allows(page.url):
            return PageResult(replace(page, state=State.SKIPPED, reason="robots.txt"))
        async with self.pacer.turn(host_of(page.url), self._delay(robots)):
            answer = await self._fetch(page)
        if answer.status in _AGAIN:
            return self._put_off(page, answer)
        if answer.size < _LARGE:
            return self.reader.read(page, answer)
        return await asyncio.to_thread(self.reader.read, page, answer)

    async def _fetch(self, page: Page) -> Fetched:
        known = Validators(page.etag, page.last_modified)
        types = None if page.kind is Kind.SITEMAP else self.plan.profile.types
        return await self.fetcher.fetch(page.url, conditional=known, follow=False, types=types)

    def _delay(self, robots: Robots) -> float:
        pace = self.plan.pace
        return max(pace.delay, min(robots.delay or 0.0, pace.most_delay))

    def _put_off(self, page: Page, answer: Fetched) -> PageResult:
        page = replace(page, status=answer.status)
        asked = retry_after(answer.headers.get("retry-after", ""), self.clock())
        failure = FetchFailed(f"HTTP {answer.status}", retryable=True)
        result = self._failed(page, failure, asked)
        if answer.status in _BUSY:
            wait = asked if asked is not None else self._backoff(page)
            self.pacer.hold(host_of(page.url), min(wait, self.plan.pace.patience))
            result = replace(result, wait=wait)
        return result

    def _failed(self, page: Page, error: FetchFailed, asked: float | None = None) -> PageResult:
        """Another attempt later, if that can help and is not one too many."""
        if not error.retryable or page.attempts >= self.plan.pace.attempts:
            return PageResult(replace(page, state=State.FAILED, reason=error.message))
        wait = asked if asked is not None else self._backoff(page)
        return PageResult(replace(page, reason=error.message, due=self.clock().timestamp() + wait))

    def _backoff(self, page: Page) -> float:
        """Longer each time, and never all at once."""
        return self.plan.pace.backoff * float(2 ** (page.attempts - 1)) * (1 + self.jitter() / 4)
