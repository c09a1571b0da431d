"""Queries on jobs. The table is the queue: `due_at` says when a worker may take a job.

Every write of a worker names the epoch of its claim and the status RUNNING, and changes nothing when
they no longer hold.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.db.brief import hot
from kosmos.db.tables import job, job_dependency, job_event
from kosmos.db.types import Row, UtcDateTime
from kosmos.domain.jobs import Job, JobEvent, JobStatus, OnFailure, Spent

OPEN = ("PENDING", "RUNNING", "PAUSED")
_CLAIM_LOCK = 0x6A6F6273  # "jobs"


# Statements of the hot path are built once: building one costs ten times as much as running it.
_COLUMNS = tuple(column.name for column in job.c)
_SPENT = _COLUMNS.index("prompt_tokens")  # the first of four columns that are one field
_INSERT = hot(job.insert())
_INSERT_WAITS = hot(job_dependency.insert())
_FIND_OPEN = hot(sa.select(job).where(job.c.dedupe_key == sa.bindparam("same_work"), job.c.status.in_(OPEN)))
_GET = hot(sa.select(job).where(job.c.id == sa.bindparam("job_id")))
_HELD = sa.and_(
    job.c.id == sa.bindparam("held_id"),
    job.c.epoch == sa.bindparam("held_epoch"),
    job.c.status == JobStatus.RUNNING.value,
)
_NOW = sa.bindparam("now", type_=UtcDateTime())
_UNTIL = sa.bindparam("until", type_=UtcDateTime())
_IDS: sa.BindParameter[str] = sa.bindparam("ids", expanding=True)
_CLAIMS = sa.and_(
    job.c.status == JobStatus.RUNNING.value,
    sa.tuple_(job.c.id, job.c.epoch).in_(sa.bindparam("claims", expanding=True)),
)
_STATUSES = sa.select(job.c.id, job.c.status).where(job.c.id.in_(_IDS))
_DUE = hot(
    sa.select(job.c.id, job.c.type, job.c.lane, job.c.lane_limit, job.c.status)
    .where(job.c.due_at.is_not(None), job.c.due_at <= _NOW)
    .order_by(job.c.priority.desc(), job.c.due_at)
    .limit(sa.bindparam("most"))
    .with_for_update(skip_locked=True)
)
_DUE_ONE = hot(_DUE.where(job.c.id == sa.bindparam("only")))
_DUE_NAMED = hot(_DUE.where(job.c.id.in_(_IDS)))
# A running job whose lease is over has its place already, however full its type and lane are.
_DUE_BEYOND = _DUE.where(
    sa.or_(
        job.c.status == JobStatus.RUNNING.value,
        sa.and_(
            job.c.type.not_in(sa.bindparam("full_types", expanding=True)),
            sa.or_(job.c.lane.is_(None), job.c.lane.not_in(sa.bindparam("full_lanes", expanding=True))),
        ),
    )
)
_WAITS = hot(
    sa.select(job_dependency, job.c.status)
    .join(job, job.c.id == job_dependency.c.depends_on_id)
    .where(job_dependency.c.job_id.in_(_IDS))
    .order_by(job_dependency.c.depends_on_id)
)
_TAKE = hot(
    job.update()
    .where(job.c.id.in_(_IDS))
    .values(
        status=JobStatus.RUNNING.value,
        reason=None,
        due_at=_UNTIL,
        epoch=job.c.epoch + 1,
        attempts=job.c.attempts + 1,
        worker=sa.bindparam("by"),
        started_at=sa.func.coalesce(job.c.started_at, _NOW),
        updated_at=_NOW,
    )
    .returning(job)
)
_RENEW = hot(
    job.update().where(_CLAIMS).values(due_at=_UNTIL, updated_at=_NOW).returning(job.c.id, job.c.epoch)
)
_COMPLETE = hot(
    job.update()
    .where(_CLAIMS)
    .values(status=JobStatus.COMPLETED.value, due_at=None, worker=None, updated_at=_NOW, finished_at=_NOW)
    .returning(job.c.id)
)
_WAKE = hot(
    job.update()
    .where(
        job.c.id.in_(sa.select(job_dependency.c.job_id).where(job_dependency.c.depends_on_id.in_(_IDS))),
        job.c.status == JobStatus.PAUSED.value,
        job.c.due_at > _NOW,
    )
    .values(due_at=_NOW)
)


def as_job(row: Row) -> Job:
    """The row of a whole job as a value; its columns come in the order of the fields."""
    fields = [*row[:_SPENT], Spent(*row[_SPENT : _SPENT + 4]), *row[_SPENT + 4 :]]
    fields[2] = JobStatus(fields[2])
    return Job(*fields)


def _values(value: Job) -> dict[str, Any]:
    values = {name: getattr(value, name, None) for name in _COLUMNS}
    spent = value.spent
    return values | {
        "status": value.status.value,
        "context": dict(value.context),
        "progress": dict(value.progress),
        "prompt_tokens": spent.prompt_tokens,
        "cached_tokens": spent.cached_tokens,
        "output_tokens": spent.output_tokens,
        "cost": spent.cost,
    }


async def insert_jobs(conn: AsyncConnection, values: Sequence[Job]) -> None:
    """Store new jobs; IntegrityError when an open one has the same dedupe key."""
    await conn.execute(_INSERT, [_values(value) for value in values])


async def insert_dependencies(conn: AsyncConnection, rows: Sequence[tuple[str, str, OnFailure]]) -> None:
    """Store which job waits for which."""
    if rows:
        values = [
            {"job_id": waiting, "depends_on_id": first, "on_failure": choice.value}
            for waiting, first, choice in rows
        ]
        await conn.execute(_INSERT_WAITS, values)


async def get_job(conn: AsyncConnection, job_id: str) -> Job | None:
    """The job of that id."""
    row = (await conn.execute(_GET, {"job_id": job_id})).first()
    return as_job(row) if row else None


async def find_open(conn: AsyncConnection, dedupe_key: str) -> Job | None:
    """The job that has not ended and has that key."""
    row = (await conn.execute(_FIND_OPEN, {"same_work": dedupe_key})).first()
    return as_job(row) if row else None


async def open_jobs(conn: AsyncConnection, document_id: str) -> list[Job]:
    """All jobs about a document that have not ended, newest first."""
    query = sa.select(job).where(job.c.document_id == document_id, job.c.status.in_(OPEN))
    return [as_job(row) for row in await conn.execute(query.order_by(job.c.id.desc()))]


async def lock_jobs(
    conn: AsyncConnection, *, document_id: str | None = None, space_id: str | None = None
) -> None:
    """Lock all jobs about something before it is removed: workers, too, lock the job first."""
    about = job.c.document_id == document_id if document_id else job.c.space_id == space_id
    await conn.execute(sa.select(job.c.id).where(about).order_by(job.c.id).with_for_update())


async def statuses(conn: AsyncConnection, ids: Sequence[str]) -> dict[str, JobStatus]:
    """How each of the jobs stands; those that are gone, with what they were about, are not told."""
    found: dict[str, JobStatus] = {}
    for start in range(0, len(ids), 500):
        rows = await conn.execute(_STATUSES, {"ids": list(ids[start : start + 500])})
        found.update((row[0], JobStatus(row[1])) for row in rows)
    return found


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Which jobs to list; None means any."""

    space_ids: Sequence[str] | None = None
    document_id: str | None = None
    type: str | None = None
    status: JobStatus | None = None


