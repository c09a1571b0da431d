"""The stages of a document as jobs: what they make, what they refuse, what a newer version does to them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from kosmos.accounts.spaces import remove_member
from kosmos.db import chunks
from kosmos.db import jobs as table
from kosmos.domain.accounts import Role
from kosmos.domain.jobs import Job, JobStatus, Spent
from kosmos.jobs.run import Run
from kosmos.jobs.worker import LEASE, Worker
from kosmos.tasks import jobs, pipeline
from kosmos.tasks.job_types import make_registry
from kosmos.tasks.jobs import create_job
from kosmos.tasks.preflight import JobRequest

from .scene import Scene

STRUCTURE = {"producer": "structure"}
TEXT = "\n".join(f"# Part {part}\n\nThe pump 泵 number {part} is blue.\n" for part in range(300)).rstrip("\n")


@asynccontextmanager
async def working(scene: Scene) -> AsyncIterator[None]:
    """A worker on the scene's engines."""
    worker = Worker(scene.bench.db, make_registry(scene.bench), name="test", clock=scene.bench.clock)
    running = asyncio.create_task(worker.run())
    try:
        yield
    finally:
        worker.stop()
        await running


async def run_job(scene: Scene, kind: str, document_id: str, **context: str) -> Job:
    """The job after a worker has done what it can."""
    made = await create_job(scene.bench, scene.owner, JobRequest(kind, document_id, context))
    return await ended(scene, made.job.id)


async def ended(scene: Scene, job_id: str) -> Job:
    """The job once it has ended or sleeps."""
    async with working(scene), asyncio.timeout(30):
        while True:
            async with scene.bench.db.read() as conn:
                job = await table.get_job(conn, job_id)
            assert job is not None
            if job.status.ended or (job.status is JobStatus.PAUSED and job.epoch):
                return job
            await asyncio.sleep(0.01)


async def test_a_document_is_processed_chunked_and_indexed_again(scene: Scene) -> None:
    document, _ = await scene.add(TEXT)
    before = await scene.chunks(document.id)
    processed = await run_job(scene, "document_processing", document.id)
    chunked = await run_job(scene, "chunking", document.id, **STRUCTURE)
    assert await scene.chunks(document.id) == before  # readers see the old ones until the new are indexed
    indexed = await run_job(scene, "indexing", document.id)
    assert [job.status for job in (processed, chunked, indexed)] == [JobStatus.COMPLETED] * 3
    assert processed.result == {"lines": len(TEXT.split("\n")), "canonical_sha256": document.canonical_sha256}
    assert chunked.progress == {"current_line": 1199, "total_lines": 1199, "generation": 2}
    assert chunked.result == {"generation": 2, "chunks": len(before)}
    assert chunked.spent == Spent()
    (now,) = await scene.documents()
    assert (now.live_generation, now.draft_generation, now.version) == (2, None, 1)
    await scene.check_served(TEXT)
    await scene.check_tidy()
    assert await scene.found("blue pump 299")


async def test_half_a_document_is_never_shown(scene: Scene) -> None:
    document, _ = await scene.add(TEXT)
    await run_job(scene, "chunking", document.id, **STRUCTURE)
    async with scene.bench.db.write() as conn:
        draft = await chunks.generation_chunks(conn, document.id, 2)
        await chunks.delete_generations(conn, document.id, keep=1)
        await chunks.insert_chunks(conn, draft[:-1], scene.bench.clock())
    failed = await run_job(scene, "indexing", document.id)
    assert failed.status is JobStatus.FAILED
    assert "do not cover its 1199 lines" in (failed.reason or "")
    await scene.check_served(TEXT)


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

    monkeypatch.setattr(pipeline, "CHUNKS_PER_BATCH", 50)
    monkeypatch.setattr("kosmos.tasks.pipeline.chunks.insert_chunks", insert_and_say)
    made = await create_job(scene.bench, scene.owner, JobRequest("chunking", document.id, STRUCTURE))
    async with working(scene), asyncio.timeout(30):
        await begun.wait()
        await scene.add(newer)
    job = await ended(scene, made.job.id)
    assert job.status in (JobStatus.FAILED, JobStatus.COMPLETED)
    if job.status is JobStatus.FAILED:
        assert "was changed meanwhile" in (job.reason or "")
    await scene.check_served(newer)


async def test_a_retried_job_does_not_go_on_with_what_is_no_longer_there(scene: Scene) -> None:
    document, _ = await scene.add(TEXT)
    made = await create_job(scene.bench, scene.owner, JobRequest("chunking", document.id, STRUCTURE))
    async with scene.bench.db.write() as conn:
        now = scene.bench.clock()
        (claimed,) = await table.take(conn, [made.job.id], worker="w", now=now, until=now)
    run = Run(claimed, db=scene.bench.db, clock=scene.bench.clock, lease=LEASE)
    async with run.batch({"current_line": 600, "total_lines": 1199, "generation": 2}):
        pass
    await jobs.cancel_job(scene.bench, scene.owner, made.job.id)
    await scene.add(TEXT.replace("blue", "red"))  # takes generation 2 for itself
    await jobs.retry_job(scene.bench, scene.owner, made.job.id)
    job = await ended(scene, made.job.id)
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
    job = await ended(scene, made.job.id)
    assert job.status is JobStatus.FAILED
    assert "There is no space" in (job.reason or "")


async def test_a_document_that_goes_takes_its_jobs_along(scene: Scene) -> None:
    from kosmos.tasks.documents import remove_document

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
