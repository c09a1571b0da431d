"""What is checked before a crawl exists, who may start and see one, and adding a single page."""

from dataclasses import replace
from typing import Any

import pytest

from kosmos.accounts.people import create_user
from kosmos.accounts.spaces import make_space, put_member
from kosmos.accounts.tokens import authenticate
from kosmos.crawl import GENERIC, KUBERNETES
from kosmos.db import crawls
from kosmos.domain.accounts import Principal, Role
from kosmos.domain.documents import DocumentStatus
from kosmos.domain.jobs import JobStatus
from kosmos.errors import FetchFailed, FetchRefused, Forbidden, InvalidInput, KosmosError, NotFound
from kosmos.tasks.adding import Outcome
from kosmos.tasks.crawl_plans import CrawlWish, make_plan, plan_as_json, plan_of_json
from kosmos.tasks.crawls import list_crawls, report_crawl, start_crawl
from kosmos.tasks.fetching import add_url
from kosmos.tasks.jobs import create_job
from kosmos.tasks.preflight import JobRequest

from .crawl_scene import SMALL, CrawlScene
from .hard_site import HOST, ROOT, Answer, Site, page


async def person(scene: CrawlScene, name: str) -> Principal:
    async with scene.bench.db.write() as conn:
        now = scene.bench.clock()
        _, token = await create_user(conn, scene.owner, name=name, is_admin=False, now=now)
        return await authenticate(conn, token, now)


@pytest.mark.parametrize(
    ("wish", "error", "words"),
    [
        ({"url": "mailto:a@b"}, InvalidInput, "not an address"),
        ({"url": "a\x00b"}, InvalidInput, "U\\+0000"),
        ({"url": "https://" + "x" * 3000}, InvalidInput, "at most 2000"),
        ({"url": "http://127.0.0.1/docs/"}, FetchRefused, "loopback"),
        ({"url": "http://169.254.169.254/"}, FetchRefused, "metadata"),
        ({"url": "http://2130706433/"}, FetchRefused, "disguised"),
        ({"url": "https://a.test:22/"}, FetchRefused, "port 22"),
        ({"profile": "nope"}, InvalidInput, "no site profile 'nope'"),
        ({"prefixes": ("mailto:x",)}, InvalidInput, "not a prefix"),
        ({"include": ("x",) * 101}, InvalidInput, "At most 100"),
        ({"exclude": ("x" * 501,)}, InvalidInput, "at most 500"),
        ({"max_pages": 0}, InvalidInput, "number of pages"),
        ({"max_depth": 101}, InvalidInput, "depth"),
        ({"delay": float("nan")}, InvalidInput, "delay"),
    ],
)
async def test_what_cannot_succeed_is_not_started(
    scene: CrawlScene, wish: dict[str, Any], error: type[KosmosError], words: str
) -> None:
    with pytest.raises(error, match=words) as caught:
        await scene.start(make_plan(CrawlWish(**{"url": ROOT, **wish})))
    assert caught.value.remedy or error is FetchRefused
    assert (await scene.jobs(), await list_crawls(scene.bench, scene.owner)) == (0, [])


def test_plans() -> None:
    wish = CrawlWish("kubernetes.io/docs/#top", ("/docs/concepts/",), ("*.html",), ("/x/*",), None, 7, 3, 0.0)
    plan = make_plan(wish)
    assert plan.starts == ("https://kubernetes.io/docs/",)
    assert plan.prefixes == ("https://kubernetes.io/docs/concepts/",)
    assert (plan.profile, plan.limits.pages, plan.limits.depth, plan.pace.delay) == (KUBERNETES, 7, 3, 0.0)
    assert plan_of_json(plan_as_json(plan)) == plan
    assert plan_of_json(plan_as_json(replace(plan, robots=False))).robots
    assert make_plan(CrawlWish("https://a.test/", profile="generic")).profile is GENERIC


async def test_editors_crawl_and_viewers_look(scene: CrawlScene) -> None:
    eve = await person(scene, "eve")
    started = await scene.start(SMALL)
    with pytest.raises(NotFound, match="no space"):
        await start_crawl(scene.bench, eve, scene.space_id, SMALL)
    with pytest.raises(NotFound, match="no crawl"):
        await report_crawl(scene.bench, eve, started.crawl.id)
    assert await list_crawls(scene.bench, eve) == []
    async with scene.bench.db.write() as conn:
        now = scene.bench.clock()
        await put_member(conn, scene.owner, scene.space_id, user="eve", role=Role.VIEWER, now=now)
    with pytest.raises(Forbidden):
        await start_crawl(scene.bench, eve, scene.space_id, SMALL)
    with pytest.raises(Forbidden):
        await add_url(scene.bench, eve, scene.space_id, ROOT)
    view, report = await report_crawl(scene.bench, eve, started.crawl.id)
    assert (view.job and view.job.id, report.pages) == (started.job.id, 0)
    assert [item.crawl.id for item in await list_crawls(scene.bench, eve)] == [started.crawl.id]