async def list_jobs(
    conn: AsyncConnection, wanted: JobFilter, *, before: str = "", limit: int = 100
) -> list[Job]:
    """Jobs, newest first."""
    query = sa.select(job).order_by(job.c.id.desc()).limit(limit)
    if before:
        query = query.where(job.c.id < before)
    if wanted.space_ids is not None:
        query = query.where(job.c.space_id.in_(wanted.space_ids))
    if wanted.document_id is not None:
        query = query.where(job.c.document_id == wanted.document_id)
    if wanted.type is not None:
        query = query.where(job.c.type == wanted.type)
    if wanted.status is not None:
        query = query.where(job.c.status == wanted.status.value)
    return [as_job(row) for row in await conn.execute(query)]


async def count_open(conn: AsyncConnection, kind: str, space_ids: Sequence[str]) -> int:
    """How many jobs of a type about these spaces have not ended."""
    query = sa.select(sa.func.count()).select_from(job)
    ended = [status.value for status in JobStatus if status.ended]
    query = query.where(job.c.type == kind, job.c.space_id.in_(space_ids), job.c.status.not_in(ended))
    return int(await conn.scalar(query) or 0)


async def list_dependencies(conn: AsyncConnection, job_id: str) -> list[tuple[Job, OnFailure]]:
    """What a job waits for, or waited for."""
    query = (
        sa.select(job, job_dependency.c.on_failure)
        .join(job_dependency, job_dependency.c.depends_on_id == job.c.id)
        .where(job_dependency.c.job_id == job_id)
        .order_by(job.c.id)
    )
    found = []
    for row in await conn.execute(query):
        values = dict(row._mapping)
        choice = OnFailure(values.pop("on_failure"))
        spent = Spent(
            *(values.pop(name) for name in ("prompt_tokens", "cached_tokens", "output_tokens", "cost"))
        )
        found.append((Job(**{**values, "status": JobStatus(values["status"]), "spent": spent}), choice))
    return found


