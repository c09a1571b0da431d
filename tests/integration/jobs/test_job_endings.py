"""Recording how claims ended: together, under the fence, and patiently."""

import asyncio
from contextlib import AbstractAsyncContextManager
from datetime import timedelta

import pytest
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.db.jobs import Ending
from kosmos.domain.jobs import Job, JobStatus, NewJob, Spent
from kosmos.errors import EngineUnavailable
from kosmos.jobs import endings as endings_module
from kosmos.jobs.endings import Endings

from .stage import Stage


class _Counted:
    """Counts transactions, and fails the first few."""

    def __init__(self, stage: Stage, monkeypatch: pytest.MonkeyPatch, *, failures: int = 0) -> None:
        self.transactions = 0
        self._failures = failures
        self._brief = stage.db.brief
        monkeypatch.setattr(stage.db, "brief", self._count)
        monkeypatch.setattr(endings_module, "RETRY_SECONDS", 0.001)

    def _count(self) -> AbstractAsyncContextManager[AsyncConnection]:
        self.transactions += 1
        if self.transactions <= self._failures:
            raise EngineUnavailable
        return self._brief()


async def _claims(stage: Stage, count: int) -> list[Job]:
    await stage.make(*[NewJob("work") for _ in range(count)])
    return await stage.claim(count)


def _completed(job: Job) -> Ending:
    return Ending(job.id, job.epoch, JobStatus.COMPLETED)


async def test_what_ends_meanwhile_goes_into_one_transaction(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = await _claims(stage, 12)
    counted = _Counted(stage, monkeypatch)
    endings = Endings(stage.db, stage.clock, patience=0)
    assert await asyncio.gather(*(endings.record(_completed(job)) for job in jobs)) == [True] * 12
    assert counted.transactions <= 2
    for job in jobs:
        after = await stage.get(job.id)
        assert (after.status, after.due_at, after.worker) == (JobStatus.COMPLETED, None, None)
        assert after.finished_at == stage.clock()


async def test_every_ending_leaves_its_own_mark(stage: Stage) -> None:
    one, two, three, four = await _claims(stage, 4)
    endings = Endings(stage.db, stage.clock, patience=0)
    later = stage.clock() + timedelta(seconds=30)
    paused = JobStatus.PAUSED
    await asyncio.gather(
        endings.record(Ending(one.id, 1, JobStatus.COMPLETED, result={"chunks": 3}, spent=Spent(5))),
        endings.record(Ending(two.id, 1, JobStatus.FAILED, "Broken.", spent=Spent(0, 0, 2, 0.5))),
        endings.record(Ending(three.id, 1, paused, "Busy.", due_at=later, counts=False)),
        endings.record(Ending(four.id, 1, JobStatus.PENDING, "Again.", due_at=later)),
    )
    first, second = await stage.get(one.id), await stage.get(two.id)
    assert (first.result, first.spent) == ({"chunks": 3}, Spent(5))
    assert (second.reason, second.spent, second.due_at) == ("Broken.", Spent(0, 0, 2, 0.5), None)
    third, fourth = await stage.get(three.id), await stage.get(four.id)
    assert (third.status, third.due_at, third.attempts, third.finished_at) == (paused, later, 0, None)
    assert (fourth.status, fourth.due_at, fourth.attempts) == (JobStatus.PENDING, later, 1)


async def test_an_attempt_that_does_not_count_never_counts_below_nothing(stage: Stage) -> None:
    (job,) = await _claims(stage, 1)
    async with stage.run_of(job).batch({"current_line": 1}):
        pass
    endings = Endings(stage.db, stage.clock, patience=0)
    ending = Ending(job.id, 1, JobStatus.PAUSED, "Busy.", due_at=stage.clock(), counts=False)
    assert await endings.record(ending)
    assert (await stage.get(job.id)).attempts == 0


@pytest.mark.parametrize("status", [JobStatus.COMPLETED, JobStatus.FAILED])
async def test_an_ending_of_an_old_claim_changes_nothing(stage: Stage, status: JobStatus) -> None:
    old, other = await _claims(stage, 2)
    stage.clock.advance(60)
    await stage.claimer("bob").claim(1, only=old.id)
    before = await stage.get(old.id)
    endings = Endings(stage.db, stage.clock, patience=0)
    written = await asyncio.gather(
        endings.record(Ending(old.id, old.epoch, status, "Late.")), endings.record(_completed(other))
    )
    assert list(written) == [False, True]
    assert await stage.get(old.id) == before


async def test_one_that_cannot_be_written_does_not_spoil_the_others(stage: Stage) -> None:
    good, bad, fine = await _claims(stage, 3)
    endings = Endings(stage.db, stage.clock, patience=0)
    written = await asyncio.gather(
        endings.record(_completed(good)),
        endings.record(Ending(bad.id, 1, JobStatus.COMPLETED, result={"what": object()})),
        endings.record(Ending(fine.id, 1, JobStatus.FAILED, "Broken.")),
    )
    assert list(written) == [True, False, True]
    assert (await stage.get(bad.id)).status is JobStatus.RUNNING
    assert (await stage.get(fine.id)).reason == "Broken."
    assert await endings.record(Ending(bad.id, 1, JobStatus.FAILED, "So."))


async def test_a_database_that_is_away_for_a_moment_is_waited_for(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    (job,) = await _claims(stage, 1)
    counted = _Counted(stage, monkeypatch, failures=3)
    assert await Endings(stage.db, stage.clock, patience=1).record(_completed(job))
    assert counted.transactions == 4


async def test_patience_ends_with_the_lease(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    (job,) = await _claims(stage, 1)
    counted = _Counted(stage, monkeypatch, failures=10**6)
    assert not await Endings(stage.db, stage.clock, patience=0.01).record(_completed(job))
    assert counted.transactions < 100
