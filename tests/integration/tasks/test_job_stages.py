"""The stages of a document as single jobs: what they make, what they refuse, what a newer version does."""

import asyncio
from dataclasses import replace

import pytest

from kosmos.accounts.spaces import remove_member
from kosmos.db import chunks
from kosmos.db import jobs as table
from kosmos.domain.accounts import Role
from kosmos.domain.jobs import Job, JobStatus, Spent
from kosmos.jobs.run import Run
from kosmos.jobs.worker import LEASE
from kosmos.retrieval.indexing import collection_of
from kosmos.tasks import pipeline
from kosmos.tasks.adding import Outcome
from kosmos.tasks.documents import remove_document
from kosmos.tasks.jobs import cancel_job, create_job, retry_job
from kosmos.tasks.preflight import JobRequest

from .paged import PagedConverter
from .scene import HookedBlobs, HookedStore, Scene

STRUCTURE = {"producer": "structure"}
TEXT = "\n".join(f"# Part {part}\n\nThe pump 泵 number {part} is blue.\n" for part in range(60)).rstrip("\n")
LINES = len(TEXT.split("\n"))


async def run_job(scene: Scene, kind: str, document_id: str, **context: str) -> Job:
    """The job after a worker has done what it can."""
    made = await create_job(scene.bench, scene.owner, JobRequest(kind, document_id, context))
    assert not made.existing
    await scene.work()
    return await get(scene, made.job.id)


async def get(scene: Scene, job_id: str) -> Job:
    """The job as it is now."""
    async with scene.bench.db.read() as conn:
        job = await table.get_job(conn, job_id)
    assert job is not None
    return job


async def test_a_document_is_processed_chunked_and_indexed_again(scene: Scene) -> None:
    document, _ = await scene.add(TEXT)
    before = await scene.chunks(document.id)
    processed = await run_job(scene, "document_processing", document.id)
    chunked = await run_job(scene, "chunking", document.id, **STRUCTURE)
    assert await scene.chunks(document.id) == before  # readers see the old ones until the new are indexed
    indexed = await run_job(scene, "indexing", document.id)
    assert [job.status for job in (processed, chunked, indexed)] == [JobStatus.COMPLETED] * 3
    assert processed.progress == {"current_line": LINES, "total_lines": LINES, "generation": 2}
    assert processed.result == {
        "lines": LINES,
        "canonical_sha256": document.canonical_sha256,
        "figures": 0,
        "notes": [],
    }
    assert chunked.progress == {
        "current_line": LINES,
        "total_lines": LINES,
        "current_chunk": len(before),
        "generation": 3,
    }
    assert chunked.result == {"generation": 3, "chunks": len(before), "reused": len(before)}
    assert chunked.spent == Spent()
    (now,) = await scene.documents()
    assert (now.live_generation, now.draft_generation, now.version) == (3, None, 1)
    assert [chunk.id for chunk in await scene.chunks(document.id)] == [chunk.id for chunk in before]
    await scene.check_served(TEXT)
    await scene.check_tidy()
    assert await scene.found("blue pump 59")


async def test_what_a_new_converter_makes_is_what_is_chunked(scene: Scene) -> None:
    document, _ = await scene.add("one\ftwo", "a.pdf")
    newer = scene.using(converter=PagedConverter())
    processed = await run_job(newer, "document_processing", document.id)
    await run_job(newer, "chunking", document.id, **STRUCTURE)
    await scene.check_served("one two", "a.pdf")
    await run_job(newer, "indexing", document.id)
    await scene.check_served("one\ntwo", "a.pdf")
    assert processed.result is not None
    assert processed.result["notes"] == ["One thing was left out."]
    await scene.check_tidy()


async def test_stages_that_wait_for_each_other(scene: Scene) -> None:
    document, _ = await scene.add(TEXT)
    ids: list[str] = []
    for kind, context in (("document_processing", {}), ("chunking", STRUCTURE), ("indexing", {})):
        request = JobRequest(kind, document.id, context, after=tuple(ids[-1:]))
        ids.append((await create_job(scene.bench, scene.owner, request)).job.id)
    await scene.work()
    assert {(await get(scene, job_id)).status for job_id in ids} == {JobStatus.COMPLETED}
    await scene.check_served(TEXT)
    await scene.check_tidy()