@dataclass(frozen=True, slots=True)
class Candidate:
    """A job that is due, with what is needed to choose."""

    id: str
    type: str
    lane: str | None
    lane_limit: int | None
    status: str


async def due_named(conn: AsyncConnection, now: datetime, ids: Sequence[str]) -> list[Candidate]:
    """Those of the jobs that are still due, locked against other claimers."""
    values = {"now": now, "most": len(ids), "ids": list(ids)}
    return [Candidate(*row) for row in await conn.execute(_DUE_NAMED, values)]


@dataclass(frozen=True, slots=True)
class Full:
    """Types and lanes that have no room for one more."""

    types: frozenset[str] = frozenset()
    lanes: frozenset[str] = frozenset()


async def due_candidates(
    conn: AsyncConnection, now: datetime, *, limit: int, only: str | None = None, full: Full | None = None
) -> list[Candidate]:
    """The most urgent jobs that are due and not of something full, locked against other claimers."""
    values: dict[str, Any] = {"now": now, "most": limit}
    if only is not None:
        found = await conn.execute(_DUE_ONE, values | {"only": only})
    elif full is None:
        found = await conn.execute(_DUE, values)
    else:
        lists = {"full_types": sorted(full.types), "full_lanes": sorted(full.lanes)}
        found = await conn.execute(_DUE_BEYOND, values | lists)
    return [Candidate(*row) for row in found]


@dataclass(frozen=True, slots=True)
class Dependency:
    """A job that another one waits for."""

    job_id: str
    status: JobStatus
    on_failure: OnFailure

    @property
    def blocks_for_good(self) -> bool:
        """Whether it ended in a way that the waiting job cannot go on from."""
        ended_badly = self.status in (JobStatus.FAILED, JobStatus.CANCELLED)
        return ended_badly and self.on_failure is OnFailure.FAIL


async def dependency_states(conn: AsyncConnection, ids: Sequence[str]) -> dict[str, list[Dependency]]:
    """What each of the jobs waits for, and how that stands."""
    found: dict[str, list[Dependency]] = {}
    for waiting, first, choice, status in await conn.execute(_WAITS, {"ids": list(ids)}):
        found.setdefault(waiting, []).append(Dependency(first, JobStatus(status), OnFailure(choice)))
    return found


async def settle(
    conn: AsyncConnection, job_id: str, status: JobStatus, reason: str, due_at: datetime | None, now: datetime
) -> None:
    """Put a due job that cannot run to rest, or end it, without a claim."""
    values: dict[str, Any] = {"status": status.value, "reason": reason, "due_at": due_at, "updated_at": now}
    values["worker"] = None
    if status.ended:
        values["finished_at"] = now
    await conn.execute(job.update().where(job.c.id == job_id).values(**values, epoch=job.c.epoch + 1))


