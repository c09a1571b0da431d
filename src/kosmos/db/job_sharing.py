"""Queries on who waits for workers: what is due beyond some spaces, and what runs by space."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.db.brief import hot
from kosmos.db.tables import job
from kosmos.db.types import UtcDateTime
from kosmos.domain.jobs import JobStatus

_NOW = sa.bindparam("now", type_=UtcDateTime())
# What is due beyond some spaces. By an expression, or SQLite goes through the index by space, and so through
# everything that ever ended, instead of through the index of what is due.
_BEYOND_SPACES = hot(
    sa.select(job.c.id, job.c.space_id, job.c.priority)
    .where(job.c.due_at.is_not(None), job.c.due_at <= _NOW)
    .where(sa.func.coalesce(job.c.space_id, "").not_in(sa.bindparam("spaces", expanding=True)))
    .order_by(job.c.priority.desc(), job.c.due_at)
    .limit(sa.bindparam("most"))
)
_COUNT_DUE = hot(
    sa.select(sa.func.count()).select_from(job).where(job.c.due_at.is_not(None), job.c.due_at <= _NOW)
)
_HOLDERS = hot(
    sa.select(job.c.space_id, sa.func.count())
    .where(job.c.status == JobStatus.RUNNING.value)
    .group_by(job.c.space_id)
)


@dataclass(frozen=True, slots=True)
class Head:
    """A job that is due, and whose it is."""

    id: str
    space_id: str | None
    priority: int


async def due_beyond(
    conn: AsyncConnection, now: datetime, spaces: Iterable[str | None], *, limit: int
) -> list[Head]:
    """The most urgent jobs that are due and not of these spaces; nobody is locked."""
    values = {"now": now, "spaces": sorted(space or "" for space in spaces), "most": limit}
    return [Head(*row) for row in await conn.execute(_BEYOND_SPACES, values)]


async def count_due(conn: AsyncConnection, now: datetime) -> int:
    """How many jobs are due; by the index alone."""
    return int((await conn.execute(_COUNT_DUE, {"now": now})).scalar_one())


async def running_by_space(conn: AsyncConnection) -> dict[str | None, int]:
    """How many jobs of each space are being worked on."""
    return {row[0]: row[1] for row in await conn.execute(_HOLDERS)}
