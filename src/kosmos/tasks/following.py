"""Following many jobs to their end."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kosmos.db import jobs as table
from kosmos.domain.jobs import JobStatus, OnFailure
from kosmos.errors import Conflict
from kosmos.tasks.pipeline import ENCODING
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


async def follow_job(
    bench: Workbench, job_id: str, *, on_step: Callable[[int, int, str], None]
) -> Mapping[str, Any]:
    """The result of a job about documents; Conflict with its reason when it does not complete."""
    while True:
        async with bench.db.read() as conn:
            job = await table.get_job(conn, job_id)
        if job is None or (job.status.ended and job.status is not JobStatus.COMPLETED):
            reason = REMOVED if job is None else job.reason or job.status.value
            raise Conflict(reason, remedy="See: kosmos jobs list")
        done = job.progress.get("current_documents", job.progress.get("current_encoded", 0))
        on_step(int(done), int(job.progress.get("total_documents", 0)), "")
        if job.status is JobStatus.COMPLETED:
            return job.result or {}
        await asyncio.sleep(LOOK_SECONDS)


async def follow_encoding(
    bench: Workbench, space_id: str, *, seconds: float | None, on_step: Callable[[int, int, str], None]
) -> int:
    """Wait until the dense vectors of a space are made, or for so long; how many documents still wait."""
    begun = asyncio.get_running_loop().time()
    most = 0
    while True:
        async with bench.db.read() as conn:
            left = await table.count_open(conn, ENCODING, [space_id])
        most = max(most, left)
        on_step(most - left, most, "")
        late = seconds is not None and asyncio.get_running_loop().time() - begun > seconds
        if left == 0 or late:
            return left
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
