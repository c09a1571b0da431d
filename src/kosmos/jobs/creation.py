"""Making jobs: one or several that wait for each other, all of them or none."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from graphlib import CycleError, TopologicalSorter

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.db import jobs as table
from kosmos.domain.ids import new_id
from kosmos.domain.jobs import Job, JobStatus, NewJob, OnFailure, Spent
from kosmos.domain.values import check_json
from kosmos.errors import Conflict, InvalidInput, NotFound
from kosmos.jobs.registry import JobType, Registry

MAX_CONTEXT = 64 * 1024
MAX_PRIORITY = 1000
RECHECK = timedelta(seconds=60)
WAITING = "Waiting for other jobs to end."


async def create_jobs(
    conn: AsyncConnection, registry: Registry, wanted: Sequence[NewJob], now: datetime
) -> list[Job]:
    """Store jobs. One whose dedupe key an open job has becomes that job: the work is done once."""
    ids: dict[str, str] = {}
    made: dict[int, Job] = {}
    fresh: dict[str, Job] = {}
    links: list[tuple[str, str, OnFailure]] = []
    for index in _in_order(wanted):
        new = wanted[index]
        present = await _same_work(conn, new.dedupe_key, fresh)
        if present is None:
            waits_for = list(dict.fromkeys(ids.get(name, name) for name in new.after))
            blocked = [first for first in waits_for if not await _has_ended(conn, first, fresh)]
            present = _job(registry.get(new.type), new, blocked=bool(blocked), now=now)
            fresh[present.id] = present
            links += [(present.id, first, new.on_failure) for first in waits_for]
        made[index] = present
        if new.key:
            ids[new.key] = present.id
    try:
        if fresh:
            await table.insert_jobs(conn, list(fresh.values()))
        await table.insert_dependencies(conn, links)
    except sa.exc.IntegrityError:
        raise Conflict(
            "The same work was asked for at the same time, or what it is about has just been removed.",
            remedy="Look at the list of jobs, then try again.",
        ) from None
    return [made[index] for index in range(len(wanted))]


def _in_order(wanted: Sequence[NewJob]) -> list[int]:
    """The jobs so that each comes after those it waits for; InvalidInput when they wait in a circle."""
    by_key: dict[str, int] = {}
    for index, new in enumerate(wanted):
        if new.key and by_key.setdefault(new.key, index) != index:
            raise InvalidInput(f"Two jobs have the key {new.key!r}.", remedy="Give each its own.")
    if not any(new.after for new in wanted):
        return list(range(len(wanted)))
    graph: Mapping[int, set[int]] = {
        index: {by_key[name] for name in new.after if name in by_key} for index, new in enumerate(wanted)
    }
    try:
        return list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        circle = " → ".join(wanted[index].key for index in error.args[1])
        raise InvalidInput(
            f"These jobs wait for each other: {circle}.", remedy="Remove one of the waits."
        ) from None


def _job(kind: JobType, new: NewJob, *, blocked: bool, now: datetime) -> Job:
    if abs(new.priority) > MAX_PRIORITY:
        raise InvalidInput(f"A priority lies within ±{MAX_PRIORITY}.", remedy="0 is the usual one.")
    seconds = new.deadline_seconds
    if seconds is not None and not 0 < seconds <= kind.deadline_seconds:
        raise InvalidInput(
            f"A deadline for {kind.name} lies within {kind.deadline_seconds:.0f} seconds.",
            remedy="Give less time.",
        )
    return Job(
        id=new_id(),
        type=new.type,
        status=JobStatus.PAUSED if blocked else JobStatus.PENDING,
        reason=WAITING if blocked else None,
        space_id=new.space_id,
        document_id=new.document_id,
        asset_id=new.asset_id,
        initiator_id=new.initiator_id,
        priority=new.priority,
        lane=new.lane,
        lane_limit=new.lane_limit,
        dedupe_key=new.dedupe_key,
        context=check_json(new.context, what="context", most=MAX_CONTEXT),
        progress={},
        result=None,
        spent=Spent(),
        due_at=now + RECHECK if blocked else now,
        deadline_at=now + timedelta(seconds=seconds) if seconds else None,
        epoch=0,
        attempts=0,
        worker=None,
        created_at=now,
        started_at=None,
        updated_at=now,
        finished_at=None,
    )


async def _same_work(conn: AsyncConnection, dedupe_key: str | None, fresh: Mapping[str, Job]) -> Job | None:
    """The job that does this work already, or is about to be made."""
    if not dedupe_key:
        return None
    about = (job for job in fresh.values() if job.dedupe_key == dedupe_key)
    return next(about, None) or await table.find_open(conn, dedupe_key)


async def _has_ended(conn: AsyncConnection, job_id: str, fresh: Mapping[str, Job]) -> bool:
    """Whether a job to wait for has ended; NotFound when there is none."""
    job = fresh.get(job_id) or await table.get_job(conn, job_id)
    if job is None:
        raise NotFound(f"There is no job {job_id} to wait for.", remedy="List them with: kosmos jobs list")
    return job.status.ended