async def serialize_claims(conn: AsyncConnection) -> None:
    """Let one claimer at a time count who is running; SQLite has one writer anyway."""
    if conn.dialect.name == "postgresql":
        await conn.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": _CLAIM_LOCK})


async def running_counts(conn: AsyncConnection) -> tuple[dict[str, int], dict[str, int]]:
    """How many jobs run by type and by lane. One whose lease is over counts: its worker may come back."""
    query = (
        sa.select(job.c.type, job.c.lane, sa.func.count())
        .where(job.c.status == JobStatus.RUNNING.value)
        .group_by(job.c.type, job.c.lane)
    )
    types: dict[str, int] = {}
    lanes: dict[str, int] = {}
    for kind, lane, count in await conn.execute(query):
        types[kind] = types.get(kind, 0) + count
        if lane is not None:
            lanes[lane] = lanes.get(lane, 0) + count
    return types, lanes


async def take(
    conn: AsyncConnection, ids: Sequence[str], *, worker: str, now: datetime, until: datetime
) -> list[Job]:
    """Claim jobs: a new epoch, a lease, one attempt more."""
    values = {"ids": list(ids), "by": worker, "now": now, "until": until}
    return [as_job(row) for row in await conn.execute(_TAKE, values)]


async def renew(
    conn: AsyncConnection, claims: Sequence[tuple[str, int]], *, now: datetime, until: datetime
) -> set[tuple[str, int]]:
    """Prolong leases; the claims that were still held."""
    values = {"claims": list(claims), "now": now, "until": until}
    return {(row[0], row[1]) for row in await conn.execute(_RENEW, values)}


@dataclass(frozen=True, slots=True)
class Step:
    """What one batch brought. Only a step forward lets the attempts count from 0 again."""

    progress: Mapping[str, Any] | None
    forward: bool
    spent: Spent


async def advance(
    conn: AsyncConnection, job_id: str, epoch: int, step: Step, *, now: datetime, until: datetime
) -> bool:
    """Record progress under the fence; False when the claim is no longer held."""
    values: dict[str, Any] = {"due_at": until, "updated_at": now, **_more_spent(step.spent)}
    if step.forward:
        values["attempts"] = 0
    if step.progress is not None:
        values["progress"] = dict(step.progress)
    return await _change_held(conn, job_id, epoch, values)


async def _change_held(conn: AsyncConnection, job_id: str, epoch: int, values: Mapping[str, Any]) -> bool:
    """Change columns of a job under the fence; some of the values may be computed by the database."""
    plain = {name: value for name, value in values.items() if not isinstance(value, sa.ColumnElement)}
    statement = _update_held(tuple(plain))
    if len(plain) < len(values):
        statement = statement.values({name: value for name, value in values.items() if name not in plain})
    given = {f"new_{name}": value for name, value in plain.items()}
    done = await conn.execute(statement, {"held_id": job_id, "held_epoch": epoch, **given})
    return done.rowcount == 1


@cache
def _update_held(changed: tuple[str, ...]) -> sa.Update:
    """The statement for changes of these columns; there are no more of them than there are callers."""
    return hot(job.update().where(_HELD).values({name: sa.bindparam(f"new_{name}") for name in changed}))


@dataclass(frozen=True, slots=True)
class Ending:
    """How a claim ends: with a status, or given back to be due at some time."""

    job_id: str
    epoch: int
    status: JobStatus
    reason: str | None = None
    result: Mapping[str, Any] | None = None
    due_at: datetime | None = None
    counts: bool = True  # whether the attempt counts
    spent: Spent = field(default_factory=Spent)