async def test_a_first_version_that_failed_can_be_made_by_single_jobs(scene: Scene) -> None:
    added = await scene.enter(TEXT)
    await cancel_job(scene.bench, scene.owner, added.jobs[0].id)
    await scene.work()
    ids: list[str] = []
    for kind, context in (("document_processing", {}), ("chunking", STRUCTURE), ("indexing", {})):
        request = JobRequest(kind, added.document.id, context, after=tuple(ids[-1:]))
        ids.append((await create_job(scene.bench, scene.owner, request)).job.id)
    await scene.work()
    await scene.check_served(TEXT)
    await scene.check_tidy()


@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize("done", [1, 2])
async def test_a_single_job_does_not_get_in_the_way_of_a_new_version(
    scene: Scene, done: int, live: bool
) -> None:
    if live:
        await scene.add(TEXT)
    newer = TEXT.replace("blue", "red")
    added = await scene.enter(newer)
    await scene.work(done)
    before = await scene.documents()
    request = JobRequest("document_processing", added.document.id)
    refused = await create_job(scene.bench, scene.owner, request)
    await scene.work(only=refused.job.id)
    assert await scene.documents() == before
    await scene.work()
    job = await get(scene, refused.job.id)
    assert job.status is JobStatus.FAILED
    assert "is being worked on. Wait until it is indexed." in (job.reason or "")
    await scene.check_served(newer)


@pytest.mark.parametrize("how", ["unreadable", "cancelled"])
async def test_indexing_again_beside_a_version_that_was_not_finished(scene: Scene, how: str) -> None:
    """Neither is the unfinished one published by the way, nor is it lost."""
    document, _ = await scene.add(TEXT)
    await scene.bench.store.drop(collection_of(scene.space_id))
    newer = await scene.enter(TEXT.replace("blue", "red") if how == "cancelled" else b"\x00\x01")
    await scene.work(2)
    if how == "cancelled":
        await cancel_job(scene.bench, scene.owner, newer.jobs[-1].id)
    job = await run_job(scene, "indexing", document.id)
    assert (job.status, job.result) == (JobStatus.COMPLETED, {"generation": 1, "chunks": 120})
    await scene.check_served(TEXT)
    assert (await scene.documents())[0].draft_generation == 2
    await scene.check_tidy()
    if how == "cancelled":
        await retry_job(scene.bench, scene.owner, newer.jobs[-1].id)
        await scene.work()
        await scene.check_served(TEXT.replace("blue", "red"))
        await scene.check_tidy()


async def test_adding_the_same_again_leaves_single_jobs_alone(scene: Scene) -> None:
    document, _ = await scene.add(TEXT)
    await run_job(scene, "chunking", document.id, **STRUCTURE)
    again = await scene.enter(TEXT)
    assert (again.outcome, again.jobs) == (Outcome.UNCHANGED, ())
    await run_job(scene, "indexing", document.id)
    assert (await scene.documents())[0].live_generation == 2
    await scene.check_tidy()


@pytest.mark.parametrize("slow", ["document_processing", "chunking", "indexing"])
async def test_of_two_single_jobs_the_later_one_wins(scene: Scene, slow: str) -> None:
    """One begins a new generation while the other is about to write what it has made of an older one."""
    document, _ = await scene.add(TEXT)
    if slow == "indexing":
        await run_job(scene, "chunking", document.id, **STRUCTURE)
    other = "chunking" if slow == "document_processing" else "document_processing"
    begun: list[Job] = []

    async def begin() -> None:
        if not begun:
            begun.append(
                await run_job(scene, other, document.id, **(STRUCTURE if other == "chunking" else {}))
            )

    hooked = scene.using(
        blobs=HookedBlobs(scene.bench.blobs, read=begin),
        store=HookedStore(scene.bench.store, after_upsert=begin),
    )
    late = await run_job(hooked, slow, document.id, **(STRUCTURE if slow == "chunking" else {}))
    assert [job.status for job in begun] == [JobStatus.COMPLETED]
    assert late.status is JobStatus.FAILED
    assert "That one is worked on by itself." in (late.reason or "")
    (now,) = await scene.documents()
    assert (now.live_generation, now.draft_generation) == (1, begun[0].progress["generation"])
    await scene.check_served(TEXT)
    for kind, context in (("chunking", STRUCTURE), ("indexing", {})):
        assert (await run_job(scene, kind, document.id, **context)).status is JobStatus.COMPLETED
    await scene.check_served(TEXT)
    await scene.check_tidy()


