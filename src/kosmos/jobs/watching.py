"""Following jobs live: events come from the table, so it does not matter which process makes them."""

import asyncio
from collections.abc import AsyncIterator

from kosmos.db import Database
from kosmos.db import jobs as table
from kosmos.domain.jobs import JobEvent

POLL_SECONDS = 0.3
QUIET_POLLS = 30


async def follow(db: Database, job_id: str, *, after: int = 0) -> AsyncIterator[JobEvent | None]:
    """The events of a job from a sequence number on, as they happen, until the job has ended.

    None says that for a while nothing happened, so that whoever waits can show a sign of life.
    """
    quiet = 0
    while True:
        async with db.read() as conn:
            # In this order: a job that had ended before there were no more events has told everything.
            job = await table.get_job(conn, job_id)
            events = await table.events_after(conn, job_id, after)
        for event in events:
            after = event.sequence
            yield event
        if events:
            quiet = 0
            continue
        if job is None or job.status.ended:
            return
        quiet += 1
        if quiet % QUIET_POLLS == 0:
            yield None
        await asyncio.sleep(POLL_SECONDS)
