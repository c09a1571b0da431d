"""The worker: runs handlers, keeps leases, and records every way in which a handler can end."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from typing import Any

import pytest

from kosmos.db import jobs as table
from kosmos.domain.jobs import Job, JobStatus, NewJob, Spent
from kosmos.errors import EngineUnavailable, Forbidden, InvalidInput, NotReady, ProviderBusy
from kosmos.jobs.registry import JobType, Registry
from kosmos.jobs.run import Run
from kosmos.jobs.worker import MAX_RESULT

from .stage import Stage, lines, write_line

# What depends on the engine is tested beside this; here it would only cost time.
pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)

SHORT = timedelta(seconds=0.15)


def _raising(error: BaseException) -> Callable[[Run], Awaitable[None]]:
    async def handler(_run: Run) -> None:
        raise error

    return handler


async def _outcome(stage: Stage) -> Job:
    return await stage.work_on(await stage.make_one())


async def test_a_job_runs_in_batches_to_its_end(stage: Stage) -> None:
    async def count(run: Run) -> Mapping[str, Any]:
        for line in range(run.progress.get("current_line", 0), 4):
            run.spend(Spent(prompt_tokens=2))
            async with run.batch({"current_line": line + 1}) as conn:
                await write_line(conn, f"line {line}")
        run.spend(Spent(output_tokens=1))
        return {"lines": 4}

    job = await _outcome(stage.doing(count))
    assert (job.status, job.result, job.progress) == (
        JobStatus.COMPLETED,
        {"lines": 4},
        {"current_line": 4},
    )
    assert job.spent == Spent(prompt_tokens=8, output_tokens=1)
    assert await lines(stage.db) == [f"line {line}" for line in range(4)]


@pytest.mark.parametrize(
    ("error", "status", "attempts"),
    [
        (InvalidInput("Wrong."), JobStatus.FAILED, 1),
        (RuntimeError("boom"), JobStatus.PENDING, 1),
        (TimeoutError("no answer"), JobStatus.PENDING, 1),
        (asyncio.CancelledError("from inside"), JobStatus.PENDING, 1),
        (NotReady("Not yet."), JobStatus.PAUSED, 0),
        (ProviderBusy("Slow down.", retry_after=5), JobStatus.PAUSED, 0),
        (EngineUnavailable("Away."), JobStatus.PAUSED, 0),
    ],
)
async def test_a_handler_that_raises(
    stage: Stage, error: BaseException, status: JobStatus, attempts: int
) -> None:
    job = await _outcome(stage.doing(_raising(error)))
    assert (job.status, job.attempts, job.worker) == (status, attempts, None)
    assert job.reason
    assert (job.due_at is None) is status.ended
    if job.due_at is not None:
        assert job.due_at > stage.clock()


async def test_errors_are_tried_again_until_the_attempts_are_used_up(stage: Stage) -> None:
    stage = stage.doing(_raising(RuntimeError("boom")), max_attempts=2)
    job = await _outcome(stage)
    stage.clock.advance(60)
    job = await stage.work_on(job)
    assert job.status is JobStatus.FAILED
    assert job.reason == "Failed after 2 attempts. Last error: RuntimeError: boom"


@pytest.mark.parametrize(
    "result", [{"what": object()}, {"much": "x" * MAX_RESULT}, {"none": "\x00"}, {"nan": float("nan")}]
)
async def test_a_result_that_cannot_be_stored_fails_the_job(stage: Stage, result: dict[str, Any]) -> None:
    async def handler(_run: Run) -> Mapping[str, Any]:
        return result

    job = await _outcome(stage.doing(handler))
    assert (job.status, job.result) == (JobStatus.FAILED, None)
    assert "result" in (job.reason or "")


@pytest.mark.parametrize("own", [True, False])
async def test_the_deadline_ends_a_job(stage: Stage, *, own: bool) -> None:
    async def handler(_run: Run) -> None:
        await asyncio.sleep(60)

    stage = stage.doing(handler, deadline_seconds=3600.0 if own else 0.05)
    job = await stage.make_one(deadline_seconds=0.05 if own else None)
    job = await stage.work_on(job)
    assert (job.status, job.due_at) == (JobStatus.FAILED, None)
    assert job.reason == "The deadline has passed. Retry it with more time, or split the work."


async def test_a_type_that_this_worker_does_not_know_is_left_to_others(stage: Stage) -> None:
    job = await stage.make_one("other")
    knows_less = Stage(stage.db, stage.clock, Registry(JobType("work", _raising(ValueError()))))
    job = await knows_less.work_on(job)
    assert (job.status, job.attempts) == (JobStatus.PAUSED, 0)
    assert "knows the job type 'other'" in (job.reason or "")


async def test_what_was_checked_at_creation_is_checked_again(stage: Stage) -> None:
    job = await _outcome(
        stage.doing(_raising(AssertionError("not called")), recheck=_raising(Forbidden("No longer.")))
    )
    assert (job.status, job.reason) == (JobStatus.FAILED, "No longer.")


async def test_crashes_without_progress_come_to_an_end(stage: Stage) -> None:
    stage = stage.doing(_raising(AssertionError("not called")), max_attempts=2)
    job = await stage.make_one()
    for _ in range(2):
        await stage.claim()  # and die
        stage.clock.advance(60)
    job = await stage.work_on(job)
    assert (job.status, job.attempts) == (JobStatus.FAILED, 3)
    assert "2 attempts in a row ended without progress" in (job.reason or "")


async def test_what_gets_past_an_obstacle_has_its_attempts_too(stage: Stage) -> None:
    async def skip(run: Run) -> Mapping[str, Any]:
        async with run.batch({"current_line": 1}):
            pass
        return {"skipped": 1}

    stage = stage.doing(_raising(AssertionError("not called")), exhausted=skip, max_attempts=2)
    rescued, lost = await stage.make(NewJob("work"), NewJob("work"))
    await stage.put(rescued.id, attempts=2)
    await stage.put(lost.id, attempts=4)
    rescued, lost = await stage.work_on(rescued), await stage.work_on(lost)
    assert (rescued.status, rescued.result, rescued.attempts) == (JobStatus.COMPLETED, {"skipped": 1}, 0)
    assert lost.status is JobStatus.FAILED
    assert "without progress" in (lost.reason or "")


@pytest.mark.parametrize("verb", ["cancel", "pause"])
async def test_a_handler_in_the_middle_of_something_is_stopped(stage: Stage, verb: str) -> None:
    began, stopped = asyncio.Event(), asyncio.Event()

    async def handler(run: Run) -> None:
        run.spend(Spent(prompt_tokens=7))
        began.set()
        try:
            await asyncio.sleep(60)
        finally:
            stopped.set()

    stage = stage.doing(handler)
    job = await stage.make_one()
    worker = stage.worker(lease=SHORT)
    async with worker.keeping():
        running = asyncio.create_task(worker.run_one(job.id))
        await began.wait()
        told = await stage.tell(verb, job.id)
        await stopped.wait()
        await running
    after = await stage.get(job.id)
    assert (after.status, after.epoch, after.reason) == (told.status, told.epoch, told.reason)
    assert after.spent == Spent(prompt_tokens=7)


async def test_a_lease_is_kept_while_the_handler_works(stage: Stage) -> None:
    async def handler(run: Run) -> None:
        await run.lost.wait()

    stage = stage.doing(handler)
    job = await stage.make_one()
    worker = stage.worker(lease=SHORT)
    async with worker.keeping():
        running = asyncio.create_task(worker.run_one(job.id))
        await stage.until(job.id, lambda found: found.status is JobStatus.RUNNING)
        stage.clock.advance(1000)
        await stage.until(job.id, lambda found: found.due_at == stage.clock() + SHORT)
        assert worker.busy == 1
    await running
    after = await stage.get(job.id)
    assert (after.status, after.attempts) == (JobStatus.PENDING, 0)
    assert after.reason == "Given back by a worker that stopped."


async def test_a_lost_claim_does_not_take_the_next_one_along(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The renewal speaks of an old claim, while the same worker already has a new one of the same job."""
    job = await stage.make_one()
    worker = stage.worker()
    (old,) = await stage.claim()
    stage.clock.advance(60)
    (new,) = await stage.claim()
    runs = {asyncio.create_task(asyncio.sleep(60)): stage.run_of(claim) for claim in (old, new)}
    monkeypatch.setattr(worker, "_runs", runs)
    first, second = runs
    async with stage.db.write() as conn:
        held = await table.renew(conn, [(job.id, 1), (job.id, 2)], now=stage.clock(), until=stage.clock())
    assert held == {(job.id, 2)}
    worker._abandon({(job.id, 1), (job.id, 2)} - held)
    await asyncio.sleep(0)
    assert [run.lost.is_set() for run in runs.values()] == [True, False]
    assert (first.cancelled(), second.done()) == (True, False)
    second.cancel()