async def test_a_crawl_is_a_job_like_others(scene: CrawlScene) -> None:
    started, job = await scene.crawl(replace(SMALL, include=("/docs/s1/",)))
    request = JobRequest("crawling", space_id=scene.space_id, context={"crawl_id": started.crawl.id})
    made = await create_job(scene.bench, scene.owner, request)
    assert (made.existing, made.job.dedupe_key, made.job.lane) == (False, job.dedupe_key, job.lane)
    assert (await scene.start(SMALL)).existing
    assert (await scene.run(made.job.id)).progress["round"] == 2
    async with scene.bench.db.write() as conn:
        now = scene.bench.clock()
        other = await make_space(conn, scene.owner.user.id, name="other", description="", now=now)
    for change, error in (
        ({"space_id": other.id}, NotFound),
        ({"context": {}}, NotFound),
        ({"context": {"crawl_id": "a\x00"}}, InvalidInput),
        ({"context": {"url": ROOT}}, InvalidInput),
        ({"document_id": other.id}, InvalidInput),
        ({"space_id": None}, InvalidInput),
        ({"type": "indexing", "context": {}}, InvalidInput),
    ):
        with pytest.raises(error):
            await create_job(scene.bench, scene.owner, replace(request, **change))


async def test_a_crawl_goes_with_its_space(scene: CrawlScene) -> None:
    from kosmos.tasks.documents import remove_space

    started, _ = await scene.crawl(replace(SMALL, include=("/docs/s1/",)))
    await remove_space(scene.bench, scene.owner, scene.space_id)
    async with scene.bench.db.read() as conn:
        assert await crawls.get_crawl(conn, started.crawl.id) is None
        assert await crawls.all_pages(conn, started.crawl.id) == []


async def test_one_page_is_added_under_the_address_it_has(scene: CrawlScene, site: Site) -> None:
    added = await add_url(
        scene.bench, scene.owner, scene.space_id, f"http://{HOST}/docs/moved/3?utm_source=x#y"
    )
    assert (added.outcome, added.document.origin) == (Outcome.ADDED, f"{ROOT}s0/p3/")
    odd = await add_url(scene.bench, scene.owner, scene.space_id, f"{ROOT}gb")
    assert (odd.document.source, odd.document.filename) == (f"{HOST}/docs/gb.html", "gb.html")
    await scene.work()
    found = await scene.documents()
    assert {document.status for document in found.values()} == {DocumentStatus.READY}
    assert found["gb"].filetype == "html"
    again = await add_url(scene.bench, scene.owner, scene.space_id, f"{ROOT}s0/p3/")
    assert (again.outcome, again.jobs) == (Outcome.UNCHANGED, ())


@pytest.mark.parametrize(
    ("url", "error", "words"),
    [
        (f"{ROOT}missing", FetchFailed, "HTTP 404"),
        (f"{ROOT}empty", FetchFailed, "empty"),
        (f"{ROOT}bomb", FetchFailed, "larger"),
        (f"{ROOT}loop/a", FetchFailed, "redirects too often"),
        (f"{ROOT}meta", FetchRefused, "metadata"),
        (f"{ROOT}inside", FetchRefused, "10.0.0.1"),
        ("http://127.0.0.1/", FetchRefused, "loopback"),
        ("file:///etc/passwd", InvalidInput, "no address"),
        ("http://u:p@a.test/", InvalidInput, "no address"),
    ],
)
async def test_what_cannot_be_added(
    scene: CrawlScene, url: str, error: type[KosmosError], words: str
) -> None:
    with pytest.raises(error, match=words):
        await add_url(scene.bench, scene.owner, scene.space_id, url)
    assert await scene.jobs() == 0


async def test_what_pages_say_can_be_stored_whatever_it_is(
    scene: CrawlScene, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = page("A\x00B \ud800".encode("utf-8", "surrogatepass").decode("latin-1")).body
    odd = Answer(
        b"<title>a\x00b\xed\xa0\x80</title><a href='/docs/s1/%00%ff/\xff'>" + body, headers={"ETag": '"\xe9"'}
    )
    monkeypatch.setattr(site, "_fixed", lambda: {"/docs/": odd})
    started, job = await scene.crawl(SMALL)
    assert job.status is JobStatus.COMPLETED
    assert (await scene.rows(started.crawl.id))[""].title.startswith("a")
