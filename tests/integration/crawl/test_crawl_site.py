"""A whole crawl over real HTTP: the right pages, each once, none of the forbidden ones."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import pytest

from kosmos.crawl import (
    CrawlEnd,
    CrawlLimits,
    CrawlPlan,
    MemoryFrontier,
    Pace,
    Page,
    PageResult,
    State,
    analyse,
    crawl,
    draw,
)
from kosmos.crawl.crawler import Ending
from kosmos.net import Fetcher, Limits, Policy

from .hard_site import HOST, ROOT, Site

AGAIN = {"/docs/busy": 2, "/docs/flaky": 2, "/docs/down": 3, "/robots.txt": 3}
PLAN = CrawlPlan(
    (ROOT,),
    # The refused ones are made part of the crawl, so that only the way out can refuse them.
    prefixes=(ROOT, "http://127.0.0.1:9/", "http://169.254.169.254/", "http://inside.test/"),
    pace=Pace(concurrency=8, per_host=8, delay=0.0, attempts=3, backoff=0.01),
    limits=CrawlLimits(depth=9),
)


class Store:
    """Documents and frontier, changed together."""

    def __init__(self, frontier: MemoryFrontier) -> None:
        self.frontier = frontier
        self.contents: dict[str, bytes] = {}
        self.committed: list[str] = []
        self.hook: Any = None

    async def commit(self, results: Sequence[PageResult]) -> None:
        await self.frontier.commit(results)
        for result in results:
            self.committed.append(result.page.url)
            if result.page.state is State.KEPT:
                assert result.content
                self.contents[result.page.url] = result.content
            else:
                assert not result.content
        if self.hook:
            self.hook(self)

    async def reopened(self) -> "Store":
        """The same after a restart: nothing but rows as a table would hold them."""
        rows = [json.loads(json.dumps(asdict(page))) async for page in self.frontier.pages()]
        made = Store(MemoryFrontier([_row(row) for row in rows]))
        made.contents, made.committed = self.contents, self.committed
        return made

    async def rows(self) -> dict[str, Page]:
        return {page.url: page async for page in self.frontier.pages()}


def _row(data: dict[str, Any]) -> Page:
    page = Page(**{**data, "links": tuple(data["links"])})
    return replace(page, kind=type(Page("").kind)(page.kind), state=State(page.state))


async def run(
    site: Site, store: Store, plan: CrawlPlan = PLAN, stop: asyncio.Event | None = None
) -> CrawlEnd:
    policy = Policy(limits=Limits(content_bytes=10**6, seconds=10))
    async with Fetcher(policy, resolver=site.resolve, dial=site.dial) as fetcher:
        return await crawl(plan, store.frontier, fetcher=fetcher, commit=store.commit, stop=stop)


def check_contents(store: Store, documents: frozenset[str]) -> None:
    kept = {url.removeprefix(f"http://{HOST}") for url in store.contents}
    assert documents <= kept
    others = {path for path in kept - documents if "/calendar/" not in path}
    assert len(others) == 1
    assert others < {f"/docs/dup/{number}" for number in (1, 2, 3)}


async def test_the_whole_site(site: Site, documents: frozenset[str]) -> None:
    store = Store(MemoryFrontier())
    end = await run(site, store)
    assert (end.ending, end.until) == (Ending.DONE, None)
    check_contents(store, documents)
    rows = await store.rows()
    states = {url.removeprefix(ROOT): page.state for url, page in rows.items()}
    wanted = {
        "moved/3": State.REDIRECT,
        "loop/a": State.REDIRECT,
        "loop/b": State.REDIRECT,
        "chain/5": State.REDIRECT,
        "chain/6": State.SKIPPED,
        "private/secret": State.SKIPPED,
        "tool.cgi": State.SKIPPED,
        "missing": State.GONE,
        "down": State.FAILED,
        "forbidden": State.FAILED,
        "bomb": State.FAILED,
        "canon/print": State.ALIAS,
        "away": State.REDIRECT,
        "http://127.0.0.1:9/docs/": State.REFUSED,
        "http://169.254.169.254/latest/": State.REFUSED,
        "http://inside.test/docs/": State.REFUSED,
        "picture": State.SKIPPED,
        "empty": State.SKIPPED,
        "noindex": State.UNLISTED,
        "refresh": State.REDIRECT,
        "calendar/2024/9": State.KEPT,
        "calendar/2024/10": State.SKIPPED,
        f"http://{HOST}/sitemap-1.xml.gz": State.READ,
    }
    assert {name: states.get(name) for name in wanted} == wanted
    assert sorted(states[f"dup/{number}"] for number in (1, 2, 3)) == ["duplicate", "duplicate", "kept"]
    asked_twice = {path: count for path, count in site.asked.items() if count > 1}
    assert asked_twice == {path: count for path, count in AGAIN.items() if path != "/robots.txt"}
    never = {
        "/docs/hidden",
        "/docs/private/secret",
        "/docs/tool.cgi",
        "/docs/logo.png",
        "/blog/",
        "/docs/chain/6",
    }
    assert not never & set(site.asked)
    assert all(agent.startswith("Kosmos/") for agent in site.agents)
    assert store.contents[f"{ROOT}packed"].startswith(b"<html>")


async def test_private_addresses_are_refused_before_any_connection(site: Site) -> None:
    store = Store(MemoryFrontier())
    await run(site, store)
    assert set(site.dialled) == {("93.184.216.34", 80)}
    assert set(site.lookups) == {HOST, "inside.test"}
    rows = await store.rows()
    assert (
        "loopback" in rows["http://127.0.0.1:9/docs/"].reason
        or "port 9" in rows["http://127.0.0.1:9/docs/"].reason
    )
    assert "metadata" in rows["http://169.254.169.254/latest/"].reason
    assert "10.0.0.1" in rows["http://inside.test/docs/"].reason


async def test_stopped_twice_and_resumed_no_page_is_fetched_twice(
    site: Site, documents: frozenset[str]
) -> None:
    store = Store(MemoryFrontier())
    for number in (60, 200):
        stop = asyncio.Event()
        store.hook = lambda each, stop=stop, number=number: len(each.committed) >= number and stop.set()
        assert (await run(site, store, stop=stop)).ending is Ending.STOPPED
        assert len(store.committed) < 330
        store = await store.reopened()
    assert (await run(site, store)).ending is Ending.DONE
    check_contents(store, documents)
    assert {path: count for path, count in site.asked.items() if count > 1} == AGAIN


async def test_cancelled_twice_only_visits_under_way_are_repeated(
    site: Site, documents: frozenset[str]
) -> None:
    store = Store(MemoryFrontier())
    repeated = set()
    for number in (50, 150):
        task = asyncio.create_task(run(site, store))
        store.hook = lambda each, task=task, number=number: len(each.committed) >= number and task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        done = {url for url, page in (await store.rows()).items() if page.state is not State.PENDING}
        repeated |= {path for path in site.asked if f"http://{HOST}{path}" not in done}
        store = await store.reopened()
    assert (await run(site, store)).ending is Ending.DONE
    check_contents(store, documents)
    twice = {path for path, count in site.asked.items() if count > AGAIN.get(path, 1)}
    assert twice <= repeated
    assert len(twice) <= 2 * PLAN.pace.concurrency


async def test_a_failing_commit_ends_the_run_and_loses_nothing(site: Site, documents: frozenset[str]) -> None:
    store = Store(MemoryFrontier())

    def fenced(each: Store) -> None:
        if len(each.committed) >= 40:
            raise RuntimeError("somebody else has the job")

    store.hook = fenced
    with pytest.raises(RuntimeError):
        await run(site, store)
    store = await store.reopened()
    assert (await run(site, store)).ending is Ending.DONE
    check_contents(store, documents)


async def test_another_round_fetches_only_what_changed(site: Site, documents: frozenset[str]) -> None:
    store = Store(MemoryFrontier())
    await run(site, store)
    store = await store.reopened()
    await store.frontier.renew()
    store.contents, site.version = {}, "2"
    site.conditions.clear()
    assert (await run(site, store)).ending is Ending.DONE
    rows = await store.rows()
    unchanged = {url for url, page in rows.items() if page.state is State.UNCHANGED}
    assert unchanged == {f"{ROOT}s1/{name}" for name in ["", *(f"p{n}/" for n in range(30) if n != 7)]}
    assert len(site.conditions) == 30
    assert store.contents[f"{ROOT}s1/p7/"].endswith(b"s1 p7 2")
    assert not unchanged & set(store.contents)
    assert {page.url for page in rows.values() if page.state is State.REFUSED}


@pytest.mark.parametrize(
    ("limits", "ending"),
    [
        (CrawlLimits(pages=25), Ending.PAGE_LIMIT),
        (CrawlLimits(bytes=5000), Ending.BYTE_LIMIT),
        (CrawlLimits(depth=1), Ending.DONE),
        (CrawlLimits(alike=20, depth=9), Ending.DONE),
    ],
)
async def test_limits(site: Site, limits: CrawlLimits, ending: Ending) -> None:
    store = Store(MemoryFrontier())
    end = await run(site, store, replace(PLAN, limits=limits))
    assert end.ending is ending
    rows = await store.rows()
    asked = [
        page
        for page in rows.values()
        if page.state not in {State.PENDING, State.SKIPPED} and page.kind == "page"
    ]
    assert len(asked) <= limits.pages
    assert all(page.depth <= limits.depth for page in asked)
    if limits.alike == 20:
        assert rows[f"{ROOT}s3/p29/"].reason == "too many alike"
    if ending is Ending.PAGE_LIMIT:
        assert (await run(site, await store.reopened())).ending is Ending.DONE


async def test_a_long_wait_ends_the_run_until_then(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    from kosmos.crawl import visiting

    monkeypatch.setattr(visiting, "retry_after", lambda value, now: 3600.0 if value else None)
    store = Store(MemoryFrontier())
    end = await run(site, store)
    rows = await store.rows()
    busy = rows[f"{ROOT}busy"]
    assert end.ending is Ending.WAITING
    assert end.until is not None
    assert abs(end.until - busy.due) < 1
    assert (busy.state, busy.attempts, busy.status) == (State.PENDING, 1, 429)


async def test_the_report_of_the_site(site: Site) -> None:
    store = Store(MemoryFrontier())
    await run(site, store)
    report = analyse((await store.rows()).values())
    broken = {each.url: each for each in report.broken}
    assert broken[f"{ROOT}missing"].referred == 301
    assert report.loops == ((f"{ROOT}loop/a", f"{ROOT}loop/b"),)
    assert len(report.duplicates) == 3
    assert report.lost == ()
    assert report.statuses["404"] == 1
    assert report.retried == 3
    assert report.ignored["nofollow"] == 1
    assert report.skipped["robots.txt"].count == 2
    assert json.loads(json.dumps(report.as_dict()))["states"]["kept"] == report.states["kept"]
    assert "s3" in draw(report)
