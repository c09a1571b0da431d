"""A job that cannot succeed is not made, and whoever asked is told why."""

from typing import Any

import pytest

from kosmos.db import jobs as table
from kosmos.db.jobs import JobFilter
from kosmos.domain.accounts import Role
from kosmos.domain.ids import new_id
from kosmos.domain.jobs import JobStatus, NewJob
from kosmos.errors import Conflict, Forbidden, InvalidInput, KosmosError, NoCredential, NotFound
from kosmos.jobs.creation import create_jobs
from kosmos.jobs.registry import JobType, Registry
from kosmos.jobs.run import Run
from kosmos.tasks.jobs import create_job, estimate_job, pause_job, resume_job
from kosmos.tasks.preflight import JobRequest

from .scene import Scene

STRUCTURE = {"producer": "structure"}
INDEXER = {"producer": "indexer"}


async def _count(scene: Scene) -> int:
    async with scene.bench.db.read() as conn:
        return len(await table.list_jobs(conn, JobFilter(), limit=1000)) - 3  # of adding the document


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"type": "nope"}, InvalidInput, "no job type 'nope'"),
        ({"type": "summarizing"}, InvalidInput, "cannot do summarizing yet"),
        ({"type": "asset_analysis"}, InvalidInput, "not made by hand"),
        ({"document_id": new_id()}, NotFound, "no document"),
        ({"document_id": "x\x00"}, NotFound, "no document"),
        ({"context": {"producer": "magic"}}, InvalidInput, "no producer 'magic'"),
        ({"context": {"colour": 1}}, InvalidInput, "cannot hold 'colour'"),
        ({"context": {"producer": "x" * 10_000_000}}, InvalidInput, "context"),
        ({"context": {"producer": float("nan")}}, InvalidInput, "context"),
        ({"context": {"producer": "indexer"}}, NoCredential, "credential of type SLM or LLM"),
        ({"context": {"region": [1, 3]}}, NoCredential, "credential of type SLM or LLM"),
        ({"priority": 10**9}, InvalidInput, "priority"),
        ({"deadline_seconds": -1.0}, InvalidInput, "deadline"),
        ({"deadline_seconds": 1e9}, InvalidInput, "deadline"),
        ({"after": (new_id(),)}, NotFound, "no job"),
        ({"after": tuple(new_id() for _ in range(101))}, InvalidInput, "at most 100"),
    ],
)
async def test_what_cannot_succeed_is_not_made(
    scene: Scene, change: dict[str, Any], error: type[KosmosError], words: str
) -> None:
    document, _ = await scene.add("# A\n\ntext")
    request = {"type": "chunking", "document_id": document.id, "context": STRUCTURE, **change}
    with pytest.raises(error, match=words) as caught:
        await create_job(scene.bench, scene.owner, JobRequest(**request))
    assert caught.value.remedy
    assert await _count(scene) == 0


async def test_the_remedy_for_a_missing_model_names_both_ways(scene: Scene) -> None:
    document, _ = await scene.add("# A\n\ntext")
    with pytest.raises(NoCredential) as caught:
        await create_job(scene.bench, scene.owner, JobRequest("chunking", document.id, INDEXER))
    assert "kosmos credentials add NAME --type SLM" in (caught.value.remedy or "")
    assert "producer=structure" in (caught.value.remedy or "")


async def test_strangers_and_viewers_make_no_jobs(scene: Scene) -> None:
    document, _ = await scene.add("# A\n\ntext")
    eve = await scene.person("eve")
    request = JobRequest("chunking", document.id, STRUCTURE)
    with pytest.raises(NotFound):
        await create_job(scene.bench, eve, request)
    await scene.invite("eve", Role.VIEWER)
    with pytest.raises(Forbidden):
        await create_job(scene.bench, eve, request)
    with pytest.raises(Forbidden):
        await estimate_job(scene.bench, eve, request)
    assert await _count(scene) == 0


async def test_a_job_of_somebody_else_cannot_be_waited_for(scene: Scene) -> None:
    document, _ = await scene.add("# A\n\ntext")
    eve = await scene.person("eve")
    space = await scene.space(eve, "hers")
    hers = await _foreign_job(scene, space)
    with pytest.raises(NotFound):
        request = JobRequest("chunking", document.id, STRUCTURE, after=(hers,))
        await create_job(scene.bench, scene.owner, request)
    for act in (pause_job, resume_job):
        with pytest.raises(NotFound):
            await act(scene.bench, scene.owner, hers)


async def _foreign_job(scene: Scene, space_id: str) -> str:
    async def nothing(_run: Run) -> None:
        pass

    registry = Registry(JobType("asset_analysis", nothing))
    async with scene.bench.db.write() as conn:
        made = await create_jobs(
            conn, registry, [NewJob("asset_analysis", space_id=space_id)], scene.bench.clock()
        )
    return made[0].id


async def test_a_job_may_wait_for_another(scene: Scene) -> None:
    document, _ = await scene.add("# A\n\ntext")
    first = await create_job(scene.bench, scene.owner, JobRequest("chunking", document.id, STRUCTURE))
    after = (first.job.id,)
    second = await create_job(scene.bench, scene.owner, JobRequest("indexing", document.id, after=after))
    assert second.job.status is JobStatus.PAUSED
    assert second.job.reason == "Waiting for other jobs to end."


async def test_a_hint_but_no_refusal_while_figures_are_analysed(scene: Scene) -> None:
    document, _ = await scene.add("# A\n\ntext")

    async def nothing(_run: Run) -> None:
        pass

    new = NewJob("asset_analysis", space_id=scene.space_id, document_id=document.id)
    async with scene.bench.db.write() as conn:
        await create_jobs(conn, Registry(JobType("asset_analysis", nothing)), [new, new], scene.bench.clock())
    made = await create_job(scene.bench, scene.owner, JobRequest("chunking", document.id, STRUCTURE))
    assert made.job.status is JobStatus.PENDING
    assert made.hints == ("2 figures are still being analysed (0 paused); chunking waits for them.",)


async def test_a_resumed_job_cannot_be_resumed_again(scene: Scene) -> None:
    document, _ = await scene.add("# A\n\ntext")
    made = await create_job(scene.bench, scene.owner, JobRequest("chunking", document.id, STRUCTURE))
    await pause_job(scene.bench, scene.owner, made.job.id)
    resumed = await resume_job(scene.bench, scene.owner, made.job.id)
    assert resumed.status is JobStatus.PENDING
    with pytest.raises(Conflict, match="is PENDING and cannot be resumed"):
        await resume_job(scene.bench, scene.owner, made.job.id)
