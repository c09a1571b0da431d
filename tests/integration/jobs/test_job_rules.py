"""The rules that the database keeps by itself, whoever writes; and the events it writes for everybody."""

from datetime import timedelta
from itertools import permutations
from typing import Any

import pytest
import sqlalchemy as sa

from kosmos.domain.jobs import TRANSITIONS, JobStatus

from .stage import Stage

# How to come from PENDING to each status by legal steps.
WAYS: dict[JobStatus, tuple[JobStatus, ...]] = {
    JobStatus.PENDING: (),
    JobStatus.RUNNING: (JobStatus.RUNNING,),
    JobStatus.PAUSED: (JobStatus.PAUSED,),
    JobStatus.COMPLETED: (JobStatus.RUNNING, JobStatus.COMPLETED),
    JobStatus.FAILED: (JobStatus.FAILED,),
    JobStatus.CANCELLED: (JobStatus.CANCELLED,),
}


def _as(stage: Stage, status: JobStatus) -> dict[str, Any]:
    return {"status": status.value, "due_at": None if status.ended else stage.clock()}


async def test_only_legal_transitions_are_possible(stage: Stage) -> None:
    for old, new in permutations(JobStatus, 2):
        job = await stage.make_one()
        for step in WAYS[old]:
            await stage.put(job.id, **_as(stage, step))
        before = await stage.get(job.id)
        if new in TRANSITIONS[old]:
            await stage.put(job.id, **_as(stage, new))
            assert (await stage.get(job.id)).status is new
        else:
            with pytest.raises(sa.exc.IntegrityError, match="illegal job transition"):
                await stage.put(job.id, **_as(stage, new))
            assert await stage.get(job.id) == before


async def test_an_epoch_never_falls(stage: Stage) -> None:
    job = await stage.make_one()
    await stage.put(job.id, epoch=7)
    with pytest.raises(sa.exc.IntegrityError, match="illegal job transition"):
        await stage.put(job.id, epoch=6)
    assert (await stage.get(job.id)).epoch == 7


async def test_what_waits_or_runs_is_due_and_what_has_ended_is_not(stage: Stage) -> None:
    job = await stage.make_one()
    for status in ("PENDING", "RUNNING"):
        with pytest.raises(sa.exc.IntegrityError):
            await stage.put(job.id, status=status, due_at=None)
    for status in ("FAILED", "CANCELLED", "SLEEPING"):
        with pytest.raises(sa.exc.IntegrityError):
            await stage.put(job.id, status=status)
    assert await stage.get(job.id) == job


async def test_every_transition_and_step_of_progress_is_an_event(stage: Stage) -> None:
    job = await stage.make_one()
    (taken,) = await stage.claim()
    run = stage.run_of(taken)
    stage.clock.advance(1)
    async with run.batch({"current_line": 3}):
        pass
    async with run.batch({"current_line": 3}):
        pass
    await stage.tell("pause", job.id)
    await stage.tell("pause", job.id)
    story = [(event.status.value, dict(event.progress), event.epoch) for event in await stage.events(job.id)]
    assert story == [
        ("PENDING", {}, 0),
        ("RUNNING", {}, 1),
        ("RUNNING", {"current_line": 3}, 1),
        ("PAUSED", {"current_line": 3}, 2),
    ]
    events = await stage.events(job.id)
    assert [event.sequence for event in events] == sorted({event.sequence for event in events})
    assert events[-1].reason == "Paused by hand."
    assert events[2].created_at == events[0].created_at + timedelta(seconds=1)


async def test_a_renewed_lease_is_no_event(stage: Stage) -> None:
    job = await stage.make_one()
    await stage.claim()
    await stage.put(job.id, due_at=stage.clock() + timedelta(seconds=30), attempts=2)
    assert len(await stage.events(job.id)) == 2
