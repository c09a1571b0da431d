"""What tests of jobs do over and over: make jobs, take them, look at them, count lines of work."""

import asyncio
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.db import Database
from kosmos.db import jobs as table
from kosmos.db.tables import job
from kosmos.domain.jobs import Job, JobEvent, NewJob
from kosmos.doubles.clock import FixedClock
from kosmos.jobs import control
from kosmos.jobs.claiming import Claimer
from kosmos.jobs.creation import create_jobs
from kosmos.jobs.registry import Handler, JobType, Registry
from kosmos.jobs.run import Run
from kosmos.jobs.worker import Worker

LEASE = timedelta(seconds=10)


async def nothing(_run: Run) -> None:
    """Does nothing."""


PLAIN = Registry(JobType("work", nothing), JobType("other", nothing))


@dataclass(frozen=True, slots=True)
class Stage:
    """A database and a clock, with types of jobs."""

    db: Database
    clock: FixedClock
    registry: Registry = PLAIN

    def doing(self, handler: Handler, **options: Any) -> "Stage":
        """The same stage where `work` is done by this handler."""
        return replace(
            self, registry=Registry(JobType("work", handler, **options), JobType("other", nothing))
        )

    async def make(self, *wanted: NewJob) -> list[Job]:
        """Store jobs; one plain job when nothing else is said."""
        async with self.db.write() as conn:
            return await create_jobs(conn, self.registry, wanted or (NewJob("work"),), self.clock())

    async def make_one(self, kind: str = "work", **values: Any) -> Job:
        """Store one job."""
        (made,) = await self.make(NewJob(kind, **values))
        return made

    def claimer(self, name: str = "ann", limits: Mapping[str, int] | None = None) -> Claimer:
        """Somebody who takes jobs."""
        return Claimer(
            self.db, self.clock, name, LEASE, limits if limits is not None else self.registry.limits
        )

    async def claim(self, want: int = 1, name: str = "ann") -> list[Job]:
        """Take jobs."""
        return await self.claimer(name).claim(want)

    def run_of(self, job: Job) -> Run:
        """What a handler of that claim would get."""
        return Run(job, db=self.db, clock=self.clock, lease=LEASE)

    def worker(self, name: str = "ann", **options: Any) -> Worker:
        """A worker that goes by the clock of the stage."""
        values = {"clock": self.clock, "lease": LEASE, "rng": random.Random(1), **options}
        return Worker(self.db, self.registry, name=name, **values)

    async def work_on(self, job: Job) -> Job:
        """Let a worker take the job and run it to its end; how it is afterwards."""
        worker = self.worker()
        async with worker.keeping():
            assert await worker.run_one(job.id)
        return await self.get(job.id)

    async def get(self, job_id: str) -> Job:
        """The job as it is now."""
        async with self.db.read() as conn:
            found = await table.get_job(conn, job_id)
        assert found is not None
        return found

    async def until(self, job_id: str, holds: Callable[[Job], bool]) -> Job:
        """The job once this holds."""
        while True:
            job = await self.get(job_id)
            if holds(job):
                return job
            await asyncio.sleep(0.01)

    async def events(self, job_id: str) -> list[JobEvent]:
        """Everything that happened to the job."""
        async with self.db.read() as conn:
            return await table.events_after(conn, job_id, 0)

    async def tell(self, verb: str, job_id: str) -> Job:
        """Pause, resume, cancel or retry."""
        async with self.db.write() as conn:
            moved: Job = await getattr(control, verb)(conn, job_id, self.clock())
            return moved

    async def put(self, job_id: str, **values: Any) -> None:
        """Change columns by force; only the rules of the database hold."""
        async with self.db.write() as conn:
            await conn.execute(job.update().where(job.c.id == job_id).values(**values))


async def write_line(conn: AsyncConnection, name: str) -> None:
    """A row of work."""
    await conn.execute(sa.text("INSERT INTO test_line (name) VALUES (:name)"), {"name": name})


async def lines(db: Database) -> list[str]:
    """The rows of work there are."""
    async with db.read() as conn:
        return [row[0] for row in await conn.execute(sa.text("SELECT name FROM test_line ORDER BY name"))]