async def test_half_a_document_is_never_shown(scene: Scene) -> None:
    document, _ = await scene.add(TEXT)
    await run_job(scene, "chunking", document.id, **STRUCTURE)
    async with scene.bench.db.write() as conn:
        draft = await chunks.generation_chunks(conn, document.id, 2)
        await chunks.delete_generations(conn, document.id, keep=1)
        await chunks.insert_chunks(conn, draft[:-1], scene.bench.clock())
    failed = await run_job(scene, "indexing", document.id)
    assert failed.status is JobStatus.FAILED
    assert f"do not make up its {LINES} lines" in (failed.reason or "")
    await scene.check_served(TEXT)
    await run_job(scene, "chunking", document.id, **STRUCTURE)
    assert (await run_job(scene, "indexing", document.id)).status is JobStatus.COMPLETED
    await scene.check_served(TEXT)
    await scene.check_tidy()


async def test_a_newer_version_wins_over_a_job_that_works_on_the_older(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    document, _ = await scene.add(TEXT)
    newer = TEXT.replace("blue", "red")
    inner = chunks.insert_chunks
    begun = asyncio.Event()

    async def insert_and_say(*args: object) -> None:
        await inner(*args)  # type: ignore[arg-type]
        begun.set()

    monkeypatch.setattr(pipeline, "CHUNKS_PER_BATCH", 10)
    monkeypatch.setattr("kosmos.tasks.pipeline.chunks.insert_chunks", insert_and_say)
    made = await create_job(scene.bench, scene.owner, JobRequest("chunking", document.id, STRUCTURE))
    async with scene.working(), asyncio.timeout(30):
        await begun.wait()
        await scene.enter(newer)
    await scene.work()
    job = await get(scene, made.job.id)
    assert job.status in (JobStatus.CANCELLED, JobStatus.COMPLETED)
    if job.status is JobStatus.CANCELLED:
        assert job.reason == "A newer version was added."
    await scene.check_served(newer)
    await scene.check_tidy()


async def test_a_retried_job_does_not_go_on_with_what_is_no_longer_there(scene: Scene) -> None:
    document, _ = await scene.add(TEXT)
    made = await create_job(scene.bench, scene.owner, JobRequest("chunking", document.id, STRUCTURE))
    async with scene.bench.db.write() as conn:
        now = scene.bench.clock()
        (claimed,) = await table.take(conn, [made.job.id], worker="w", now=now, until=now)
    run = Run(claimed, db=scene.bench.db, clock=scene.bench.clock, lease=LEASE)
    async with run.batch({"current_line": 120, "total_lines": LINES, "current_chunk": 60, "generation": 2}):
        pass
    await cancel_job(scene.bench, scene.owner, made.job.id)
    await scene.add(TEXT.replace("blue", "red"))  # takes generation 2 for itself
    await retry_job(scene.bench, scene.owner, made.job.id)
    await scene.work()
    job = await get(scene, made.job.id)
    assert job.status is JobStatus.COMPLETED
    assert job.progress["generation"] == 3
    await run_job(scene, "indexing", document.id)
    await scene.check_served(TEXT.replace("blue", "red"))
    await scene.check_tidy()


async def test_rights_are_asked_for_again_when_a_worker_takes_the_job(scene: Scene) -> None:
    document, _ = await scene.add(TEXT)
    editor = await scene.person("eve")
    await scene.invite("eve", Role.EDITOR)
    made = await create_job(scene.bench, editor, JobRequest("chunking", document.id, STRUCTURE))
    async with scene.bench.db.write() as conn:
        await remove_member(conn, scene.owner, scene.space_id, editor.user.id)
    await scene.work()
    job = await get(scene, made.job.id)
    assert job.status is JobStatus.FAILED
    assert "There is no space" in (job.reason or "")


async def test_a_document_that_goes_takes_its_jobs_along(scene: Scene) -> None:
    document, _ = await scene.add(TEXT)
    made = await create_job(scene.bench, scene.owner, JobRequest("chunking", document.id, STRUCTURE))
    await remove_document(scene.bench, scene.owner, document.id)
    async with scene.bench.db.read() as conn:
        assert await table.get_job(conn, made.job.id) is None


async def test_an_empty_document(scene: Scene) -> None:
    document, _ = await scene.add("")
    assert (await run_job(scene, "chunking", document.id, **STRUCTURE)).status is JobStatus.COMPLETED
    assert (await run_job(scene, "indexing", document.id)).result == {"generation": 2, "chunks": 0}


async def test_the_same_work_is_asked_for_twice_and_done_once(scene: Scene) -> None:
    document, _ = await scene.add(TEXT)
    request = JobRequest("chunking", document.id, STRUCTURE)
    first = await create_job(scene.bench, scene.owner, request)
    second = await create_job(scene.bench, scene.owner, replace(request, priority=7))
    assert (first.existing, second.existing) == (False, True)
    assert second.job.id == first.job.id
