"""What becomes of a job whose handler raised."""

import math
import random
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kosmos.domain.jobs import Job, JobStatus, NewJob
from kosmos.errors import (
    AllProvidersFailed,
    DeadlinePassed,
    EngineUnavailable,
    InvalidInput,
    NoProgress,
    NotReady,
    ProviderBusy,
    ProviderRejected,
    ProviderUnavailable,
)
from kosmos.jobs.creation import _job
from kosmos.jobs.outcomes import (
    FIRST_BACKOFF,
    LONGEST_BACKOFF,
    LONGEST_PAUSE,
    MAX_REASON,
    PROVIDER_PAUSE,
    backoff,
    ending_of,
)
from kosmos.jobs.registry import JobType
from kosmos.jobs.run import Run

NOW = datetime(2026, 1, 1, tzinfo=UTC)


async def _nothing(_run: Run) -> None:
    """Does nothing."""


def _a_job(attempts: int = 1) -> Job:
    job = _job(JobType("work", _nothing), NewJob("work"), blocked=False, now=NOW)
    return Job(**{name: getattr(job, name) for name in Job.__slots__} | {"attempts": attempts, "epoch": 5})


def _end(error: Exception, attempts: int = 1) -> tuple[JobStatus, float | None, bool, str]:
    job = _a_job(attempts)
    ending = ending_of(job, error, max_attempts=3, now=NOW, rng=random.Random(1))
    assert (ending.job_id, ending.epoch) == (job.id, 5)
    wait = None if ending.due_at is None else (ending.due_at - NOW).total_seconds()
    return ending.status, wait, ending.counts, ending.reason or ""


@pytest.mark.parametrize(
    "error",
    [
        InvalidInput("Wrong."),
        ProviderRejected("No."),
        DeadlinePassed(),
        NoProgress(),
        AllProvidersFailed([("one", ProviderRejected("No."))]),
    ],
)
def test_a_permanent_error_fails_at_once(error: Exception) -> None:
    status, wait, counts, reason = _end(error)
    assert (status, wait, counts) == (JobStatus.FAILED, None, True)
    assert str(error) in reason


@pytest.mark.parametrize(
    "error",
    [
        ProviderUnavailable("Away."),
        EngineUnavailable("Away."),
        ProviderBusy("Slow down."),
        AllProvidersFailed([("one", ProviderRejected("No.")), ("two", ProviderUnavailable("Away."))]),
    ],
)
def test_an_outage_pauses_and_does_not_count(error: Exception) -> None:
    status, wait, counts, reason = _end(error, attempts=99)
    assert (status, counts) == (JobStatus.PAUSED, False)
    assert wait is not None
    assert PROVIDER_PAUSE / 2 <= wait <= PROVIDER_PAUSE
    assert str(error) in reason


@pytest.mark.parametrize(
    ("asked", "least", "most"),
    [(7.0, 7.0, 9.0), (0.0, 0.0, 2.0), (1e9, LONGEST_PAUSE, LONGEST_PAUSE), (-1e300, 0.0, 0.0)],
)
def test_what_the_provider_asks_for_is_honoured_within_reason(
    asked: float, least: float, most: float
) -> None:
    _, wait, _, _ = _end(ProviderBusy(retry_after=asked))
    assert wait is not None
    assert least <= wait <= most


@pytest.mark.parametrize("seconds", [math.inf, -math.inf, math.nan, 1e300, -5.0, 20.0])
def test_not_ready_waits_as_long_as_it_says(seconds: float) -> None:
    status, wait, counts, reason = _end(NotReady("Assets are still being read.", seconds=seconds))
    assert (status, counts, reason) == (JobStatus.PAUSED, False, "Assets are still being read.")
    assert wait is not None
    assert 0.0 <= wait <= LONGEST_PAUSE
    if seconds == 20.0:
        assert wait == seconds


def test_anything_else_is_tried_again_until_the_attempts_are_used_up() -> None:
    status, wait, counts, reason = _end(RuntimeError("boom"), attempts=2)
    assert (status, counts) == (JobStatus.PENDING, True)
    assert wait is not None
    assert reason == "Trying again. Last error: RuntimeError: boom"
    status, wait, _, reason = _end(RuntimeError("boom"), attempts=3)
    assert (status, wait) == (JobStatus.FAILED, None)
    assert reason == "Failed after 3 attempts. Last error: RuntimeError: boom"


def test_a_timeout_inside_a_handler_is_no_deadline() -> None:
    assert _end(TimeoutError("no answer"))[0] is JobStatus.PENDING


@given(st.text(st.characters(), max_size=20).map(lambda text: text + "\x00\ud800" * 3000))
def test_a_reason_can_always_be_stored(text: str) -> None:
    reason = _end(InvalidInput(text))[3]
    assert len(reason) <= MAX_REASON
    assert "\x00" not in reason
    reason.encode()


@given(st.integers(0, 10_000), st.integers())
def test_backoff_grows_but_not_for_ever(attempts: int, seed: int) -> None:
    seconds = backoff(attempts, random.Random(seed))
    longest = min(LONGEST_BACKOFF, FIRST_BACKOFF * 2.0 ** min(attempts, 20) / 2)
    assert longest / 2 <= seconds <= longest
    assert NOW + timedelta(seconds=seconds) > NOW
