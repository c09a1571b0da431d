"""Queries on how the instance stands: what waits, who works, what was spent. All of them use an index."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.db.jobs import OPEN
from kosmos.db.tables import job, job_event, ledger
from kosmos.db.tables_agents import run
from kosmos.domain.jobs import JobStatus, Spent

_ENDED = tuple(status.value for status in JobStatus if status.ended)
RECENT_EVENTS = 5000  # so far back rates look at most


@dataclass(frozen=True, slots=True)
class Waiting:
    """How many jobs of a type have a status that is not an end."""

    type: str
    status: str
    count: int


@dataclass(frozen=True, slots=True)
class Busy:
    """A worker and how many jobs of a type it holds."""

    worker: str
    type: str
    count: int


async def open_jobs(conn: AsyncConnection) -> list[Waiting]:
    """Jobs that have not ended, by type and status."""
    keys = (job.c.type, job.c.status)
    query = sa.select(*keys, sa.func.count()).where(job.c.status.in_(OPEN)).group_by(*keys).order_by(*keys)
    return [Waiting(*row) for row in await conn.execute(query)]


async def oldest_due(conn: AsyncConnection, now: datetime) -> datetime | None:
    """Since when the job waits that waits longest."""
    query = sa.select(sa.func.min(job.c.due_at)).where(job.c.due_at.is_not(None), job.c.due_at <= now)
    found: datetime | None = await conn.scalar(query)
    return found


async def open_runs(conn: AsyncConnection) -> dict[str, int]:
    """Runs of agents that have not ended, by status."""
    query = sa.select(run.c.status, sa.func.count()).where(run.c.status.in_(("RUNNING", "WAITING")))
    return {row[0]: row[1] for row in await conn.execute(query.group_by(run.c.status))}


async def busy_workers(conn: AsyncConnection, *, limit: int = 200) -> list[Busy]:
    """Who holds jobs now."""
    keys = (job.c.worker, job.c.type)
    query = sa.select(*keys, sa.func.count()).where(job.c.status == "RUNNING", job.c.worker.is_not(None))
    found = await conn.execute(query.group_by(*keys).order_by(*keys).limit(limit))
    return [Busy(*row) for row in found]


async def ended_since(conn: AsyncConnection, since: datetime) -> dict[str, int]:
    """How many jobs ended since then, by status, among the newest events."""
    newest = await conn.scalar(sa.select(sa.func.max(job_event.c.sequence))) or 0
    query = (
        sa.select(job_event.c.status, sa.func.count())
        .where(job_event.c.sequence > newest - RECENT_EVENTS, job_event.c.created_at >= since)
        .where(job_event.c.status.in_(_ENDED))
        .group_by(job_event.c.status)
    )
    return {row[0]: row[1] for row in await conn.execute(query)}


async def spent_since(conn: AsyncConnection, first_id: str) -> Spent:
    """What calls of models took that were booked from that id on: ids go with time."""
    totals = [0, 0, 0, 0.0]
    for table in (ledger, run):
        columns = (table.c.prompt_tokens, table.c.cached_tokens, table.c.output_tokens, table.c.cost)
        sums = [sa.func.coalesce(sa.func.sum(column), 0) for column in columns]
        row: Sequence[float] = (await conn.execute(sa.select(*sums).where(table.c.id >= first_id))).one()
        totals = [before + value for before, value in zip(totals, row, strict=True)]
    return Spent(int(totals[0]), int(totals[1]), int(totals[2]), float(totals[3]))
