"""Workers and watchers of jobs that never look by themselves: only rings wake them."""

import asyncio

import pytest

from kosmos.bells import Bell, topics
from kosmos.domain.jobs import NewJob
from kosmos.jobs import watching, worker
from kosmos.jobs.run import Run
from kosmos.jobs.watching import follow

from .stage import Stage

NEVER = 600.0


@pytest.fixture(autouse=True)
def _blindly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "POLL_SECONDS", NEVER)
    monkeypatch.setattr(worker, "POLL_SECONDS", NEVER)


async def test_a_ring_wakes_a_worker_and_its_steps_wake_those_who_watch(stage: Stage) -> None:
    async def work(run: Run) -> None:
        for line in range(2):
            async with run.batch({"current_line": line + 1}):
                pass
            await asyncio.sleep(0.05)

    bell, stage = Bell(), stage.doing(work)
    ann = stage.worker()
    ann.bell = bell
    running = asyncio.create_task(ann.run())
    await asyncio.sleep(0.05)
    job = await stage.make_one()
    bell.ring(topics.DUE)
    async with asyncio.timeout(30):
        told = [event async for event in follow(stage.db, job.id, bell=bell) if event is not None]
    assert told == await stage.events(job.id)
    assert [event.status.value for event in told] == ["PENDING", *["RUNNING"] * 3, "COMPLETED"]
    ann.stop()
    await running


async def test_the_end_of_a_job_wakes_workers_for_those_that_waited_for_it(stage: Stage) -> None:
    bell = Bell()
    ann, bob = stage.worker("ann", slots=1), stage.worker("bob", slots=1)
    ann.bell = bob.bell = bell
    first = await stage.make_one()
    (second,) = await stage.make(NewJob("work", after=(first.id,)))
    heard = asyncio.Event()
    with bell.listen(topics.DUE, heard):
        async with ann.keeping():
            assert await ann.run_one(first.id)
        async with asyncio.timeout(30):
            await heard.wait()
    async with bob.keeping():
        assert await bob.run_one(second.id)
