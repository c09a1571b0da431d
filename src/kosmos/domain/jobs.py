"""Jobs: every long task is a row that survives anything, and these are its words."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any


class JobStatus(StrEnum):
    """How far a job has come."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"

    @property
    def ended(self) -> bool:
        """Whether nothing more happens by itself."""
        return self in (JobStatus.COMPLETED, JobStatus.FAILED, JobStatus.CANCELLED)


# What may follow what. The database enforces the same table by a trigger.
TRANSITIONS: Mapping[JobStatus, frozenset[JobStatus]] = {
    JobStatus.PENDING: frozenset(
        {JobStatus.RUNNING, JobStatus.PAUSED, JobStatus.FAILED, JobStatus.CANCELLED}
    ),
    JobStatus.RUNNING: frozenset(set(JobStatus) - {JobStatus.RUNNING}),
    JobStatus.PAUSED: frozenset(
        {JobStatus.PENDING, JobStatus.RUNNING, JobStatus.FAILED, JobStatus.CANCELLED}
    ),
    JobStatus.FAILED: frozenset({JobStatus.PENDING}),
    JobStatus.CANCELLED: frozenset({JobStatus.PENDING}),
    JobStatus.COMPLETED: frozenset(),
}


class OnFailure(StrEnum):
    """What a job does when one that it waits for does not complete."""

    FAIL = "fail"
    CONTINUE = "continue"


@dataclass(frozen=True, slots=True)
class Spent:
    """What model calls cost so far."""

    prompt_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(
            self.prompt_tokens + other.prompt_tokens,
            self.cached_tokens + other.cached_tokens,
            self.output_tokens + other.output_tokens,
            self.cost + other.cost,
        )


@dataclass(frozen=True, slots=True)
class Job:
    """One task. `due_at` is the whole queue: when a worker may next take the job, or None for never.

    PENDING: since when it waits. RUNNING: when its lease runs out. PAUSED: when it is looked at again
    (None: when a person resumes it). Ended: None.
    """

    id: str
    type: str
    status: JobStatus
    reason: str | None  # why it is paused, failed or cancelled
    space_id: str | None
    document_id: str | None
    asset_id: str | None
    initiator_id: str | None
    priority: int  # higher first
    lane: str | None  # jobs of one lane, e.g. of one credential, share a limit of how many run at once
    lane_limit: int | None
    dedupe_key: str | None  # at most one job that has not ended has this key
    context: Mapping[str, Any]
    progress: Mapping[str, Any]
    result: Mapping[str, Any] | None
    spent: Spent
    due_at: datetime | None
    deadline_at: datetime | None
    epoch: int  # rises at every claim, pause and cancel; a worker with an older one can write nothing
    attempts: int  # claims since the last progress
    worker: str | None
    created_at: datetime
    started_at: datetime | None
    updated_at: datetime
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job to be made. `after` names jobs to wait for: ids, or `key`s of jobs made in the same call."""

    type: str
    key: str = ""
    space_id: str | None = None
    document_id: str | None = None
    asset_id: str | None = None
    initiator_id: str | None = None
    priority: int = 0
    lane: str | None = None
    lane_limit: int | None = None
    dedupe_key: str | None = None
    context: Mapping[str, Any] = field(default_factory=dict)
    deadline_seconds: float | None = None
    after: tuple[str, ...] = ()
    on_failure: OnFailure = OnFailure.FAIL


@dataclass(frozen=True, slots=True)
class JobEvent:
    """Something that happened to a job, numbered so that a watcher can go on where it stopped."""

    sequence: int
    job_id: str
    status: JobStatus
    reason: str | None
    progress: Mapping[str, Any]
    epoch: int
    created_at: datetime
