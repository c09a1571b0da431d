"""How long a job waits whose worker was killed, with the lease that ships. Does nothing when run."""

import asyncio
import time
from dataclasses import replace

from chaos_crew import Crew, Setting
from chaos_ledger import SIZE, TYPE, Labour

from kosmos.db import Database
from kosmos.db import jobs as table
from kosmos.domain.clock import system_clock
from kosmos.domain.jobs import Job, NewJob
from kosmos.jobs.creation import create_jobs
from kosmos.jobs.worker import LEASE

LONGEST = 15.0
BATCHES = 500
PAUSE = 0.2


async def measure_recovery(setting: Setting) -> tuple[float, float]:
    """The lease, and the seconds from the kill -9 until another worker has taken the job."""
    setting = replace(setting, lease=LEASE.total_seconds())
    db = Database(setting.database)
    crew = Crew(setting, 2)
    try:
        registry = Labour(setting.calls).registry()
        context = {"lines": BATCHES * SIZE, "pause": PAUSE}
        async with db.write() as conn:
            (job,) = await create_jobs(conn, registry, [NewJob(TYPE, context=context)], system_clock())
        first = await _wait(db, job.id, epoch=1, line=SIZE)
        began = time.monotonic()
        crew.kill(first.worker or "", replace=False)
        await _wait(db, job.id, epoch=first.epoch + 1, line=0)
        return setting.lease, time.monotonic() - began
    finally:
        await asyncio.to_thread(crew.stop)
        await db.close()


async def _wait(db: Database, job_id: str, *, epoch: int, line: int) -> Job:
    """The job as soon as it runs in that epoch and has come to that line."""
    while True:
        async with db.read() as conn:
            job = await table.get_job(conn, job_id)
        if job and job.worker and job.epoch >= epoch and job.progress.get("current_line", 0) >= line:
            return job
        await asyncio.sleep(0.05)