async def test_a_worker_looks_for_work_until_it_is_stopped(stage: Stage) -> None:
    done: asyncio.Queue[str] = asyncio.Queue()

    async def handler(run: Run) -> None:
        done.put_nowait(run.job.id)

    stage = stage.doing(handler)
    first, second = await stage.make(NewJob("work", key="a"), NewJob("work", after=("a",)))
    worker = stage.worker(slots=2)
    running = asyncio.create_task(worker.run())
    assert [await done.get(), await done.get()] == [first.id, second.id]
    third = await stage.make_one()
    worker.wake()
    assert await done.get() == third.id
    await worker.idle()
    worker.stop()
    await running
    assert (await stage.get(third.id)).status is JobStatus.COMPLETED
    assert not await worker.run_one()


async def test_stopping_gives_back_at_once_what_runs(stage: Stage) -> None:
    async def handler(run: Run) -> None:
        async with run.batch({"current_line": 2}):
            pass
        await asyncio.sleep(60)

    stage = stage.doing(handler)
    jobs = await stage.make(NewJob("work"), NewJob("work"))
    worker = stage.worker(slots=2)
    running = asyncio.create_task(worker.run())
    for job in jobs:
        await stage.until(job.id, lambda found: found.progress == {"current_line": 2})
    worker.stop()
    await running
    for job in jobs:
        after = await stage.get(job.id)
        assert (after.status, after.due_at, after.attempts) == (JobStatus.PENDING, stage.clock(), 0)
        assert after.progress == {"current_line": 2}
    assert len(await stage.claim(5, name="bob")) == 2


async def test_a_database_that_is_away_is_waited_for(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    job = await stage.make_one()
    worker = stage.worker()
    claim, tries = worker._claimer.claim, 0

    class Flaky:
        async def claim(self, want: int) -> list[Job]:
            nonlocal tries
            tries += 1
            if tries < 3:
                raise EngineUnavailable if tries == 1 else ValueError
            return await claim(want)

    monkeypatch.setattr("kosmos.jobs.worker.POLL_SECONDS", 0.01)
    monkeypatch.setattr(worker, "_claimer", Flaky())
    running = asyncio.create_task(worker.run())
    await worker.idle()
    worker.stop()
    await running
    assert tries >= 3
    assert (await stage.get(job.id)).status is JobStatus.COMPLETED
