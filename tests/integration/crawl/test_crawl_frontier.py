"""The frontier in a table does what the one in memory does, whatever is found in whatever order."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.crawl import Kind, MemoryFrontier, Page, PageResult, State
from kosmos.db import crawls
from kosmos.db.crawls import Crawl
from kosmos.domain.ids import new_id
from kosmos.tasks.crawl_frontier import TableFrontier, as_page, as_row

from .crawl_scene import CrawlScene

URLS = st.sampled_from([f"http://a.test/{number}" for number in range(8)])
PAGES = st.builds(
    Page,
    url=URLS,
    kind=st.sampled_from(Kind),
    state=st.sampled_from([State.PENDING, State.PENDING, State.SKIPPED]),
    depth=st.integers(0, 3),
    hops=st.integers(0, 1),
    referrer=st.none() | URLS,
    due=st.sampled_from([0.0, 5.0]),
)
ENDS = st.sampled_from([State.KEPT, State.GONE, State.PENDING, State.ALIAS, State.DUPLICATE, State.FAILED])


@st.composite
def results(draw: st.DrawFn) -> PageResult:
    target = draw(st.none() | URLS)
    done = Page(draw(URLS), state=draw(ENDS), depth=draw(st.integers(0, 3)), target=target, attempts=1)
    return PageResult(done, tuple(draw(st.lists(PAGES, max_size=4))))


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.lists(PAGES, max_size=4)),
        st.tuples(st.just("commit"), st.lists(results(), max_size=3, unique_by=lambda each: each.page.url)),
        st.just(("renew", None)),
    ),
    max_size=6,
)


async def table_frontier(scene: CrawlScene) -> TableFrontier:
    db, now, crawl_id = scene.bench.db, scene.bench.clock(), new_id()
    async with db.write() as conn:
        await crawls.insert_crawl(conn, Crawl(crawl_id, scene.space_id, "http://a.test/", {}, 0, now, now))

    @asynccontextmanager
    async def write() -> AsyncIterator[AsyncConnection]:
        async with db.write() as conn:
            yield conn

    return TableFrontier(db, crawl_id, write=write)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
async def test_both_frontiers_agree(scene: CrawlScene, steps: list[tuple[str, Any]]) -> None:
    table, memory = await table_frontier(scene), MemoryFrontier()
    for name, given_ in steps:
        for frontier in (table, memory):
            await getattr(frontier, name)(*([] if given_ is None else [given_]))
        rows = {page.url: page async for page in table.pages()}
        assert rows == {page.url: page async for page in memory.pages()}
        assert await table.next_due() == await memory.next_due()
        for now in (0.0, 9.0):
            due = [page.url for page in await table.due(8, now)]
            assert set(due) == {page.url for page in await memory.due(8, now)}
            places = [(rows[url].kind is Kind.PAGE, rows[url].depth) for url in due]
            assert places == sorted(places)


@pytest.mark.parametrize("odd", ["\x00", "\ud800", "a\x00\udfffb"])
def test_a_row_holds_only_what_can_be_stored(odd: str) -> None:
    row = as_row(Page("http://a.test/", title=odd, reason=odd, links=("http://a.test/b",), ignored={"x": 1}))
    assert "\x00" not in row["title"] + row["reason"]
    assert (row["title"] + row["reason"]).encode()
    assert as_page(row).links == ("http://a.test/b",)
