"""Where the state of a crawl lives between visits, and between runs."""

import heapq
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import replace
from typing import Protocol

from kosmos.crawl.pages import Kind, Page, PageResult, State

_HELD = {State.KEPT, State.UNCHANGED, State.DUPLICATE, State.ALIAS, State.UNLISTED}
_FORGOTTEN = {State.GONE, State.SKIPPED, State.REFUSED, State.REDIRECT}


class Frontier(Protocol):
    """The rows of one crawl. Pages under way stay PENDING: who dies repeats them, and nothing else."""

    async def add(self, pages: Sequence[Page]) -> None:
        """Enter unknown addresses; `entered` says what becomes of known ones."""

    async def due(self, most: int, now: float) -> Sequence[Page]:
        """PENDING rows whose time has come: sitemaps first, then by depth, in the order they were entered."""

    async def next_due(self) -> float | None:
        """When the earliest PENDING row is due; None when there is none."""

    async def commit(self, results: Sequence[PageResult]) -> None:
        """Write the rows of the results and enter what they found, all or nothing."""

    def pages(self) -> AsyncIterator[Page]:
        """Every row."""

    async def renew(self) -> None:
        """Begin another round over what is known; see `renewed`."""


def entered(known: Page | None, new: Page) -> Page:
    """The row to keep when an address is found (again): a shorter way can reopen what was too deep."""
    if known is None or (known.state is State.ALIAS and reopens(known.target, new)):
        return new
    if new.depth >= known.depth:
        return known
    if known.state is State.PENDING:
        return replace(known, depth=new.depth, referrer=new.referrer)
    return new if known.state is State.SKIPPED and not known.attempts else known


def reopens(canonical: str | None, new: Page) -> bool:
    """Whether a page is sent back to by a redirect of the very address it calls canonical."""
    return canonical is not None and new.hops > 0 and new.referrer == canonical


def renewed(page: Page) -> Page | None:
    """The row with which another round begins; None when the address has to be found anew."""
    if page.state in _FORGOTTEN and page.depth > 0:
        return None
    fresh = Page(page.url, kind=page.kind, depth=page.depth, referrer=page.referrer)
    if page.state not in _HELD:
        return fresh
    # With its links kept, a page that has not changed need not be read to know where it leads.
    held = page.state in {State.KEPT, State.UNCHANGED}
    return replace(
        fresh,
        sha256=page.sha256 if held else "",  # whose content it was last time is whose it is again
        size=page.size,
        title=page.title,
        media_type=page.media_type,
        etag=page.etag if held else None,
        last_modified=page.last_modified if held else None,
        links=page.links,
    )


class MemoryFrontier:
    """A frontier without a database: for small crawls, and for tests."""

    def __init__(self, pages: Iterable[Page] = ()) -> None:
        self._pages: dict[str, Page] = {}
        self._pending: dict[str, Page] = {}
        for page in pages:
            self._write(page)

    async def add(self, pages: Sequence[Page]) -> None:
        """Enter unknown addresses."""
        for page in pages:
            self._write(entered(self._pages.get(page.url), page))

    async def due(self, most: int, now: float) -> Sequence[Page]:
        """Rows whose time has come, best first."""
        ready = (page for page in self._pending.values() if page.due <= now)
        return heapq.nsmallest(most, ready, key=lambda page: (page.kind is Kind.PAGE, page.depth))

    async def next_due(self) -> float | None:
        """When the earliest PENDING row is due."""
        return min((page.due for page in self._pending.values()), default=None)

    async def commit(self, results: Sequence[PageResult]) -> None:
        """Write rows and what they found."""
        for result in results:
            self._write(result.page)
        await self.add([page for result in results for page in result.found])

    async def pages(self) -> AsyncIterator[Page]:
        """Every row."""
        for page in tuple(self._pages.values()):
            yield page

    async def renew(self) -> None:
        """Begin another round."""
        again = [renewed(page) for page in self._pages.values()]
        self._pages, self._pending = {}, {}
        for page in again:
            if page is not None:
                self._write(page)

    def _write(self, page: Page) -> None:
        self._pages[page.url] = page
        self._pending.pop(page.url, None)
        if page.state is State.PENDING:
            self._pending[page.url] = page
