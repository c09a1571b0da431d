"""Jobs that do nothing on the runners of Kosmos, for `bench/jobs.py`. Does nothing when run."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from kosmos.db import Database
from kosmos.domain.clock import system_clock
from kosmos.domain.jobs import NewJob
from kosmos.jobs.creation import create_jobs
from kosmos.jobs.dramatiq_runner import DramatiqRunner, make_broker, send
from kosmos.jobs.hosting import JobThread
from kosmos.jobs.registry import JobType, Registry
from kosmos.jobs.run import Run
from kosmos.jobs.worker import Worker

TYPE = "nothing"
BULK = 100
POLL_SECONDS = 0.01


class Countdown:
    """The one type of job: it does nothing but count."""

    def __init__(self) -> None:
        self._left = 0
        self.done = threading.Event()
        self.registry = Registry(JobType(TYPE, self._handle))

    def start(self, count: int) -> None:
        """Count down from here."""
        self._left = count
        self.done.clear()

    async def _handle(self, run: Run) -> None:  # noqa: ARG002
        self._left -= 1
        if self._left == 0:
            self.done.set()


async def create_singly(db: Database, registry: Registry, count: int) -> list[str]:
    """One transaction for each job, as when users ask for one thing after the other."""
    made = []
    for _ in range(count):
        async with db.brief() as conn:
            made += await create_jobs(conn, registry, [NewJob(TYPE)], system_clock())
    return [job.id for job in made]


async def create_in_bulk(db: Database, registry: Registry, count: int) -> list[str]:
    """One transaction for a hundred jobs, as when a folder is added."""
    made = []
    for _ in range(count // BULK):
        async with db.write() as conn:
            made += await create_jobs(conn, registry, [NewJob(TYPE)] * BULK, system_clock())
    return [job.id for job in made]


async def work_embedded(db: Database, countdown: Countdown, slots: int, measure: Callable[[], None]) -> None:
    """Run the embedded worker until all are done; `measure` is called at the start and at the end."""
    worker = Worker(db, countdown.registry, name="bench", slots=slots)
    measure()
    running = asyncio.create_task(worker.run())
    while worker.busy or not countdown.done.is_set():  # noqa: ASYNC110  (an event would be one more cost)
        await asyncio.sleep(POLL_SECONDS)
    measure()
    worker.stop()
    await running


class UnderDramatiq:
    """Kosmos woken by Dramatiq, in this process."""

    def __init__(self, database: str, redis: str, slots: int) -> None:
        self.countdown = Countdown()
        self._sender = make_broker(redis)

        @asynccontextmanager
        async def make() -> AsyncIterator[Worker]:
            db = Database(database)
            try:
                yield Worker(db, self.countdown.registry, name="bench", slots=slots)
            finally:
                await db.close()

        self._thread = JobThread(make, polling=False)
        self._runner = DramatiqRunner(redis, self._thread, threads=slots)

    def send(self, ids: list[str]) -> None:
        """Tell the workers of jobs, as whoever makes them does."""
        send(self._sender, ids)

    def work(self, measure: Callable[[], None]) -> None:
        """Work until all are done."""
        self._thread.start()
        measure()
        self._runner.start()
        self.countdown.done.wait()
        self._thread.submit(lambda worker: worker.idle()).result()
        measure()
        self._runner.stop()
        self._sender.close()
