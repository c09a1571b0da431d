"""What becomes of a job whose handler raised."""

import random
from datetime import datetime, timedelta

from kosmos.db.jobs import Ending
from kosmos.domain.jobs import Job, JobStatus
from kosmos.errors import EngineUnavailable, KosmosError, NotReady, ProviderBusy, ProviderError, SlowDown

FIRST_BACKOFF = 2.0
LONGEST_BACKOFF = 300.0
PROVIDER_PAUSE = 30.0
LONGEST_PAUSE = 3600.0
MAX_REASON = 2000


def ending_of(job: Job, error: Exception, *, max_attempts: int, now: datetime, rng: random.Random) -> Ending:
    """Permanent errors fail at once. Providers that are busy or away pause the job, which does not count
    as an attempt. Everything else is tried again, later and later, until the attempts are used up."""
    reason = _reason(error)
    if isinstance(error, NotReady):
        due = now + timedelta(seconds=_bounded(error.seconds))
        return Ending(job.id, job.epoch, JobStatus.PAUSED, reason, due_at=due, counts=False)
    if isinstance(error, SlowDown):
        due = now + timedelta(seconds=_bounded(error.retry_after + rng.uniform(0.0, 2.0)))
        return Ending(job.id, job.epoch, JobStatus.PAUSED, reason, due_at=due, counts=False)
    if isinstance(error, ProviderError | EngineUnavailable) and error.retryable:
        due = now + timedelta(seconds=_pause(error, rng))
        return Ending(job.id, job.epoch, JobStatus.PAUSED, reason, due_at=due, counts=False)
    if isinstance(error, KosmosError) and not error.retryable:
        return Ending(job.id, job.epoch, JobStatus.FAILED, reason)
    if job.attempts >= max_attempts:
        text = f"Failed after {job.attempts} attempts. Last error: {reason}"
        return Ending(job.id, job.epoch, JobStatus.FAILED, text)
    due = now + timedelta(seconds=backoff(job.attempts, rng))
    return Ending(job.id, job.epoch, JobStatus.PENDING, f"Trying again. Last error: {reason}", due_at=due)


def backoff(attempts: int, rng: random.Random) -> float:
    """Seconds to wait before the next attempt: doubling, spread so that jobs do not come back together."""
    longest = min(LONGEST_BACKOFF, FIRST_BACKOFF * float(2 ** min(attempts, 20)) / 2)
    return longest * rng.uniform(0.5, 1.0)


def _pause(error: KosmosError, rng: random.Random) -> float:
    if isinstance(error, ProviderBusy) and error.retry_after is not None:
        return _bounded(error.retry_after + rng.uniform(0.0, 2.0))
    return PROVIDER_PAUSE * rng.uniform(0.5, 1.0)


def _bounded(seconds: float) -> float:
    """What somebody else asks for, as a time that can be waited for."""
    return max(0.0, min(LONGEST_PAUSE, seconds))


def _reason(error: Exception) -> str:
    if isinstance(error, KosmosError):
        text = f"{error.message} {error.remedy}" if error.remedy else error.message
    else:
        text = f"{type(error).__name__}: {error}"
    return text.replace("\x00", "").encode(errors="replace").decode()[:MAX_REASON]
