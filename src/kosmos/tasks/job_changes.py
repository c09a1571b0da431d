"""All jobs that somebody may see, followed at once: each change brings the job as it is then."""

import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from kosmos.accounts.access import visible_space_ids
from kosmos.bells import Ear, topics
from kosmos.db import job_changes
from kosmos.domain.accounts import Principal
from kosmos.domain.jobs import Job
from kosmos.tasks.jobs import RIGHTS_HOLD
from kosmos.tasks.workbench import Workbench

POLL_SECONDS = 0.5
QUIET_SECONDS = 12.0


@dataclass(frozen=True, slots=True)
class JobChange:
    """A job as it is now. `sequence` goes into `after` to go on from here; without a job it is a start."""

    sequence: int
    job: Job | None = None


async def follow_jobs_of(
    bench: Workbench, who: Principal, *, after: int | None = None, seconds: float | None = None
) -> AsyncIterator[JobChange | None]:
    """First where the stream stands, then every job that changes; None from time to time when none does.

    It ends after so many seconds, or never.
    """
    with bench.bell.listen(topics.JOBS) as ear:
        async for change in _follow(bench, who, after, ear, seconds=seconds):
            yield change


async def _follow(
    bench: Workbench, who: Principal, after: int | None, ear: Ear, *, seconds: float | None
) -> AsyncIterator[JobChange | None]:
    started = spoke = time.monotonic()
    spaces, checked = await _spaces(bench, who), bench.clock()
    last = await _start(bench) if after is None else after
    told: dict[str, tuple[datetime, int]] = {}
    yield JobChange(last)
    while True:
        if bench.clock() - checked > RIGHTS_HOLD:
            spaces, checked = await _spaces(bench, who), bench.clock()
        async with bench.db.read() as conn:
            changed = await job_changes.jobs_changed_after(conn, last, spaces)
        news = [(job, number) for job, number in changed if told.get(job.id) != (job.updated_at, number)]
        if after is None and not told:  # what had happened before the start is no news
            news = [(job, number) for job, number in news if number > last]
        told = {job.id: (job.updated_at, number) for job, number in changed}
        for job, number in news:
            last = max(last, number)
            yield JobChange(last, job)
        if news:
            spoke = time.monotonic()
        elif time.monotonic() - spoke >= QUIET_SECONDS:
            spoke = time.monotonic()
            yield None
        if seconds is not None and time.monotonic() - started >= seconds:
            return
        if not news:
            left = None if seconds is None else started + seconds - time.monotonic()
            await ear.rest(POLL_SECONDS, least=POLL_SECONDS, most=left)


async def _start(bench: Workbench) -> int:
    async with bench.db.read() as conn:
        return await job_changes.last_sequence(conn)


async def _spaces(bench: Workbench, who: Principal) -> Sequence[str]:
    async with bench.db.read() as conn:
        return await visible_space_ids(conn, who)
