"""Making jobs: all or none, the same work once, and nothing that waits for itself."""

from datetime import timedelta

import pytest

from kosmos.db.jobs import JobFilter, list_dependencies, list_jobs
from kosmos.domain.ids import new_id
from kosmos.domain.jobs import Job, JobStatus, NewJob, OnFailure
from kosmos.errors import Conflict, InvalidInput, NotFound
from kosmos.jobs.creation import MAX_CONTEXT, RECHECK

from .stage import Stage


async def _all(stage: Stage) -> list[Job]:
    async with stage.db.read() as conn:
        return await list_jobs(conn, JobFilter())


async def test_a_job_is_pending_and_due_now(stage: Stage) -> None:
    job = await stage.make_one(context={"name": "书"}, priority=3, deadline_seconds=60)
    assert job == await stage.get(job.id)
    assert (job.status, job.due_at, job.epoch, job.attempts) == (JobStatus.PENDING, stage.clock(), 0, 0)
    assert job.deadline_at == stage.clock() + timedelta(seconds=60)
    assert job.context == {"name": "书"}


async def test_a_job_that_waits_is_paused_and_looked_at_again(stage: Stage) -> None:
    first, second = await stage.make(
        NewJob("work", key="a"), NewJob("other", after=("a",), on_failure=OnFailure.CONTINUE)
    )
    assert (second.status, second.due_at) == (JobStatus.PAUSED, stage.clock() + RECHECK)
    assert second.reason == "Waiting for other jobs to end."
    async with stage.db.read() as conn:
        assert await list_dependencies(conn, second.id) == [(first, OnFailure.CONTINUE)]


async def test_the_order_of_the_list_does_not_matter(stage: Stage) -> None:
    second, first = await stage.make(NewJob("other", after=("a",)), NewJob("work", key="a"))
    assert (first.type, first.status) == ("work", JobStatus.PENDING)
    assert (second.type, second.status) == ("other", JobStatus.PAUSED)


async def test_waiting_for_what_has_ended_is_no_wait(stage: Stage) -> None:
    first = await stage.make_one()
    await stage.tell("cancel", first.id)
    job = await stage.make_one(after=(first.id,))
    assert job.status is JobStatus.PENDING


async def test_a_circle_is_refused(stage: Stage) -> None:
    with pytest.raises(InvalidInput, match="wait for each other") as refusal:
        await stage.make(NewJob("work", key="a", after=("b",)), NewJob("work", key="b", after=("a",)))
    assert refusal.value.remedy
    with pytest.raises(InvalidInput, match="wait for each other: a → a"):
        await stage.make(NewJob("work", key="a", after=("a",)))
    assert await _all(stage) == []


async def test_two_jobs_of_one_call_need_different_keys(stage: Stage) -> None:
    with pytest.raises(InvalidInput, match="the key 'a'"):
        await stage.make(NewJob("work", key="a"), NewJob("other", key="a"))
    assert await _all(stage) == []


async def test_the_same_work_becomes_one_job(stage: Stage) -> None:
    first = await stage.make_one(dedupe_key="chunk 1")
    again = await stage.make_one(dedupe_key="chunk 1")
    assert again == first
    waiting = await stage.make_one("other", after=(again.id,))
    assert waiting.status is JobStatus.PAUSED
    await stage.tell("cancel", first.id)
    newer = await stage.make_one(dedupe_key="chunk 1")
    assert newer.id != first.id


async def test_the_same_work_twice_in_one_call_becomes_one_job(stage: Stage) -> None:
    one, two, last = await stage.make(
        NewJob("work", key="a", dedupe_key="same"),
        NewJob("work", key="b", dedupe_key="same"),
        NewJob("other", after=("a", "b")),
    )
    assert one == two
    assert len(await _all(stage)) == 2
    async with stage.db.read() as conn:
        assert [first.id for first, _ in await list_dependencies(conn, last.id)] == [one.id]


BAD = (
    NewJob("baking"),
    NewJob("work", priority=1001),
    NewJob("work", deadline_seconds=0),
    NewJob("work", deadline_seconds=10**9),
    NewJob("work", context={"text": "x" * 10_000_000}),
    NewJob("work", context={"text": "x" * MAX_CONTEXT}),
    NewJob("work", context={"number": float("nan")}),
    NewJob("work", context={"text": "\x00"}),
)


async def test_what_cannot_be_is_refused_and_nothing_is_made(stage: Stage) -> None:
    for bad in BAD:
        with pytest.raises(InvalidInput) as refusal:
            await stage.make(NewJob("work"), bad)
        assert refusal.value.remedy
        assert await _all(stage) == []


async def test_waiting_for_a_stranger_is_refused(stage: Stage) -> None:
    with pytest.raises(NotFound, match="to wait for"):
        await stage.make_one(after=(new_id(),))
    assert await _all(stage) == []


async def test_a_job_about_nothing_is_refused(stage: Stage) -> None:
    with pytest.raises(Conflict):
        await stage.make_one(space_id=new_id())
    assert await _all(stage) == []
