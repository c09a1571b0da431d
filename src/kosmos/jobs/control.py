"""Pause, resume, cancel, retry: what people do to jobs."""

import contextlib
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.db import jobs as table
from kosmos.domain.jobs import Job, JobStatus
from kosmos.errors import Conflict, NotFound

_PAUSED_BY_HAND = "Paused by hand."
_CANCELLED_BY_HAND = "Cancelled by hand."


async def pause(conn: AsyncConnection, job_id: str, now: datetime) -> Job:
    """Stop a job until somebody resumes it; a running one stops within one batch."""
    values = {"status": JobStatus.PAUSED.value, "reason": _PAUSED_BY_HAND, "due_at": None, "worker": None}
    allowed = (JobStatus.PENDING, JobStatus.RUNNING)
    if await table.move(conn, job_id, allowed=allowed, values=values, now=now):
        return await _present(conn, job_id)
    job = await _present(conn, job_id)
    if job.status is JobStatus.PAUSED:  # it waits for something: let it wait for a person instead
        held = {"reason": _PAUSED_BY_HAND, "due_at": None}
        await table.move(conn, job_id, allowed=(JobStatus.PAUSED,), values=held, now=now)
        return await _present(conn, job_id)
    raise _refusal(job, "paused")


async def resume(conn: AsyncConnection, job_id: str, now: datetime) -> Job:
    """Let a paused job go on now; the time it may take counts from its next start."""
    values = {"status": JobStatus.PENDING.value, "reason": None, "due_at": now, "started_at": None}
    if await table.move(conn, job_id, allowed=(JobStatus.PAUSED,), values=values, now=now):
        return await _present(conn, job_id)
    raise _refusal(await _present(conn, job_id), "resumed")


async def cancel(
    conn: AsyncConnection, job_id: str, now: datetime, *, reason: str = _CANCELLED_BY_HAND
) -> Job:
    """End a job; a running one stops within one batch and can write nothing more."""
    values = {
        "status": JobStatus.CANCELLED.value,
        "reason": reason,
        "due_at": None,
        "worker": None,
        "finished_at": now,
    }
    allowed = (JobStatus.PENDING, JobStatus.RUNNING, JobStatus.PAUSED)
    if await table.move(conn, job_id, allowed=allowed, values=values, now=now):
        await table.wake_dependants(conn, [job_id], now)
        return await _present(conn, job_id)
    raise _refusal(await _present(conn, job_id), "cancelled")


async def retry(conn: AsyncConnection, job_id: str, now: datetime) -> Job:
    """Let a failed or cancelled job go on from its last progress, and those that failed with it after it."""
    allowed = (JobStatus.FAILED, JobStatus.CANCELLED)
    try:
        moved = await table.move(conn, job_id, allowed=allowed, values=_anew(now), now=now)
    except sa.exc.IntegrityError:  # of the index over the dedupe keys of jobs that have not ended
        raise Conflict(
            "Another job has been made for the same work.", remedy="Wait for that one: kosmos jobs list"
        ) from None
    if moved:
        await _revive(conn, job_id, now)
        return await _present(conn, job_id)
    raise _refusal(await _present(conn, job_id), "retried")


def _anew(now: datetime) -> dict[str, Any]:
    return {
        "status": JobStatus.PENDING.value,
        "reason": None,
        "due_at": now,
        "attempts": 0,
        "finished_at": None,
        "deadline_at": None,
        "started_at": None,
    }


async def _revive(conn: AsyncConnection, job_id: str, now: datetime) -> None:
    """Let jobs wait again that failed only because this one did; one whose work another does stays so."""
    waiting = [job_id]
    while waiting:
        for dependant in await table.failed_dependants(conn, waiting.pop()):
            with contextlib.suppress(sa.exc.IntegrityError):
                async with conn.begin_nested():
                    await table.move(conn, dependant, allowed=(JobStatus.FAILED,), values=_anew(now), now=now)
                waiting.append(dependant)


async def _present(conn: AsyncConnection, job_id: str) -> Job:
    job = await table.get_job(conn, job_id)
    if job is None:
        raise NotFound(f"There is no job {job_id}.", remedy="List them with: kosmos jobs list")
    return job


def _refusal(job: Job, verb: str) -> Conflict:
    advice = {
        JobStatus.COMPLETED: "It is done; create a new job to do the work again.",
        JobStatus.FAILED: "Retry it.",
        JobStatus.CANCELLED: "Retry it.",
    }
    return Conflict(
        f"The job is {job.status} and cannot be {verb}.",
        remedy=advice.get(job.status, "Look at its state first: kosmos jobs show ID"),
    )
