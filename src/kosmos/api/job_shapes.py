"""The forms in which jobs enter and leave over HTTP."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from kosmos.api.shapes import Form, Shape
from kosmos.domain.jobs import JobStatus, OnFailure
from kosmos.tasks.jobs import JobQuery, JobView
from kosmos.tasks.preflight import JobRequest

AnId = Annotated[str, StringConstraints(pattern=r"^[0-9a-zA-Z-]{1,36}$")]
TypeName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,63}$")]


class JobIn(Form):
    """A job to be made."""

    type: TypeName = Field(examples=["chunking"])
    document_id: AnId | None = Field(default=None, description="Of jobs about a document.")
    space_id: AnId | None = Field(default=None, description="Of jobs about a space, such as crawling.")
    context: dict[str, Any] = Field(default={}, examples=[{"producer": "structure"}])
    priority: int = Field(default=0, ge=-1000, le=1000)
    deadline_seconds: float | None = Field(default=None, gt=0, le=7 * 24 * 3600)
    after: list[AnId] = Field(default=[], max_length=100, description="Jobs to wait for.")
    on_failure: OnFailure = OnFailure.FAIL

    def request(self) -> JobRequest:
        """As the tasks want it."""
        values = self.model_dump(exclude={"after"})
        return JobRequest(**{**values, "on_failure": self.on_failure, "after": tuple(self.after)})


class JobQueryIn(Form):
    """Which jobs to list; `next` of one page goes into `before` of the next."""

    space_id: AnId | None = None
    document_id: AnId | None = None
    type: TypeName | None = None
    status: JobStatus | None = None
    before: Annotated[str, StringConstraints(pattern=r"^[0-9a-zA-Z-]{0,36}$")] = ""
    limit: int = Field(default=100, ge=1, le=1000, description="How many items at most.")

    def query(self) -> JobQuery:
        """As the tasks want it."""
        return JobQuery(**{**self.model_dump(), "status": self.status})


class SpentOut(Shape):
    """What model calls have cost so far."""

    prompt_tokens: int
    cached_tokens: int
    output_tokens: int
    cost: float


class JobOut(Shape):
    """A job."""

    id: str
    type: str
    status: JobStatus
    reason: str | None
    space_id: str | None
    document_id: str | None
    asset_id: str | None
    initiator_id: str | None
    priority: int
    context: Mapping[str, Any]
    progress: Mapping[str, Any]
    result: Mapping[str, Any] | None
    spent: SpentOut
    due_at: datetime | None
    deadline_at: datetime | None
    epoch: int
    attempts: int
    worker: str | None
    created_at: datetime
    started_at: datetime | None
    updated_at: datetime
    finished_at: datetime | None


class WaitOut(Shape):
    """A job that another one waits for."""

    job_id: str
    type: str
    status: JobStatus
    on_failure: OnFailure


class JobViewOut(JobOut):
    """A job with what it waits for."""

    waits_for: list[WaitOut]

    @classmethod
    def of(cls, view: JobView) -> "JobViewOut":
        """From a job and its dependencies."""
        waits = [
            WaitOut(job_id=job.id, type=job.type, status=job.status, on_failure=choice)
            for job, choice in view.waits_for
        ]
        return cls(**JobOut.model_validate(view.job).model_dump(), waits_for=waits)


class EstimateOut(Shape):
    """What a job will probably take; `cost` is null where the credential names no prices."""

    prompt_tokens: int
    output_tokens: int
    cost: float | None
    credential: str | None


class CreatedJobOut(Shape):
    """A job that was asked for. `existing`: the same work was waiting or running already."""

    job: JobOut
    existing: bool
    estimate: EstimateOut
    hints: list[str]


class EstimatedJobOut(Shape):
    """What a job would take."""

    estimate: EstimateOut
    hints: list[str]


class JobEventOut(Shape):
    """Something that happened to a job."""

    sequence: int
    job_id: str
    status: JobStatus
    reason: str | None
    progress: Mapping[str, Any]
    epoch: int
    created_at: datetime
