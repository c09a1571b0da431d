"""Claims per second with many jobs due and several processes at once, for `bench/jobs.py`.

As a child of itself it takes `DATABASE COUNT START` and prints the CPU seconds and the wall seconds it
needed. Without arguments it does nothing.
"""

import asyncio
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import timedelta

import sqlalchemy as sa

from kosmos.db import Database
from kosmos.db.tables import job
from kosmos.domain.clock import system_clock
from kosmos.domain.jobs import NewJob
from kosmos.jobs.claiming import Claimer
from kosmos.jobs.creation import create_jobs
from kosmos.jobs.registry import JobType, Registry
from kosmos.jobs.run import Run

SLOTS = 4
CLAIMS = 4000
CHUNK = 1000
BOOT_SECONDS = 3.0


async def _nothing(run: Run) -> None:  # noqa: ARG001
    return


REGISTRY = Registry(JobType("nothing", _nothing))


@dataclass(frozen=True, slots=True)
class Claims:
    """How fast jobs were taken."""

    due: int
    processes: int
    per_second: float
    cpu_microseconds: float


async def fill(db: Database, due: int) -> None:
    """Let so many jobs be due: those of an earlier measurement are given back, the others made."""
    now = system_clock()
    back = job.update().where(job.c.status == "RUNNING").values(status="PENDING", due_at=now)
    async with db.write() as conn:
        await conn.execute(back)
        present = int(await conn.scalar(sa.select(sa.func.count()).select_from(job)) or 0)
    for _ in range((due - present) // CHUNK):
        async with db.write() as conn:
            await create_jobs(conn, REGISTRY, [NewJob("nothing")] * CHUNK, system_clock())


def claim_with(database: str, due: int, processes: int) -> Claims:
    """Let processes take jobs as fast as they can, all at once."""
    start = str(time.time() + BOOT_SECONDS)
    command = [sys.executable, __file__, database, str(CLAIMS // processes), start]
    children = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(processes)]
    costs = [tuple(map(float, (child.communicate()[0]).split())) for child in children]
    slowest = max(wall for _, wall in costs)
    cpu = sum(cpu for cpu, _ in costs)
    return Claims(due, processes, CLAIMS / slowest, cpu / CLAIMS * 1e6)


async def _claim(database: str, count: int, start: float) -> None:
    db = Database(database)
    claimer = Claimer(db, system_clock, f"bench {start}", timedelta(hours=1), {})
    await claimer.claim(0)
    await asyncio.sleep(max(0.0, start - time.time()))
    before, began, taken = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter(), 0
    while taken < count:
        taken += len(await claimer.claim(SLOTS))
    after, wall = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter() - began
    print(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall)
    await db.close()


if __name__ == "__main__" and len(sys.argv) == 4:
    asyncio.run(_claim(sys.argv[1], int(sys.argv[2]), float(sys.argv[3])))
