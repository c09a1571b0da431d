"""What a handler gets: its job, and the one way to record what it has done."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.db import Database
from kosmos.db import jobs as table
from kosmos.db.jobs import Step
from kosmos.domain.clock import Clock
from kosmos.domain.jobs import Job, Spent
from kosmos.domain.values import check_json
from kosmos.errors import EngineUnavailable, InvalidInput, LeaseLost

if TYPE_CHECKING:
    from kosmos.jobs.registry import Registry

MAX_PROGRESS = 8 * 1024


class Run:
    """One claim of one job.

    A handler does its work in batches: it computes, then opens `batch(progress=…)` and writes its rows
    with the connection it gets. Rows, progress and money spent commit together or not at all, and only
    while the claim holds. After a crash the next claim starts from the progress that was committed.
    """

    def __init__(
        self,
        job: Job,
        *,
        db: Database,
        clock: Clock,
        lease: timedelta,
        registry: "Registry | None" = None,
        tell: Callable[[], None] | None = None,
    ) -> None:
        self.job = job
        self.db = db
        self.registry = registry  # for handlers that make further jobs in their batches
        self.clock = clock
        self.lost = asyncio.Event()
        self._tell = tell  # those who follow the job
        self._lease = lease
        self._unbooked = Spent()
        self._in_doubt = False

    @property
    def progress(self) -> Mapping[str, Any]:
        """What was committed so far."""
        return self.job.progress

    def spend(self, spent: Spent) -> None:
        """Note money spent now; it is booked with the next batch, or when the claim ends in whatever way."""
        self._unbooked += spent

    def unbooked(self) -> Spent:
        """What is spent and not booked yet; asking for it clears it."""
        spent, self._unbooked = self._unbooked, Spent()
        return spent

    def check(self) -> None:
        """Raise LeaseLost when it is known that the claim no longer holds: nothing more is worth doing.

        After a commit that failed nobody knows whether it was done: only a new claim can tell.
        """
        if self.lost.is_set():
            raise LeaseLost
        if self._in_doubt:
            raise EngineUnavailable("It is not known whether the last batch was written.")

    @asynccontextmanager
    async def batch(self, progress: Mapping[str, Any] | None = None) -> AsyncIterator[AsyncConnection]:
        """A transaction for one batch of work, fenced by the claim.

        Progress may only go forward: a `current…` number smaller than the one before is refused.
        """
        if progress is not None:
            _check_forward(self.job.progress, progress)
        forward = progress is not None and dict(progress) != self.job.progress
        async with self._batch(progress, forward=forward) as conn:
            yield conn

    @asynccontextmanager
    async def restart(self, progress: Mapping[str, Any]) -> AsyncIterator[AsyncConnection]:
        """A batch that begins the work anew: progress may go back, and leftovers are cleared in it."""
        async with self._batch(progress, forward=False) as conn:
            yield conn

    @asynccontextmanager
    async def _batch(
        self, progress: Mapping[str, Any] | None, *, forward: bool
    ) -> AsyncIterator[AsyncConnection]:
        self.check()
        new = None if progress is None else check_json(progress, what="progress", most=MAX_PROGRESS)
        spent = self.unbooked()
        try:
            async with self.db.write() as conn:
                await self._advance(conn, Step(new, forward, spent))
                yield conn
                self._in_doubt = True
            self._in_doubt = False
        except BaseException:
            self._unbooked += spent
            raise
        if self._tell is not None and new is not None:
            self._tell()
        self.job = replace(
            self.job,
            progress=self.job.progress if new is None else new,
            spent=self.job.spent + spent,
            attempts=0 if forward else self.job.attempts,
        )

    async def _advance(self, conn: AsyncConnection, step: Step) -> None:
        now = self.clock()  # after the wait for the lock, so that the lease is a whole one
        until = now + self._lease
        if not await table.advance(conn, self.job.id, self.job.epoch, step, now=now, until=until):
            self.lost.set()
            raise LeaseLost


def _check_forward(before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    for key, value in before.items():
        new = after.get(key)
        backwards = isinstance(new, int | float) and isinstance(value, int | float) and new < value
        if key.startswith("current") and backwards:
            raise InvalidInput(
                f"Progress would go backwards: {key} from {value} to {new}.",
                remedy="Use `restart` to begin anew.",
            )
