"""The rows of a crawl: entering, planning, renewing; and the pauses between requests."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kosmos.crawl import Kind, MemoryFrontier, Page, PageResult, State
from kosmos.crawl.frontier import entered, renewed
from kosmos.crawl.pacing import Pacer, retry_after

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ROW = st.builds(
    Page,
    url=st.sampled_from("abcdef"),
    state=st.sampled_from(State),
    depth=st.integers(0, 5),
    attempts=st.integers(0, 3),
)


@given(st.none() | ROW, ROW)
def test_entering_never_undoes_what_was_fetched(known: Page | None, new: Page) -> None:
    kept = entered(known, replace(new, state=State.PENDING))
    if known is None:
        assert kept.state is State.PENDING
    elif known.state not in {State.PENDING, State.SKIPPED}:
        assert kept == known
    else:
        assert kept.depth == min(known.depth, new.depth) or kept == known


def test_a_shorter_way_reopens_what_was_too_deep() -> None:
    deep = Page("a", state=State.SKIPPED, depth=9, reason="too deep")
    assert entered(deep, Page("a", depth=2)).state is State.PENDING
    assert entered(replace(deep, attempts=1), Page("a", depth=2)).state is State.SKIPPED


async def test_sitemaps_first_then_the_shallow_and_only_what_is_due() -> None:
    rows = [
        Page("c", depth=2),
        Page("b", depth=1),
        Page("late", due=99.0),
        Page("s", kind=Kind.SITEMAP, depth=3),
    ]
    frontier = MemoryFrontier(rows)
    assert [page.url for page in await frontier.due(10, 50.0)] == ["s", "b", "c"]
    assert [page.url for page in await frontier.due(1, 50.0)] == ["s"]
    await frontier.commit([PageResult(replace(row, state=State.KEPT)) for row in rows if row.url != "late"])
    assert await frontier.due(10, 50.0) == []
    assert await frontier.next_due() == 99.0


async def test_another_round_asks_with_what_is_known() -> None:
    kept = Page("k", state=State.KEPT, depth=1, etag='"1"', sha256="s", links=("x",), attempts=2, status=200)
    rows = [kept, Page("g", state=State.GONE, depth=1), Page("start", state=State.REDIRECT)]
    frontier = MemoryFrontier(rows)
    await frontier.renew()
    pages = {page.url: page async for page in frontier.pages()}
    assert pages["k"] == Page("k", depth=1, etag='"1"', sha256="s", links=("x",))
    assert set(pages) == {"k", "start"}
    assert pages["start"].state is State.PENDING
    alias = renewed(replace(kept, state=State.ALIAS))
    assert alias is not None
    assert alias.etag is None


class _Time:
    """A clock that sleeping moves."""

    def __init__(self) -> None:
        self.now = 100.0

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)
        self.now += seconds


async def test_requests_to_a_host_keep_their_distance() -> None:
    time = _Time()
    pacer = Pacer(1, now=lambda: time.now, sleep=time.sleep)
    begun: list[tuple[str, float]] = []

    async def ask(host: str) -> None:
        async with pacer.turn(host, 5.0):
            begun.append((host, time.now))

    for host in ("a", "a", "b", "a"):
        await ask(host)
    pacer.hold("b", 60.0)
    await ask("b")
    assert begun == [("a", 100.0), ("a", 105.0), ("b", 105.0), ("a", 110.0), ("b", 170.0)]


async def test_only_so_many_at_once() -> None:
    pacer, active, peak = Pacer(2), 0, 0

    async def ask() -> None:
        nonlocal active, peak
        async with pacer.turn("a", 0.0):
            active += 1
            peak = max(peak, active)
            await asyncio.sleep(0)
            active -= 1

    await asyncio.gather(*(ask() for _ in range(10)))
    assert peak == 2


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("7", 7.0),
        ("Thu, 01 Jan 2026 00:01:00 GMT", 60.0),
        ("Thu, 01 Jan 2020 00:00:00 GMT", 0.0),
        ("99999999999999", 86400.0),
        ("-5", None),
        ("soon", None),
        ("Thu, 01 Jan 2026 00:01:00", None),
        ("", None),
    ],
)
def test_how_long_to_wait(value: str, wanted: float | None) -> None:
    assert retry_after(value, NOW) == wanted
