"""Which types of jobs there are, and who does them."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.domain.jobs import Job
from kosmos.errors import InvalidInput
from kosmos.jobs.run import Run

Handler = Callable[[Run], Awaitable[Mapping[str, Any] | None]]
Recheck = Callable[[Run], Awaitable[None]]


class Failed(Protocol):
    """Records what the failure of a job means beyond the job."""

    async def __call__(self, conn: AsyncConnection, *, job: Job, reason: str) -> None: ...


MAX_ATTEMPTS = 3
DEADLINE_SECONDS = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class JobType:
    """A type of job: its handler, and what is checked when a worker takes a job of it.

    `recheck` raises when permission or credential are no longer there. `exhausted` is asked once
    `max_attempts` claims in a row brought no progress: it may get past the obstacle (and the job goes
    on) or raise; without it the job fails. `failed` records what follows from a failure, in the
    transaction that ends the job.
    """

    name: str
    handler: Handler
    recheck: Recheck | None = None
    exhausted: Handler | None = None
    failed: Failed | None = None
    max_attempts: int = MAX_ATTEMPTS
    deadline_seconds: float = DEADLINE_SECONDS
    limit: int | None = None  # how many may run at once, over all workers


class Registry:
    """The types of jobs by name."""

    def __init__(self, *types: JobType) -> None:
        self._types = {kind.name: kind for kind in types}

    def get(self, name: str) -> JobType:
        """The type, or InvalidInput naming those that there are."""
        if name not in self._types:
            known = ", ".join(sorted(self._types))
            raise InvalidInput(f"There is no job type {name!r}.", remedy=f"Use one of: {known}.")
        return self._types[name]

    def known(self, name: str) -> bool:
        """Whether there is such a type."""
        return name in self._types

    @property
    def limits(self) -> dict[str, int]:
        """The types of which only so many may run at once."""
        return {name: kind.limit for name, kind in self._types.items() if kind.limit is not None}
