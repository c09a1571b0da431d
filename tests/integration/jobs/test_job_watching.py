"""Following a job: everything that happens, in order, once, until it has ended."""

import asyncio
from typing import Any

import pytest
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.db import jobs as table
from kosmos.domain.ids import new_id
from kosmos.domain.jobs import JobEvent
from kosmos.jobs import watching
from kosmos.jobs.watching import follow

from .stage import Stage


@pytest.fixture(autouse=True)
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "POLL_SECONDS", 0.005)


async def _story(stage: Stage, job_id: str, after: int = 0) -> list[JobEvent]:
    return [event async for event in follow(stage.db, job_id, after=after) if event is not None]


async def test_events_come_as_they_happen_until_the_end(stage: Stage) -> None:
    job = await stage.make_one()
    watcher = asyncio.create_task(_story(stage, job.id))
    (taken,) = await stage.claim()
    run = stage.run_of(taken)
    for line in range(3):
        await asyncio.sleep(0.01)
        async with run.batch({"current_line": line + 1}):
            pass
    await stage.tell("cancel", job.id)
    events = await watcher
    assert events == await stage.events(job.id)
    assert [event.status.value for event in events] == ["PENDING", *["RUNNING"] * 4, "CANCELLED"]
    assert await _story(stage, job.id, after=events[3].sequence) == events[4:]


async def test_a_retried_job_is_followed_on(stage: Stage) -> None:
    job = await stage.make_one()
    await stage.tell("cancel", job.id)
    await stage.tell("retry", job.id)
    watcher = asyncio.create_task(_story(stage, job.id))
    await asyncio.sleep(0.02)
    assert not watcher.done()
    await stage.tell("cancel", job.id)
    assert [event.status.value for event in await watcher] == ["PENDING", "CANCELLED", "PENDING", "CANCELLED"]


async def test_a_job_that_is_not_there_has_no_story(stage: Stage) -> None:
    assert await _story(stage, new_id()) == []


async def test_silence_is_told_too(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "QUIET_SECONDS", 0.01)
    job = await stage.make_one()
    seen: list[JobEvent | None] = []
    async for event in follow(stage.db, job.id):
        seen.append(event)
        if event is None and len(seen) == 3:
            await stage.tell("cancel", job.id)
    assert [event and event.status.value for event in seen] == ["PENDING", None, None, "CANCELLED"]


async def test_the_last_event_is_never_missed(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """The job ends between the two looks of one poll: at its events, and at itself."""
    job = await stage.make_one()
    looks = 0

    def then_cancel(name: str) -> Any:
        real = getattr(table, name)

        async def look(conn: AsyncConnection, *args: Any, **options: Any) -> Any:
            nonlocal looks
            found = await real(conn, *args, **options)
            looks += 1
            if looks == 3:  # the first look of the second poll
                monkeypatch.undo()
                await stage.tell("cancel", job.id)
            return found

        return look

    for name in ("get_job", "events_after"):
        monkeypatch.setattr(table, name, then_cancel(name))
    assert [event.status.value for event in await _story(stage, job.id)] == ["PENDING", "CANCELLED"]
