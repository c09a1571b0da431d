"""Which jobs of some spaces changed, told from their events."""

from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.db.jobs import as_job
from kosmos.db.tables import job, job_event
from kosmos.domain.jobs import Job

# Events get their number before they are committed: one with a lower number may appear a little later.
OVERLAP = 200


async def last_sequence(conn: AsyncConnection) -> int:
    """The number of the newest event of any job."""
    return int((await conn.execute(sa.select(sa.func.max(job_event.c.sequence)))).scalar() or 0)


async def jobs_changed_after(
    conn: AsyncConnection, sequence: int, space_ids: Sequence[str], *, limit: int = 1000
) -> list[tuple[Job, int]]:
    """Jobs with an event since, as they are now, each with the number of its newest event."""
    newest = sa.func.max(job_event.c.sequence)
    query = (
        sa.select(job_event.c.job_id, newest)
        .join(job, job.c.id == job_event.c.job_id)
        .where(job_event.c.sequence > max(0, sequence - OVERLAP), job.c.space_id.in_(space_ids))
        .group_by(job_event.c.job_id)
        .order_by(newest)
        .limit(limit)
    )
    numbers: dict[str, int] = {row[0]: int(row[1]) for row in await conn.execute(query)}
    found = await conn.execute(sa.select(job).where(job.c.id.in_(numbers)))
    jobs = {row.id: as_job(row) for row in found}
    return [(jobs[job_id], number) for job_id, number in numbers.items() if job_id in jobs]
