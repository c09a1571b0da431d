"""Routes: jobs, and the stream of what happens to one."""

import json
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Header, Query
from fastapi.responses import StreamingResponse

from kosmos.api.callers import Caller, Id, TheApp
from kosmos.api.job_shapes import (
    CreatedJobOut,
    EstimatedJobOut,
    EstimateOut,
    JobEventOut,
    JobIn,
    JobOut,
    JobQueryIn,
    JobViewOut,
)
from kosmos.api.shapes import EVENTS, Page
from kosmos.api.streams import stream
from kosmos.domain.jobs import JobEvent
from kosmos.tasks import jobs
from kosmos.tasks.job_changes import JobChange, follow_jobs_of

router = APIRouter(prefix="/jobs", tags=["jobs"])
MAX_SEQUENCE = 2**63 - 1


@router.get("")
async def list_jobs(app: TheApp, who: Caller, query: Annotated[JobQueryIn, Query()]) -> Page[JobOut]:
    """The jobs of your spaces, newest first."""
    found = await jobs.list_jobs(app.bench, who, query.query())
    return Page(
        items=[JobOut.model_validate(job) for job in found],
        next=found[-1].id if len(found) == query.limit else None,
    )


@router.post("", status_code=201)
async def create_job(app: TheApp, who: Caller, form: JobIn) -> CreatedJobOut:
    """Make a job. One that cannot succeed is refused with the reason; the same work is done only once."""
    return CreatedJobOut.model_validate(await jobs.create_job(app.bench, who, form.request()))


@router.post("/estimate")
async def estimate_job(app: TheApp, who: Caller, form: JobIn) -> EstimatedJobOut:
    """What a job would take, with all its checks; it is not made."""
    estimate, hints = await jobs.estimate_job(app.bench, who, form.request())
    return EstimatedJobOut(estimate=EstimateOut.model_validate(estimate), hints=list(hints))


@router.get("/events", response_class=StreamingResponse, responses=EVENTS)
async def all_job_events(
    app: TheApp,
    who: Caller,
    after: Annotated[int | None, Query(ge=0, le=MAX_SEQUENCE, description="The last id seen.")] = None,
    seconds: Annotated[float | None, Query(ge=0, le=86400, description="End after so long.")] = None,
    last_event_id: Annotated[str | None, Header(pattern=r"^\d{1,18}$")] = None,
) -> StreamingResponse:
    """All jobs of your spaces as server-sent events: each `job` is one as it is now, after a change.

    The first event, `open`, has the id to go on from. Reconnect with `Last-Event-ID` (or `after`).
    """
    start = int(last_event_id) if last_event_id else after
    lines = _changes(follow_jobs_of(app.bench, who, after=start, seconds=seconds))
    return stream(app, lines)


async def _changes(changes: AsyncIterator[JobChange | None]) -> AsyncIterator[str]:
    async for change in changes:
        if change is None:
            yield ": still here\n\n"
        elif change.job is None:
            yield f"id: {change.sequence}\nevent: open\ndata: {{}}\n\n"
        else:
            body = JobOut.model_validate(change.job).model_dump_json()
            yield f"id: {change.sequence}\nevent: job\ndata: {body}\n\n"


@router.get("/{job_id}")
async def get_job(app: TheApp, who: Caller, job_id: Id) -> JobViewOut:
    """One job, with what it waits for."""
    return JobViewOut.of(await jobs.get_job(app.bench, who, job_id))


@router.post("/{job_id}/pause")
async def pause_job(app: TheApp, who: Caller, job_id: Id) -> JobOut:
    """Stop a job until somebody resumes it. Editors only."""
    return JobOut.model_validate(await jobs.pause_job(app.bench, who, job_id))


@router.post("/{job_id}/resume")
async def resume_job(app: TheApp, who: Caller, job_id: Id) -> JobOut:
    """Let a paused job go on now. Editors only."""
    return JobOut.model_validate(await jobs.resume_job(app.bench, who, job_id))


@router.post("/{job_id}/cancel")
async def cancel_job(app: TheApp, who: Caller, job_id: Id) -> JobOut:
    """End a job; a running one stops within one batch. Editors only."""
    return JobOut.model_validate(await jobs.cancel_job(app.bench, who, job_id))


@router.post("/{job_id}/retry")
async def retry_job(app: TheApp, who: Caller, job_id: Id) -> JobOut:
    """Let a failed or cancelled job go on from its last progress. Editors only."""
    return JobOut.model_validate(await jobs.retry_job(app.bench, who, job_id))


@router.get("/{job_id}/events", response_class=StreamingResponse, responses=EVENTS)
async def job_events(
    app: TheApp,
    who: Caller,
    job_id: Id,
    after: Annotated[int, Query(ge=0, le=MAX_SEQUENCE, description="The last sequence already seen.")] = 0,
    last_event_id: Annotated[str | None, Header(pattern=r"^\d{1,18}$")] = None,
) -> StreamingResponse:
    """Everything that happens to a job, as server-sent events, until it has ended.

    Reconnect with `Last-Event-ID` (or `after`) to go on where you were.
    """
    await jobs.get_job(app.bench, who, job_id)  # what is wrong is said before the stream begins
    start = int(last_event_id) if last_event_id else after
    lines = _lines(jobs.follow_job(app.bench, who, job_id, after=start))
    return stream(app, lines)


async def _lines(events: AsyncIterator[JobEvent | None]) -> AsyncIterator[str]:
    async for event in events:
        if event is None:
            yield ": still here\n\n"
            continue
        body = json.dumps(JobEventOut.model_validate(event).model_dump(mode="json"), ensure_ascii=False)
        yield f"id: {event.sequence}\nevent: {event.status.value.lower()}\ndata: {body}\n\n"
