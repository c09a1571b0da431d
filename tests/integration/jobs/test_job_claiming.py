"""Taking jobs: the most urgent first, one worker each, under the limits, after what they wait for."""

import asyncio
from collections import Counter
from datetime import timedelta

import pytest

from kosmos.db import Database
from kosmos.db import jobs as table
from kosmos.db.jobs import Ending
from kosmos.domain.jobs import Job, JobStatus, NewJob, OnFailure
from kosmos.errors import LeaseLost
from kosmos.jobs.claiming import LOOK_AHEAD
from kosmos.jobs.creation import RECHECK, WAITING
from kosmos.jobs.endings import Endings

from .stage import LEASE, Stage


async def _end(stage: Stage, job: Job, status: JobStatus = JobStatus.COMPLETED) -> None:
    endings = Endings(stage.db, stage.clock, patience=0)
    assert await endings.record(Ending(job.id, job.epoch, status, "Because."))


async def test_a_claim_is_a_lease_an_epoch_and_an_attempt(stage: Stage) -> None:
    job = await stage.make_one()
    (taken,) = await stage.claim()
    assert taken == await stage.get(job.id)
    assert (taken.status, taken.epoch, taken.attempts, taken.worker) == (JobStatus.RUNNING, 1, 1, "ann")
    assert (taken.due_at, taken.started_at) == (stage.clock() + LEASE, stage.clock())
    assert await stage.claim() == []


async def test_urgent_jobs_come_first_then_old_ones(stage: Stage) -> None:
    old = await stage.make_one()
    stage.clock.advance(1)
    new = await stage.make_one()
    urgent = await stage.make_one(priority=5)
    idle = await stage.make_one(priority=-5)
    taken = [job.id for _ in range(4) for job in await stage.claim()]
    assert taken == [urgent.id, old.id, new.id, idle.id]


async def test_a_lease_that_is_over_lets_another_worker_in(stage: Stage) -> None:
    await stage.make_one()
    (first,) = await stage.claim(name="ann")
    stage.clock.advance(LEASE.total_seconds() - 0.001)
    assert await stage.claim(name="bob") == []
    stage.clock.advance(0.001)
    (second,) = await stage.claim(name="bob")
    assert (second.epoch, second.attempts, second.worker) == (2, 2, "bob")
    assert second.started_at == first.started_at
    with pytest.raises(LeaseLost):
        async with stage.run_of(first).batch({"current_line": 1}):
            pass


async def test_a_named_job_is_taken_before_urgent_ones(stage: Stage) -> None:
    await stage.make_one(priority=9)
    job = await stage.make_one()
    assert [taken.id for taken in await stage.claimer().claim(1, only=job.id)] == [job.id]
    assert await stage.claimer().claim(1, only=job.id) == []


async def test_limits_of_types_and_lanes_hold_over_all_workers(stage: Stage) -> None:
    await stage.make(*[NewJob("work") for _ in range(3)])
    await stage.make(*[NewJob("other", lane="key", lane_limit=2) for _ in range(3)])
    limits = {"work": 1}
    taken = await stage.claimer("ann", limits).claim(10) + await stage.claimer("bob", limits).claim(10)
    assert Counter(job.type for job in taken) == {"work": 1, "other": 2}
    await _end(stage, next(job for job in taken if job.type == "work"))
    assert [job.type for job in await stage.claimer("bob", limits).claim(10)] == ["work"]


async def test_what_is_full_does_not_hold_up_others(stage: Stage) -> None:
    """Many jobs of a full lane and of a full type stand before one that could run."""
    many = 3 * LOOK_AHEAD
    await stage.make(*[NewJob("work", lane="busy", lane_limit=1, priority=2) for _ in range(many)])
    await stage.make(*[NewJob("other", priority=1) for _ in range(many)])
    last = await stage.make_one(lane="free", lane_limit=1)
    claimer = stage.claimer("ann", {"other": 1})
    first, second = await claimer.claim(1), await claimer.claim(1)
    assert [job.type for job in first + second] == ["work", "other"]
    assert [job.id for job in await claimer.claim(1)] == [last.id]
    assert await claimer.claim(1) == []


