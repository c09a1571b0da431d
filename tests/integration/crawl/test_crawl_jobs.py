"""Crawls as jobs: documents and rows are written together, and a killed crawl goes on where it was."""

import asyncio
import re
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from kosmos.crawl import CrawlLimits, State, visiting
from kosmos.domain.clock import system_clock
from kosmos.domain.documents import DocumentStatus
from kosmos.domain.jobs import JobStatus
from kosmos.errors import Conflict
from kosmos.jobs.run import Run
from kosmos.tasks import crawling
from kosmos.tasks.entering import enter
from kosmos.tasks.jobs import cancel_job, resume_job, retry_job

from .crawl_scene import FEWER, PLAN, SMALL, CrawlScene
from .hard_site import HOST, PUBLIC, Answer, Site

AGAIN = {"/docs/busy": 2, "/docs/flaky": 2, "/docs/down": 3, "/robots.txt": 3}


def at_page(count: int) -> Any:
    """Whether a crawl has come so far."""

    def reached(run: Run) -> bool:
        return bool(run.progress.get("current_page", 0) >= count)

    return reached


async def test_killed_twice_and_resumed_no_page_is_fetched_twice(
    scene: CrawlScene, site: Site, documents: frozenset[str]
) -> None:
    whole = scene.bench.db.is_sqlite
    started = await scene.start(PLAN if whole else FEWER)
    under_way: set[str] = set()
    for count in (60, 180) if whole else (20, 60):
        await scene.killed(started.job.id, at_page(count))
        rows = await scene.rows(started.crawl.id)
        kept = {url for url, page in rows.items() if page.state is State.KEPT}
        assert set(await scene.documents()) == kept  # not one more, not one less
        assert 0 < len(kept) < 250
        done = {f"/docs/{url}" for url, page in rows.items() if page.state is not State.PENDING}
        under_way |= {path for path in site.asked if path.startswith("/docs/") and path not in done}
    job = await scene.run(started.job.id)
    assert job.status is JobStatus.COMPLETED
    twice = {path for path, count in site.asked.items() if count > AGAIN.get(path, 1)}
    assert twice <= under_way | {"/docs"}
    assert len(twice) <= 2 * PLAN.pace.concurrency
    found = {f"/docs/{url}" for url in await scene.documents()}
    assert found >= {path for path in documents if whole or not re.match("/docs/s[2-9]/", path)}
    assert job.progress["current_page"] == job.progress["total_pages"]
    assert job.result is not None
    assert (job.result["ending"], job.result["kept"], job.result["removed"]) == ("done", len(found), 0)


async def test_documents_become_ready_and_what_is_forbidden_is_not_asked_for(
    scene: CrawlScene, site: Site
) -> None:
    started, job = await scene.crawl(SMALL)
    assert job.status is JobStatus.COMPLETED
    await scene.work()
    found = await scene.documents()
    wanted = {"", "s1/", "private/open", *(f"s1/p{number}/" for number in range(10))}
    assert {url for url in found if "dup" not in url} == wanted
    assert len(found) == len(wanted) + 1  # one of three pages with the same bytes
    assert {document.status for document in found.values()} == {DocumentStatus.READY}
    page = found["s1/p7/"]
    assert (page.source, page.source_url) == (f"{HOST}/docs/s1/p7", f"http://{HOST}/docs/s1/p7/")
    assert (page.filetype, page.version) == ("html", 1)
    assert page.canonical_sha256 is not None
    assert "s1 p7" in (await scene.bench.blobs.read(page.canonical_sha256)).decode()
    rows = await scene.rows(started.crawl.id)
    refused = rows["http://169.254.169.254/latest/"]
    assert (refused.state, "metadata" in refused.reason) == (State.REFUSED, True)
    assert set(site.dialled) == {(PUBLIC, 80)}
    assert (rows["private/secret"].state, rows["private/secret"].reason) == (State.SKIPPED, "robots.txt")
    assert "/docs/private/secret" not in site.asked


