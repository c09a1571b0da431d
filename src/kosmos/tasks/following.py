"""Following many jobs to their end."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from kosmos.db import jobs as table
from kosmos.domain.jobs import JobStatus, OnFailure
from kosmos.tasks.workbench import Workbench

LOOK_SECONDS = 0.2
REMOVED = "It was removed meanwhile."


@dataclass(frozen=True, slots=True)
class Ended:
    """A job that has ended; `failure` says why when it did not complete."""

    job_id: str
    failure: str | None


async def follow_jobs(
    bench: Workbench, job_ids: Sequence[str], *, until_left: int = 0
) -> AsyncIterator[Ended]:
    """The jobs as they end, until at most so many are left."""
    left = sorted(set(job_ids))
    while True:
        async with bench.db.read() as conn:
            found = await table.statuses(conn, left)
        ended = [job_id for job_id in left if job_id not in found or found[job_id].ended]
        left = sorted(set(left) - set(ended))
        for job_id in ended:
            done = found.get(job_id) is JobStatus.COMPLETED
            yield Ended(job_id, None if done else await _failure(bench, job_id))
        if len(left) <= until_left:
            return
        await asyncio.sleep(LOOK_SECONDS)


async def _failure(bench: Workbench, job_id: str) -> str:
    """Why a job did not complete: the reason of the first in its chain that did not."""
    async with bench.db.read() as conn:
        job = await table.get_job(conn, job_id)
        waits = await table.list_dependencies(conn, job_id)
    if job is None:
        return REMOVED
    needed = [first for first, choice in waits if choice is OnFailure.FAIL]
    bad = next((first for first in needed if first.status in (JobStatus.FAILED, JobStatus.CANCELLED)), None)
    return await _failure(bench, bad.id) if bad else job.reason or job.status.value