async def end_claim(conn: AsyncConnection, ending: Ending, now: datetime) -> bool:
    """End a claim under the fence; False when it is no longer held."""
    values: dict[str, Any] = {
        "status": ending.status.value,
        "reason": ending.reason,
        "due_at": ending.due_at,
        "updated_at": now,
        "worker": None,
        **_more_spent(ending.spent),
    }
    if ending.result is not None:
        values["result"] = dict(ending.result)
    if ending.status.ended:
        values["finished_at"] = now
    if not ending.counts:
        values["attempts"] = sa.case((job.c.attempts > 0, job.c.attempts - 1), else_=0)
    return await _change_held(conn, ending.job_id, ending.epoch, values)


async def complete_claims(
    conn: AsyncConnection, claims: Sequence[tuple[str, int]], now: datetime
) -> set[str]:
    """Complete many claims that have no result at once; the ids of those that were still held."""
    return {row[0] for row in await conn.execute(_COMPLETE, {"claims": list(claims), "now": now})}


async def wake_dependants(conn: AsyncConnection, ended: Sequence[str], now: datetime) -> int:
    """Let those that waited for these jobs be looked at now; those paused by a person stay paused."""
    return (await conn.execute(_WAKE, {"ids": list(ended), "now": now})).rowcount


async def failed_dependants(conn: AsyncConnection, job_id: str) -> list[str]:
    """Jobs that failed without ever having begun, since this one that they waited for did not complete."""
    query = (
        sa.select(job.c.id)
        .join(job_dependency, job_dependency.c.job_id == job.c.id)
        .where(job_dependency.c.depends_on_id == job_id, job_dependency.c.on_failure == OnFailure.FAIL.value)
        .where(job.c.status == JobStatus.FAILED.value, job.c.reason.contains(job_id))
        .order_by(job.c.id)
    )
    return list((await conn.execute(query)).scalars())


async def move(
    conn: AsyncConnection,
    job_id: str,
    *,
    allowed: Sequence[JobStatus],
    values: Mapping[str, Any],
    now: datetime,
) -> bool:
    """Change a job's status from outside: a new epoch shuts out the worker that may hold it."""
    statement = job.update().where(job.c.id == job_id, job.c.status.in_([status.value for status in allowed]))
    done = await conn.execute(statement.values(**values, epoch=job.c.epoch + 1, updated_at=now))
    return done.rowcount == 1


async def events_after(
    conn: AsyncConnection, job_id: str, sequence: int, *, limit: int = 500
) -> list[JobEvent]:
    """What happened to a job since."""
    query = (
        sa.select(job_event)
        .where(job_event.c.job_id == job_id, job_event.c.sequence > sequence)
        .order_by(job_event.c.sequence)
        .limit(limit)
    )
    return [
        JobEvent(**{**dict(row._mapping), "status": JobStatus(row.status)})
        for row in await conn.execute(query)
    ]


async def due_times(conn: AsyncConnection, now: datetime, *, limit: int) -> list[tuple[str, datetime]]:
    """Jobs that wait for a worker, and since when."""
    query = (
        sa.select(job.c.id, job.c.due_at)
        .where(job.c.due_at.is_not(None), job.c.due_at <= now)
        .order_by(job.c.priority.desc(), job.c.due_at)
        .limit(limit)
    )
    return [(row[0], row[1]) for row in await conn.execute(query)]


async def due_ids(conn: AsyncConnection, now: datetime, *, limit: int) -> list[str]:
    """Jobs that wait for a worker."""
    return [job_id for job_id, _ in await due_times(conn, now, limit=limit)]


async def book(conn: AsyncConnection, job_id: str, spent: Spent) -> None:
    """Add money that somebody spent who no longer holds the job; nothing else changes."""
    await conn.execute(job.update().where(job.c.id == job_id).values(**_more_spent(spent)))


def _more_spent(spent: Spent) -> dict[str, Any]:
    if spent == Spent():
        return {}
    return {
        "prompt_tokens": job.c.prompt_tokens + spent.prompt_tokens,
        "cached_tokens": job.c.cached_tokens + spent.cached_tokens,
        "output_tokens": job.c.output_tokens + spent.output_tokens,
        "cost": job.c.cost + spent.cost,
    }
