"""The course of a crawl over scripted answers: canonical circles, conditions, manners, endings."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import pytest

from kosmos.crawl import CrawlLimits, CrawlPlan, MemoryFrontier, Pace, State, crawl
from kosmos.crawl.crawler import Ending
from kosmos.crawl.profiles import GENERIC
from kosmos.errors import FetchFailed
from kosmos.net import Fetched, Fetcher, Validators

SITE = "http://a.example"
PLAN = CrawlPlan(
    (f"{SITE}/",),
    profile=replace(GENERIC, sitemaps=False),
    pace=Pace(concurrency=1, delay=0.0, attempts=2, backoff=0.0),
)


def html(*links: str, canonical: str = "", text: str = "") -> tuple[int, dict[str, str], bytes]:
    head = f"<link rel=canonical href={canonical}>" if canonical else ""
    body = "".join(f"<a href={link}>x</a>" for link in links)
    return 200, {"content-type": "text/html", "etag": '"1"'}, f"<head>{head}</head>{body}{text}".encode()


def moved(place: str) -> tuple[int, dict[str, str], bytes]:
    return 301, {"location": place}, b""


class Script(Fetcher):
    """Answers from a dictionary of paths."""

    def __init__(self, answers: Mapping[str, tuple[int, dict[str, str], bytes]]) -> None:
        super().__init__()
        self.answers = dict(answers)
        self.asked: Counter[str] = Counter()

    async def fetch(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        conditional: Validators | None = None,
        follow: bool = True,
        types: tuple[str, ...] | None = None,
    ) -> Fetched:
        path = url.removeprefix(SITE)
        self.asked[path] += 1
        if path not in self.answers and path == "/broken":
            raise FetchFailed("broken", retryable=True)
        status, fields, body = self.answers.get(path, (404, {}, b""))
        if status == 200 and conditional and conditional.etag == fields.get("etag"):
            status, body = 304, b""
        return Fetched(url, status, fields, body, len(body), len(body), f"{hash(body):x}")


async def states(
    fetcher: Script, plan: CrawlPlan = PLAN, frontier: MemoryFrontier | None = None
) -> dict[str, State]:
    frontier = frontier or MemoryFrontier()
    end = await crawl(plan, frontier, fetcher=fetcher)
    assert end.ending is Ending.DONE
    return {page.url.removeprefix(SITE): page.state async for page in frontier.pages()}


async def test_pages_that_call_each_other_canonical_do_not_both_vanish() -> None:
    script = Script(
        {"/": html("a"), "/a": html(canonical="/b", text="A"), "/b": html(canonical="/a", text="B")}
    )
    assert await states(script) == {"/": State.KEPT, "/a": State.ALIAS, "/b": State.KEPT}


async def test_a_canonical_address_that_sends_back_does_not_swallow_the_page() -> None:
    script = Script({"/": html("a"), "/a": html(canonical="/b"), "/b": moved("/a")})
    assert await states(script) == {"/": State.KEPT, "/a": State.KEPT, "/b": State.REDIRECT}
    assert script.asked["/a"] == 2
    script = Script({"/": html("b"), "/a": html(canonical="/b"), "/b": moved("/a")})
    assert await states(script) == {"/": State.KEPT, "/a": State.KEPT, "/b": State.REDIRECT}
    assert script.asked["/a"] == 1


async def test_a_canonical_address_that_differs_in_nothing_is_the_page_itself() -> None:
    script = Script({"/": html("a/"), "/a/": html(canonical="https://a.example/a")})
    assert (await states(script))["/a/"] is State.KEPT


async def test_an_unchanged_page_still_leads_to_what_was_forgotten() -> None:
    script = Script({"/": html("a"), "/a": moved("/b"), "/b": html(text="b")})
    frontier = MemoryFrontier()
    await states(script, frontier=frontier)
    await frontier.renew()
    script.asked.clear()
    found = await states(script, frontier=frontier)
    assert found == {"/": State.UNCHANGED, "/a": State.REDIRECT, "/b": State.UNCHANGED}
    assert script.asked["/a"] == 1


@pytest.mark.parametrize("status", [500, 503, 429])
async def test_nothing_is_fetched_while_robots_txt_cannot_be_read(status: int) -> None:
    script = Script({"/robots.txt": (status, {}, b""), "/": html()})
    assert await states(script) == {"/": State.FAILED}
    assert script.asked["/"] == 0


@pytest.mark.parametrize("status", [401, 403, 404, 410])
async def test_no_robots_txt_forbids_nothing(status: int) -> None:
    assert await states(Script({"/robots.txt": (status, {}, b""), "/": html()})) == {"/": State.KEPT}


async def test_robots_txt_can_be_overruled_on_ones_own_site() -> None:
    answers = {"/robots.txt": (200, {}, b"User-agent: *\nDisallow: /"), "/": html()}
    assert await states(Script(answers)) == {"/": State.SKIPPED}
    assert await states(Script(answers), replace(PLAN, robots=False)) == {"/": State.KEPT}


async def test_a_page_that_fails_is_tried_again_and_given_up() -> None:
    script = Script({"/": html("broken")})
    assert (await states(script))["/broken"] is State.FAILED
    assert script.asked["/broken"] == 2


async def test_a_limit_reached_with_nothing_left_is_the_end() -> None:
    script = Script({"/": html("a"), "/a": html(text="a")})
    assert len(await states(script, replace(PLAN, limits=CrawlLimits(pages=2)))) == 2


async def test_a_reader_that_breaks_loses_one_page(monkeypatch: pytest.MonkeyPatch) -> None:
    from kosmos.crawl import reading

    def broken(*_: object, **__: object) -> None:
        raise RecursionError

    monkeypatch.setattr(reading, "read_markup", broken)
    assert await states(Script({"/": html()})) == {"/": State.FAILED}


async def test_relative_links_of_the_same_content_do_not_go_round_for_ever() -> None:
    class Endless(Script):
        async def fetch(self, url: str, **_: object) -> Fetched:
            self.asked[url] += 1
            status, fields, body = (404, {}, b"") if url.endswith(".txt") else html("x/y/")
            return Fetched(url, status, fields, body, len(body), len(body), f"{hash(body):x}")

    script = Endless({})
    assert list((await states(script)).values()) == [State.KEPT, State.DUPLICATE]