async def test_a_lease_that_is_over_still_has_its_place(stage: Stage) -> None:
    """Its worker may come back and go on: two of a lane for one would run then."""
    job = await stage.make_one(lane="key", lane_limit=1)
    (held,) = await stage.claim(name="ann")
    stage.clock.advance(60)
    await stage.make_one(lane="key", lane_limit=1, priority=5)
    (taken,) = await stage.claim(5, name="bob")
    assert (taken.id, taken.epoch) == (job.id, held.epoch + 1)


async def test_a_waiting_job_rests_until_the_last_has_ended(stage: Stage) -> None:
    one, two, last = await stage.make(
        NewJob("work", key="a"), NewJob("work", key="b"), NewJob("other", after=("a", "b"))
    )
    claims = {job.id: job for job in await stage.claim(5)}
    assert set(claims) == {one.id, two.id}
    stage.clock.advance(5)
    await _end(stage, claims[one.id])
    assert (await stage.get(last.id)).due_at == stage.clock()
    assert await stage.claim() == []
    resting = await stage.get(last.id)
    assert (resting.status, resting.reason, resting.due_at) == (
        JobStatus.PAUSED,
        WAITING,
        stage.clock() + RECHECK,
    )
    await _end(stage, claims[two.id])
    assert [job.id for job in await stage.claim()] == [last.id]


@pytest.mark.parametrize("status", [JobStatus.FAILED, JobStatus.CANCELLED])
async def test_a_dependency_that_fails_takes_its_dependants_along(stage: Stage, status: JobStatus) -> None:
    first, second, third = await stage.make(
        NewJob("work", key="a"), NewJob("work", key="b", after=("a",)), NewJob("work", after=("b",))
    )
    (claim,) = await stage.claim()
    await _end(stage, claim, status)
    assert await stage.claim() == []
    assert await stage.claim() == []
    assert (await stage.get(second.id)).reason == f"The job {first.id} it waited for ended as {status}."
    assert (await stage.get(third.id)).reason == f"The job {second.id} it waited for ended as FAILED."
    assert (await stage.get(third.id)).finished_at == stage.clock()


async def test_a_dependant_may_go_on_without(stage: Stage) -> None:
    first, second = await stage.make(
        NewJob("work", key="a"), NewJob("work", after=("a",), on_failure=OnFailure.CONTINUE)
    )
    await stage.tell("cancel", first.id)
    assert [job.id for job in await stage.claim()] == [second.id]


async def test_waking_leaves_those_alone_that_a_person_paused(stage: Stage) -> None:
    first, second = await stage.make(NewJob("work", key="a"), NewJob("work", after=("a",)))
    await stage.tell("pause", second.id)
    (claim,) = await stage.claim()
    await _end(stage, claim)
    paused = await stage.get(second.id)
    assert (claim.id, paused.status, paused.due_at) == (first.id, JobStatus.PAUSED, None)


async def test_without_a_wake_up_a_dependant_is_found_by_itself(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def wake_nobody(*_args: object) -> int:
        return 0

    _, second = await stage.make(NewJob("work", key="a"), NewJob("work", after=("a",)))
    (claim,) = await stage.claim()
    monkeypatch.setattr(table, "wake_dependants", wake_nobody)
    await _end(stage, claim)
    assert await stage.claim() == []
    stage.clock.advance(RECHECK.total_seconds())
    assert [job.id for job in await stage.claim()] == [second.id]


async def test_many_claimers_at_once_take_each_job_once(stage: Stage, database_url: str) -> None:
    await stage.make(*[NewJob("work", lane="key", lane_limit=7) for _ in range(12)])
    await stage.make(*[NewJob("other") for _ in range(12)])
    others = [Database(database_url) for _ in range(4)]
    claimers = [
        Stage(db, stage.clock).claimer(f"w{index}", {"other": 9})
        for index, db in enumerate(others)
        for _ in "ab"
    ]
    try:
        found = await asyncio.gather(*(claimer.claim(4) for claimer in claimers))
        found += [await claimer.claim(30) for claimer in claimers]
    finally:
        for db in others:
            await db.close()
    taken = [job for jobs in found for job in jobs]
    assert len({job.id for job in taken}) == len(taken)
    assert Counter(job.type for job in taken) == {"work": 7, "other": 9}
    assert all(job.epoch == 1 for job in taken)
    assert all(job.due_at == stage.clock() + timedelta(seconds=10) for job in taken)
