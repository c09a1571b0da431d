"""The frontier of a crawl in its table: whatever is written is fenced by the job that writes it."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.crawl import Kind, Page, PageResult, State
from kosmos.crawl.frontier import entered, renewed
from kosmos.db import Database, crawls

Write = Callable[[], AbstractAsyncContextManager[AsyncConnection]]
ROWS = 500  # written at once


@dataclass(frozen=True, slots=True)
class Settled:
    """Rows to write, and by how many they raise the number of pages known and done."""

    rows: tuple[Page, ...]
    new: int
    done: int


class TableFrontier:
    """The rows of one crawl. `write` opens a transaction that holds only while the caller's claim does."""

    def __init__(self, db: Database, crawl_id: str, *, write: Write) -> None:
        self._db = db
        self._id = crawl_id
        self._write = write

    async def add(self, pages: Sequence[Page]) -> None:
        """Enter unknown addresses."""
        settled = await self._entered({}, pages)
        if settled.rows:
            async with self._write() as conn:
                await self.put(conn, settled.rows)

    async def due(self, most: int, now: float) -> Sequence[Page]:
        """Rows whose time has come, best first."""
        async with self._db.read() as conn:
            return [as_page(row) for row in await crawls.due_pages(conn, self._id, most, now)]

    async def next_due(self) -> float | None:
        """When the earliest pending row is due."""
        async with self._db.read() as conn:
            return await crawls.next_due(conn, self._id)

    async def commit(self, results: Sequence[PageResult]) -> None:
        """Write rows and what they found."""
        settled = await self.settle(results)
        async with self._write() as conn:
            await self.put(conn, settled.rows)

    async def settle(self, results: Sequence[PageResult]) -> Settled:
        """The rows to write for results and what they found.

        Read outside of the transaction that writes them: nobody else writes while the claim holds.
        """
        mine = {result.page.url: result.page for result in results}
        return await self._entered(mine, [page for result in results for page in result.found])

    async def _entered(self, mine: Mapping[str, Page], found: Sequence[Page]) -> Settled:
        async with self._db.read() as conn:
            stored = await crawls.known_pages(conn, self._id, [page.url for page in found])
        known = {**{url: as_page(row) for url, row in stored.items()}, **mine}
        rows, new, done = dict(mine), 0, sum(is_done(page) for page in mine.values())
        for page in found:
            before = known.get(page.url)
            after = entered(before, page)
            if after is not before:
                known[page.url] = rows[page.url] = after
                new += before is None and page.kind is Kind.PAGE
                done += is_done(after) - (before is not None and is_done(before))
        return Settled(tuple(rows.values()), new, done)

    async def put(self, conn: AsyncConnection, pages: Iterable[Page]) -> None:
        """Write rows as they are."""
        rows = [as_row(page) for page in pages]
        for start in range(0, len(rows), ROWS):
            await crawls.put_pages(conn, self._id, rows[start : start + ROWS])

    async def pages(self) -> AsyncIterator[Page]:
        """Every row."""
        async with self._db.read() as conn:
            rows = await crawls.all_pages(conn, self._id)
        for row in rows:
            yield as_page(row)

    async def renew(self) -> None:
        """Begin another round."""
        async with self._write() as conn:
            before = [as_page(row) for row in await crawls.all_pages(conn, self._id)]
            await self.restart(conn, [page for page in map(renewed, before) if page is not None])

    async def restart(self, conn: AsyncConnection, pages: Iterable[Page]) -> None:
        """Put these rows in place of all others."""
        await crawls.clear_pages(conn, self._id)
        await self.put(conn, pages)


def is_done(page: Page) -> bool:
    """Whether a page is not waited for any more."""
    return page.kind is Kind.PAGE and page.state is not State.PENDING


def as_row(page: Page) -> dict[str, Any]:
    """A page as JSON that every engine can hold."""
    row = asdict(page)
    return {name: _storable(value) if isinstance(value, str) else value for name, value in row.items()}


def as_page(row: Mapping[str, Any]) -> Page:
    """A page as it was stored."""
    known = {**row, "kind": Kind(row["kind"]), "state": State(row["state"]), "links": tuple(row["links"])}
    return Page(**known)


def _storable(text: str) -> str:
    """What pages and servers say may hold anything."""
    return text.replace("\x00", "�").encode(errors="replace").decode()
