"""A job that may not go on for now waits, and no attempt is counted."""

import random
from datetime import UTC, datetime, timedelta

from kosmos.domain.jobs import Job, JobStatus
from kosmos.errors import TokensUsedUp
from kosmos.jobs.outcomes import LONGEST_PAUSE, ending_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class _Job:
    id, epoch, attempts = "j", 3, 2


def test_a_job_without_tokens_waits() -> None:
    job: Job = _Job()  # type: ignore[assignment]
    rng = random.Random(1)
    ending = ending_of(job, TokensUsedUp(retry_after=600.0), max_attempts=2, now=NOW, rng=rng)
    assert (ending.status, ending.counts) == (JobStatus.PAUSED, False)
    assert ending.due_at is not None
    assert timedelta(seconds=600) <= ending.due_at - NOW <= timedelta(seconds=602)
    late = ending_of(job, TokensUsedUp(retry_after=80_000.0), max_attempts=2, now=NOW, rng=rng)
    assert late.due_at == NOW + timedelta(seconds=LONGEST_PAUSE)
