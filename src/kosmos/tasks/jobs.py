"""Jobs as their makers and watchers handle them. Rights are checked here."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.accounts.access import require_document, require_job, require_space, visible_space_ids
from kosmos.db import jobs as table
from kosmos.db.jobs import JobFilter
from kosmos.domain.accounts import Principal, Role
from kosmos.domain.jobs import Job, JobEvent, JobStatus, OnFailure
from kosmos.errors import Conflict
from kosmos.jobs import control, watching
from kosmos.jobs.creation import create_jobs
from kosmos.tasks.job_types import make_registry
from kosmos.tasks.preflight import Estimate, JobRequest, prepare
from kosmos.tasks.workbench import Workbench

RIGHTS_HOLD = timedelta(seconds=15)  # for so long a watcher is not asked again who they are
Control = Callable[[AsyncConnection, str, datetime], Awaitable[Job]]


@dataclass(frozen=True, slots=True)
class Created:
    """A job that was asked for. `existing`: the same work was waiting or running already."""

    job: Job
    existing: bool
    estimate: Estimate
    hints: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class JobView:
    """A job and what it waits or waited for."""

    job: Job
    waits_for: tuple[tuple[Job, OnFailure], ...]


async def create_job(bench: Workbench, who: Principal, request: JobRequest) -> Created:
    """Make a job, or refuse with the reason before anything is stored."""
    prepared = await prepare(bench, who, request)
    async with bench.db.brief() as conn:
        before = await table.find_open(conn, prepared.new.dedupe_key or "")
        job = (await create_jobs(conn, make_registry(bench), [prepared.new], bench.clock()))[0]
    bench.wake([job.id])
    return Created(job, before is not None, prepared.estimate, prepared.hints)


async def estimate_job(
    bench: Workbench, who: Principal, request: JobRequest
) -> tuple[Estimate, Sequence[str]]:
    """What a job would take, and hints; it is not made."""
    prepared = await prepare(bench, who, request)
    return prepared.estimate, prepared.hints


@dataclass(frozen=True, slots=True)
class JobQuery:
    """Which jobs to list; None means any. `before` is the id of the last one already seen."""

    space_id: str | None = None
    document_id: str | None = None
    type: str | None = None
    status: JobStatus | None = None
    before: str = ""
    limit: int = 100


async def list_jobs(bench: Workbench, who: Principal, query: JobQuery) -> list[Job]:
    """The jobs of the spaces that the caller may read, newest first."""
    async with bench.db.read() as conn:
        if query.document_id is not None:
            await require_document(conn, who, query.document_id)
        if query.space_id is not None:
            spaces = [(await require_space(conn, who, query.space_id)).space.id]
        else:
            spaces = await visible_space_ids(conn, who)
        wanted = JobFilter(spaces, query.document_id, query.type, query.status)
        return await table.list_jobs(conn, wanted, before=query.before, limit=query.limit)


async def get_job(bench: Workbench, who: Principal, job_id: str) -> JobView:
    """One job with what it waits for."""
    async with bench.db.read() as conn:
        job = await require_job(conn, who, job_id)
        return JobView(job, tuple(await table.list_dependencies(conn, job.id)))


async def pause_job(bench: Workbench, who: Principal, job_id: str) -> Job:
    """Stop a job until somebody resumes it."""
    return await _control(bench, who, job_id, control.pause)


async def resume_job(bench: Workbench, who: Principal, job_id: str) -> Job:
    """Let a paused job go on now."""
    return await _control(bench, who, job_id, control.resume)


async def cancel_job(bench: Workbench, who: Principal, job_id: str) -> Job:
    """End a job; a running one stops within one batch. What it worked on says so."""

    async def act(conn: AsyncConnection, known_id: str, now: datetime) -> Job:
        job, registry = await control.cancel(conn, known_id, now), make_registry(bench)
        failed = registry.get(job.type).failed if registry.known(job.type) else None
        if failed is not None:
            await failed(conn, job=job, reason=job.reason or "")
        return job

    return await _control(bench, who, job_id, act)


async def retry_job(bench: Workbench, who: Principal, job_id: str) -> Job:
    """Let a failed or cancelled job go on from its last progress."""
    return await _control(bench, who, job_id, control.retry)


async def _control(bench: Workbench, who: Principal, job_id: str, act: Control) -> Job:
    try:
        async with bench.db.write() as conn:
            job = await act(conn, (await require_job(conn, who, job_id, need=Role.EDITOR)).id, bench.clock())
    except sa.exc.IntegrityError:
        raise Conflict(
            "The same work is being done by another job.", remedy="Wait for that one, or cancel it."
        ) from None
    bench.wake([job.id])
    return job


async def follow_job(
    bench: Workbench, who: Principal, job_id: str, *, after: int = 0
) -> AsyncIterator[JobEvent | None]:
    """The events of a job as they happen; None from time to time when nothing does."""
    async with bench.db.read() as conn:
        await require_job(conn, who, job_id)
    checked = bench.clock()
    async for event in watching.follow(bench.db, job_id, after=after, bell=bench.bell):
        if bench.clock() - checked > RIGHTS_HOLD:
            async with bench.db.read() as conn:
                await require_job(conn, who, job_id)
            checked = bench.clock()
        yield event
