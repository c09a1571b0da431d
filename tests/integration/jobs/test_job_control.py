"""What people do to jobs, and what they are told when it cannot be done."""

import asyncio
from itertools import product

import pytest

from kosmos.db import jobs as table
from kosmos.domain.ids import new_id
from kosmos.domain.jobs import Job, JobStatus, NewJob
from kosmos.errors import Conflict, InvalidInput, KosmosError, NotFound
from kosmos.jobs.run import Run

from .stage import Stage

VERBS = ("pause", "resume", "cancel", "retry")
ALLOWED = {
    JobStatus.PENDING: {"pause", "cancel"},
    JobStatus.RUNNING: {"pause", "cancel"},
    JobStatus.PAUSED: {"pause", "resume", "cancel"},
    JobStatus.FAILED: {"retry"},
    JobStatus.CANCELLED: {"retry"},
    JobStatus.COMPLETED: set[str](),
}


async def _in(stage: Stage, status: JobStatus) -> Job:
    job = await stage.make_one()
    if status is not JobStatus.PENDING:
        (job,) = await stage.claimer().claim(1, only=job.id)
    if status not in (JobStatus.PENDING, JobStatus.RUNNING):
        due = stage.clock() if status is JobStatus.PAUSED else None
        await stage.put(job.id, status=status.value, due_at=due, worker=None, reason="So.")
    return await stage.get(job.id)


async def test_what_is_not_allowed_changes_nothing(stage: Stage) -> None:
    for status, verb in product(JobStatus, VERBS):
        before = await _in(stage, status)
        stage.clock.advance(1)
        if verb in ALLOWED[status]:
            after = await stage.tell(verb, before.id)
            assert after.epoch == before.epoch + 1
            assert after == await stage.get(before.id)
            continue
        with pytest.raises(Conflict, match=f"The job is {status} and cannot be {verb[:4]}") as refusal:
            await stage.tell(verb, before.id)
        assert refusal.value.remedy
        assert await stage.get(before.id) == before


async def test_paused_by_hand_stays_so(stage: Stage) -> None:
    job = await _in(stage, JobStatus.RUNNING)
    paused = await stage.tell("pause", job.id)
    assert (paused.status, paused.reason, paused.due_at, paused.worker) == (
        JobStatus.PAUSED,
        "Paused by hand.",
        None,
        None,
    )
    stage.clock.advance(10**6)
    assert await stage.claim() == []
    resumed = await stage.tell("resume", job.id)
    assert (resumed.status, resumed.reason, resumed.due_at) == (JobStatus.PENDING, None, stage.clock())


async def test_a_pause_does_not_use_up_the_time_of_a_job(stage: Stage) -> None:
    stage = stage.doing(lambda _run: asyncio.sleep(0.01))
    job = await _in(stage, JobStatus.RUNNING)
    await stage.tell("pause", job.id)
    stage.clock.advance(7 * 24 * 3600)
    await stage.tell("resume", job.id)
    assert (await stage.work_on(job)).status is JobStatus.COMPLETED


async def test_a_job_that_waits_for_others_can_be_paused_too(stage: Stage) -> None:
    first, second = await stage.make(NewJob("work", key="a"), NewJob("work", after=("a",)))
    paused = await stage.tell("pause", second.id)
    assert (paused.due_at, paused.reason) == (None, "Paused by hand.")
    await stage.tell("resume", second.id)
    assert [job.id for job in await stage.claim(5)] == [first.id]
    assert (await stage.get(second.id)).status is JobStatus.PAUSED


async def test_cancel_wakes_those_that_wait(stage: Stage) -> None:
    first, second = await stage.make(NewJob("work", key="a"), NewJob("work", after=("a",)))
    stage.clock.advance(5)
    cancelled = await stage.tell("cancel", first.id)
    assert (cancelled.status, cancelled.reason) == (JobStatus.CANCELLED, "Cancelled by hand.")
    assert (cancelled.due_at, cancelled.finished_at) == (None, stage.clock())
    assert (await stage.get(second.id)).due_at == stage.clock()


async def test_retry_goes_on_from_the_last_progress(stage: Stage) -> None:
    job = await stage.make_one(deadline_seconds=5)
    (taken,) = await stage.claim()
    async with stage.run_of(taken).batch({"current_line": 4}):
        pass
    await stage.tell("cancel", job.id)
    stage.clock.advance(100)
    retried = await stage.tell("retry", job.id)
    assert (retried.status, retried.progress, retried.attempts) == (
        JobStatus.PENDING,
        {"current_line": 4},
        0,
    )
    assert (retried.finished_at, retried.deadline_at, retried.reason) == (None, None, None)
    assert (await stage.work_on(retried)).status is JobStatus.COMPLETED


async def test_retry_yields_to_a_newer_job_for_the_same_work(stage: Stage) -> None:
    old = await stage.make_one(dedupe_key="same")
    old = await stage.tell("cancel", old.id)
    await stage.make_one(dedupe_key="same")
    with pytest.raises(Conflict, match="Another job"):
        await stage.tell("retry", old.id)
    assert await stage.get(old.id) == old


async def test_a_job_that_is_not_there(stage: Stage) -> None:
    for verb in VERBS:
        with pytest.raises(NotFound):
            await stage.tell(verb, new_id())


async def test_retry_revives_what_failed_with_it(stage: Stage) -> None:
    """A chain of three, and one that was made for the work of its last link since."""

    async def refuse(run: Run) -> None:
        if run.job.context.get("bad") and run.job.epoch < 2:
            raise InvalidInput("No.", remedy="None.")

    busy = stage.doing(refuse)
    first, second, third, other = await busy.make(
        NewJob("work", key="a", context={"bad": True}),
        NewJob("work", key="b", after=("a",)),
        NewJob("work", key="c", after=("b",)),
        NewJob("work", key="d", after=("a",), dedupe_key="same"),
    )
    await busy.work_on(first)
    for _ in range(3):
        stage.clock.advance(100)
        assert await busy.claim() == []  # those that wait are looked at, and fail
    ended = [await stage.get(job.id) for job in (first, second, third, other)]
    assert {job.status for job in ended} == {JobStatus.FAILED}
    again = await stage.make_one(dedupe_key="same")
    await stage.tell("retry", first.id)
    told = [(await stage.get(job.id)).status for job in (first, second, third, other, again)]
    assert told == [JobStatus.PENDING] * 3 + [JobStatus.FAILED, JobStatus.PENDING]
    for job in (first, second, third):
        assert (await busy.work_on(job)).status is JobStatus.COMPLETED


@pytest.mark.parametrize(("verb", "status"), [("resume", JobStatus.PAUSED), ("retry", JobStatus.FAILED)])
async def test_of_two_at_once_one_is_told_no(stage: Stage, verb: str, status: JobStatus) -> None:
    job = await _in(stage, status)
    answers = await asyncio.gather(*[stage.tell(verb, job.id) for _ in range(2)], return_exceptions=True)
    refused = [answer for answer in answers if isinstance(answer, KosmosError)]
    assert [type(answer) for answer in refused] == [Conflict]
    after = await stage.get(job.id)
    assert (after.status, after.epoch) == (JobStatus.PENDING, job.epoch + 1)
    async with stage.db.read() as conn:
        assert await table.due_ids(conn, stage.clock(), limit=5) == [job.id]
