"""Following jobs live: events come from the table, so it does not matter which process makes them."""

import time
from collections.abc import AsyncIterator

from kosmos.bells import Bell, Ear, topics
from kosmos.db import Database
from kosmos.db import jobs as table
from kosmos.domain.jobs import JobEvent

POLL_SECONDS = 0.3
QUIET_SECONDS = 9.0


async def follow(
    db: Database, job_id: str, *, after: int = 0, bell: Bell | None = None
) -> AsyncIterator[JobEvent | None]:
    """The events of a job from a sequence number on, as they happen, until the job has ended.

    None says that for a while nothing happened, so that whoever waits can show a sign of life.
    """
    with (bell or Bell()).listen(topics.job(job_id)) as ear:
        async for event in _follow(db, job_id, after, ear):
            yield event


async def _follow(db: Database, job_id: str, after: int, ear: Ear) -> AsyncIterator[JobEvent | None]:
    spoke = time.monotonic()
    while True:
        async with db.read() as conn:
            # In this order: a job that had ended before there were no more events has told everything.
            job = await table.get_job(conn, job_id)
            events = await table.events_after(conn, job_id, after)
        for event in events:
            after = event.sequence
            yield event
        if events:
            spoke = time.monotonic()
            continue
        if job is None or job.status.ended:
            return
        if time.monotonic() - spoke >= QUIET_SECONDS:
            spoke = time.monotonic()
            yield None
        await ear.rest(POLL_SECONDS)
