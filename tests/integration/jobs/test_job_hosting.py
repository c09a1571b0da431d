"""A worker in a thread of its own: starting, waking, hanging, breaking and stopping."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest

from kosmos.db import Database
from kosmos.domain.jobs import Job, JobStatus
from kosmos.errors import ConfigError
from kosmos.jobs import hosting
from kosmos.jobs.hosting import JobThread
from kosmos.jobs.registry import Handler
from kosmos.jobs.run import Run
from kosmos.jobs.worker import Worker

from .stage import Stage

# What depends on the engine is tested beside this; here it would only cost time.
pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


class Hosted:
    """Makes workers as a server does: each with a database of its own."""

    def __init__(self, stage: Stage, handler: Handler, **options: Any) -> None:
        self.stage = stage.doing(handler, **options)
        self.opened = 0
        self.open_databases = 0

    def __call__(self) -> AbstractAsyncContextManager[Worker]:
        """Open one."""
        return self._open()

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[Worker]:
        db = Database(self.stage.db.url.render_as_string(hide_password=False))
        self.opened += 1
        self.open_databases += 1
        try:
            yield Worker(db, self.stage.registry, name="thread", clock=self.stage.clock)
        finally:
            self.open_databases -= 1
            await db.close()

    async def ended(self, job: Job) -> Job:
        """The job once it has ended."""
        return await self.stage.until(job.id, lambda found: found.status.ended)


@pytest.fixture(autouse=True)
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosting, "BEAT_SECONDS", 0.05)
    monkeypatch.setattr(hosting, "RESTART_SECONDS", 0.05)


async def _nothing(_run: Run) -> None:
    """Does nothing."""


async def test_a_thread_works_until_it_is_stopped(stage: Stage) -> None:
    hosted = Hosted(stage, _nothing)
    thread = JobThread(hosted)
    thread.start()
    try:
        job = await hosted.stage.make_one()
        thread.wake()
        assert (await hosted.ended(job)).status is JobStatus.COMPLETED
    finally:
        await asyncio.to_thread(thread.stop)
    assert hosted.open_databases == 0
    with pytest.raises(RuntimeError):
        thread.submit(Worker.stopped)
    thread.wake()


async def test_a_handler_that_never_yields_is_interrupted(stage: Stage) -> None:
    """Others go on afterwards, and so does the worker."""

    async def hang(run: Run) -> None:
        while run.job.context.get("hangs"):
            time.sleep(0.001)  # noqa: ASYNC251  (that is the point)

    hosted = Hosted(stage, hang, max_attempts=1)
    thread = JobThread(hosted, hang_seconds=0.3)
    thread.start()
    try:
        bad = await hosted.stage.make_one(context={"hangs": True})
        thread.wake()
        failed = await hosted.ended(bad)
        good = await hosted.stage.make_one()
        thread.wake()
        assert (await hosted.ended(good)).status is JobStatus.COMPLETED
    finally:
        await asyncio.to_thread(thread.stop)
    assert failed.status is JobStatus.FAILED
    assert "HandlerHung" in (failed.reason or "")
    assert hosted.opened == 1


async def test_stopping_gives_back_what_runs(stage: Stage) -> None:
    async def wait(run: Run) -> None:
        async with run.batch({"current_line": 1}):
            pass
        await asyncio.sleep(60)

    hosted = Hosted(stage, wait)
    job = await hosted.stage.make_one()
    thread = JobThread(hosted)
    thread.start()
    await stage.until(job.id, lambda found: bool(found.progress))
    await asyncio.to_thread(thread.stop)
    after = await stage.get(job.id)
    assert (after.status, after.due_at) == (JobStatus.PENDING, stage.clock())


async def test_without_polling_only_what_is_named_runs(stage: Stage) -> None:
    hosted = Hosted(stage, _nothing)
    left, named = await hosted.stage.make_one(), await hosted.stage.make_one()
    thread = JobThread(hosted, polling=False)
    thread.start()
    try:
        assert await asyncio.wrap_future(thread.submit(lambda worker: worker.run_one(named.id)))
    finally:
        await asyncio.to_thread(thread.stop)
    assert (await stage.get(named.id)).status is JobStatus.COMPLETED
    assert (await stage.get(left.id)).status is JobStatus.PENDING


async def test_what_keeps_a_worker_from_opening_is_told_to_whoever_starts_it(database_url: str) -> None:
    def broken() -> AbstractAsyncContextManager[Worker]:
        raise ConfigError("No database.")

    with pytest.raises(ConfigError, match="No database"):
        JobThread(broken).start()


async def test_a_worker_that_breaks_is_replaced(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    hosted = Hosted(stage, _nothing)
    run = Worker.run

    async def break_once(worker: Worker) -> None:
        if hosted.opened == 1:
            raise ValueError("broken")
        await run(worker)

    monkeypatch.setattr(Worker, "run", break_once)
    thread = JobThread(hosted)
    thread.start()
    try:
        job = await hosted.stage.make_one()
        assert (await hosted.ended(job)).status is JobStatus.COMPLETED
    finally:
        await asyncio.to_thread(thread.stop)
    assert (hosted.opened, hosted.open_databases) == (2, 0)