async def test_another_round_changes_only_what_the_site_has_changed(
    scene: CrawlScene, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    await scene.crawl(SMALL)
    await scene.work()
    before, jobs = await scene.documents(), await scene.jobs()
    _, job = await scene.crawl(SMALL)
    assert job.result is not None
    assert (job.result["round"], job.result["entered"], job.result["removed"]) == (2, 0, 0)
    assert await scene.documents() == before
    assert await scene.jobs() == jobs + 1
    assert len(site.conditions) == 11  # the pages of s1 have tags, and each was asked with its own

    site.version = "2"
    inner = site._folder
    lost = {
        "/docs/s1/p3/": Answer(b"no", 404),
        "/docs/s1/p4/": Answer(status=301, headers={"Location": "/docs/s1/p5/"}),
    }
    monkeypatch.setattr(site, "_folder", lambda path: lost.get(path) or inner(path))
    _, job = await scene.crawl(SMALL)
    await scene.work()
    after = await scene.documents()
    assert set(before) - set(after) == {"s1/p3/", "s1/p4/"}
    changed = {url for url, document in after.items() if document != before[url]}
    assert changed == {"s1/p7/"}
    assert after["s1/p7/"].version == 2
    assert job.result is not None
    assert (job.result["entered"], job.result["removed"]) == (1, 2)
    assert {url.rsplit("/", 2)[1] for url in job.result["removed_pages"]} == {"p3", "p4"}
    rows = await scene.bench.store.scan(f"space_{scene.space_id.replace('-', '')}")
    assert {row.fields["document_id"] for row in rows} == {document.id for document in after.values()}


async def test_of_equal_pages_the_same_one_is_kept_in_every_round(
    scene: CrawlScene, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    equal = replace(SMALL, include=("/docs/dup/?",))
    started, _ = await scene.crawl(equal)
    (kept,) = set(await scene.documents()) - {""}
    inner = site.answer

    async def changed(path: str, fields: dict[str, str]) -> Answer:
        if path != f"/docs/{kept}":
            return await inner(path, fields)
        await asyncio.sleep(0.1)  # the others are there first
        return Answer(f"<html>{site.version}".encode()) if site.version != "1" else await inner(path, fields)

    monkeypatch.setattr(site, "answer", changed)
    await scene.crawl(equal)
    assert set(await scene.documents()) == {"", kept}
    site.version = "2"
    _, job = await scene.crawl(equal)
    assert job.progress["current_page"] == job.progress["total_pages"]
    rows = await scene.rows(started.crawl.id)
    states = sorted(rows[f"dup/{number}"].state for number in (1, 2, 3))
    assert states == ["duplicate", "kept", "kept"]  # what the one has lost another one holds
    assert rows[kept].state is State.KEPT
    assert len(await scene.documents()) == 3


async def test_a_document_that_was_removed_comes_back_with_the_next_round(scene: CrawlScene) -> None:
    from kosmos.tasks.documents import remove_document

    tiny = replace(SMALL, include=("/docs/s1/", "/docs/s1/p7/"))
    await scene.crawl(tiny)
    await scene.work()
    page = (await scene.documents())["s1/p7/"]
    await remove_document(scene.bench, scene.owner, page.id)
    await scene.crawl(tiny)
    assert "s1/p7/" in await scene.documents()


async def test_a_site_in_trouble_takes_nothing_away(
    scene: CrawlScene, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    await scene.crawl(SMALL)
    before = await scene.documents()
    with monkeypatch.context() as patch:
        patch.setattr(site, "_fixed", dict)
        patch.setattr(site, "_folder", lambda _path: Answer(b"no", 404))
        started, job = await scene.crawl(SMALL)
    assert job.status is JobStatus.FAILED
    assert f"Nothing of http://{HOST}/docs/ could be kept: HTTP 404." in (job.reason or "")
    assert await scene.documents() == before
    await retry_job(scene.bench, scene.owner, job.id)
    assert (await scene.run(started.job.id)).status is JobStatus.COMPLETED


async def test_a_host_that_asks_for_patience_gets_it(
    scene: CrawlScene, monkeypatch: pytest.MonkeyPatch, site: Site
) -> None:
    monkeypatch.setattr(visiting, "retry_after", lambda value, now: 7200.0 if value else None)
    started, job = await scene.crawl(replace(PLAN, include=("/docs/busy", "/docs/s1/")))
    assert job.status is JobStatus.PAUSED
    assert "asks to be left alone" in (job.reason or "")
    assert job.due_at is not None
    asked = site.asked.total()
    await resume_job(scene.bench, scene.owner, job.id)
    assert (await scene.run(job.id)).status is JobStatus.PAUSED
    assert site.asked.total() == asked

    def later() -> datetime:
        return system_clock() + timedelta(hours=3)

    assert (await scene.using(clock=later).run(job.id)).status is JobStatus.COMPLETED
    assert (await scene.rows(started.crawl.id))["busy"].state is State.KEPT


async def test_what_was_cancelled_goes_on_when_the_site_is_crawled_again(
    scene: CrawlScene, site: Site
) -> None:
    first = await scene.start(SMALL)
    await scene.killed(first.job.id, at_page(8))
    assert (await scene.start(SMALL)).existing
    await cancel_job(scene.bench, scene.owner, first.job.id)
    second, job = await scene.crawl(SMALL)
    assert not second.existing
    assert (second.crawl.id, job.status) == (first.crawl.id, JobStatus.COMPLETED)
    assert job.progress["round"] == 1
    assert max(count for path, count in site.asked.items() if "/s1/" in path) <= 2
    await retry_job(scene.bench, scene.owner, first.job.id)
    assert (await scene.run(first.job.id)).status is JobStatus.COMPLETED  # of the same round: nothing to do
    _, job = await scene.crawl(SMALL)
    assert job.progress["round"] == 2


async def test_limits_and_another_plan(scene: CrawlScene) -> None:
    started, job = await scene.crawl(replace(SMALL, limits=CrawlLimits(pages=5)))
    assert job.result is not None
    assert (job.result["ending"], job.result["kept"]) == ("page limit", len(await scene.documents()))
    rows = await scene.rows(started.crawl.id)
    assert "page limit" in {page.reason for page in rows.values()}
    assert not [page for page in rows.values() if page.state is State.PENDING]
    _, job = await scene.crawl(replace(SMALL, include=("/docs/dup/?",)))
    assert job.result is not None
    assert (job.result["ending"], job.result["round"]) == ("done", 2)
    rows = await scene.rows(started.crawl.id)
    assert {url[:4] for url, page in rows.items() if page.state is State.KEPT} == {"", "dup/"}


async def test_a_page_that_somebody_adds_at_the_same_time_is_tried_again(
    scene: CrawlScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = [Conflict("made meanwhile"), sa.exc.IntegrityError("", {}, Exception())]

    async def enter_at_last(*given: Any, **named: Any) -> Any:
        if failures:
            raise failures.pop()
        return await enter(*given, **named)

    monkeypatch.setattr(crawling, "enter", enter_at_last)
    _, job = await scene.crawl(SMALL)
    assert (job.status, failures) == (JobStatus.COMPLETED, [])
    assert job.result is not None
    assert job.result["entered"] == len(await scene.documents())
