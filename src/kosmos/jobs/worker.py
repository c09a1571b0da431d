"""The worker: takes jobs, keeps their leases, runs their handlers, records how they end."""

import asyncio
import contextlib
import logging
import random
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

from kosmos.bells import Bell, topics
from kosmos.db import Database
from kosmos.db import jobs as table
from kosmos.db.jobs import Ending
from kosmos.domain.clock import Clock, system_clock
from kosmos.domain.jobs import Job, JobStatus, Spent
from kosmos.domain.values import check_json
from kosmos.errors import (
    DeadlinePassed,
    EngineUnavailable,
    KosmosError,
    LeaseLost,
    NoProgress,
    NotReady,
)
from kosmos.jobs.claiming import Claimer
from kosmos.jobs.endings import Endings, Then
from kosmos.jobs.outcomes import ending_of
from kosmos.jobs.registry import JobType, Registry
from kosmos.jobs.run import Run
from kosmos.jobs.waking import tell_of
from kosmos.telemetry import measures
from kosmos.telemetry.traces import span

log = logging.getLogger(__name__)

LEASE = timedelta(seconds=10)
POLL_SECONDS = 1.0
IDLE_SECONDS = 0.05
MAX_RESULT = 64 * 1024
LOST = "lost"


class Worker:
    """Runs up to `slots` jobs at once in one event loop."""

    def __init__(
        self,
        db: Database,
        registry: Registry,
        *,
        name: str,
        slots: int = 4,
        clock: Clock = system_clock,
        lease: timedelta = LEASE,
        rng: random.Random | None = None,
    ) -> None:
        self.bell = Bell()  # its host may give it that of the process before it runs
        self._db = db
        self._registry = registry
        self._slots = slots
        self._clock = clock
        self._lease = lease
        self._rng = rng or random.Random()  # noqa: S311  (spreads retries, hides nothing)
        self._claimer = Claimer(db, clock, name, lease, registry.limits)
        self._endings = Endings(db, clock, patience=lease.total_seconds(), freed=self._ring)
        self._runs: dict[asyncio.Task[None], Run] = {}
        self._wake = asyncio.Event()
        self._stopping = False
        self._claiming = False  # taken, but not started yet

    def wake(self) -> None:
        """Look for work now instead of at the next poll."""
        self._wake.set()

    def stop(self) -> None:
        """Take no more jobs, give back those that run, and let `run` return."""
        self._stopping = True
        self._wake.set()

    def _ring(self) -> None:
        """There is something to take, for any worker."""
        self.bell.ring(topics.DUE)

    async def stopped(self) -> None:
        """Return once `stop` was called."""
        while not self._stopping:
            await self._wake.wait()
            self._wake.clear()

    async def idle(self) -> None:
        """Return once nothing runs and nothing is due."""
        while True:
            async with self._db.read() as conn:
                due = await table.due_ids(conn, self._clock(), limit=1)
            if not due and not self._runs and not self._claiming:
                return
            await asyncio.sleep(IDLE_SECONDS)

    @property
    def db(self) -> Database:
        """The database whose jobs it takes."""
        return self._db

    @property
    def clock(self) -> Clock:
        """The clock it goes by."""
        return self._clock

    @property
    def busy(self) -> int:
        """How many jobs run at the moment."""
        return len(self._runs)

    @contextlib.asynccontextmanager
    async def keeping(self) -> AsyncIterator[None]:
        """Keep the leases of what runs; at the end, stop it and give it back."""
        keeper = asyncio.create_task(self._keep_leases())
        try:
            yield
        finally:
            await self._give_back()
            keeper.cancel()
            await asyncio.gather(keeper, return_exceptions=True)

    async def run(self) -> None:
        """Look for work until told to stop. An unreachable database is waited for."""
        # How long it rests stays the same: jobs also become due by the clock, and that rings for nobody.
        async with self.keeping():
            with self.bell.listen(topics.DUE, self._wake):
                await self._run()

    async def _run(self) -> None:
        while not self._stopping:
            self._wake.clear()
            if not await self._take_some():
                await self._rest()

    async def run_one(self, job_id: str | None = None) -> bool:
        """Inside `keeping`: take a job, a named one or the most urgent, and run it to its end.

        False when there is none that can be taken now.
        """
        claimed = await self._claimer.claim(1, only=job_id) if not self._stopping else []
        await asyncio.gather(*(self._start(job) for job in claimed))
        return bool(claimed)

    async def _take_some(self) -> bool:
        """Fill the free slots; False when there was no room or nothing to take."""
        free = self._slots - len(self._runs)
        if free <= 0:
            return False
        self._claiming = True
        try:
            claimed = await self._claimer.claim(free)
            for job in claimed:
                self._start(job)
        except EngineUnavailable:
            log.warning("the database cannot be reached; waiting", exc_info=True)
            return False
        except Exception:
            log.exception("no jobs could be taken; trying again")
            return False
        finally:
            self._claiming = False
        return bool(claimed)

    async def _rest(self) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._wake.wait(), POLL_SECONDS)

    def _start(self, job: Job) -> "asyncio.Task[None]":
        tell = partial(tell_of, self.bell, job.id)
        run = Run(job, db=self._db, clock=self._clock, lease=self._lease, registry=self._registry, tell=tell)
        tell()
        task = asyncio.create_task(self._work(run), name=f"job {job.id}")
        self._runs[task] = run
        task.add_done_callback(self._forget)
        return task

    def _forget(self, task: "asyncio.Task[None]") -> None:
        self._runs.pop(task, None)
        self._wake.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a job could not be ended", exc_info=error)

    async def _work(self, run: Run) -> None:
        """Run the handler and record how it ended."""
        job, began = run.job, time.perf_counter()
        with span("job", job_id=job.id, type=job.type, space_id=job.space_id, epoch=job.epoch):
            ending = await self._handle(run)
        if ending is not None:
            await self._endings.record(replace(ending, spent=run.unbooked()), self._consequence(run, ending))
        else:
            await self._book(run)
        tell_of(self.bell, job.id)
        _tell(run, ending.status.value if ending else LOST, time.perf_counter() - began)

    async def _book(self, run: Run) -> None:
        """What was spent is spent, whoever holds the job now."""
        spent = run.unbooked()
        if spent != Spent():
            with contextlib.suppress(EngineUnavailable):
                async with self._db.brief() as conn:
                    await table.book(conn, run.job.id, spent)

    def _consequence(self, run: Run, ending: Ending) -> Then | None:
        """What a failure means beyond the job itself."""
        if ending.status is not JobStatus.FAILED or not self._registry.known(run.job.type):
            return None
        failed = self._registry.get(run.job.type).failed
        return partial(failed, job=run.job, reason=ending.reason or "") if failed else None

    async def _handle(self, run: Run) -> Ending | None:
        """How the claim ends; None when it is no longer ours to end."""
        job = run.job
        try:
            if not self._registry.known(job.type):
                raise NotReady(f"No worker here knows the job type {job.type!r}.")
            kind = self._registry.get(job.type)
            result = await self._call_in_time(kind, run)
            if result is not None:
                result = check_json(result, what="result", most=MAX_RESULT)
            return Ending(job.id, job.epoch, JobStatus.COMPLETED, result=result)
        except LeaseLost:
            return None
        except asyncio.CancelledError:
            if run.lost.is_set():
                return None
            if not _asked_to_stop():
                return self._failure(run, RuntimeError("The handler was cancelled from inside."))
            reason = "Given back by a worker that stopped."
            now = self._clock()
            return Ending(job.id, job.epoch, JobStatus.PENDING, reason, due_at=now, counts=False)
        except Exception as error:  # noqa: BLE001  (the boundary between the worker and all handlers)
            return self._failure(run, error)

    def _failure(self, run: Run, error: Exception) -> Ending:
        job, known = run.job, self._registry.known(run.job.type)
        if not isinstance(error, KosmosError):
            log.error("a job handler broke", exc_info=error, extra={"job_id": job.id, "type": job.type})
        attempts = self._registry.get(job.type).max_attempts if known else 1
        return ending_of(job, error, max_attempts=attempts, now=self._clock(), rng=self._rng)

    async def _call_in_time(self, kind: JobType, run: Run) -> Mapping[str, Any] | None:
        """Call the handler; DeadlinePassed when the time is over, which its own timeouts do not mean."""
        limit = asyncio.timeout(self._seconds_left(run.job, kind))
        try:
            async with limit:
                return await _call(kind, run)
        except TimeoutError:
            if limit.expired():
                raise DeadlinePassed(remedy="Retry it with more time, or split the work.") from None
            raise

    def _seconds_left(self, job: Job, kind: JobType) -> float:
        started = job.started_at or self._clock()
        deadline = job.deadline_at or started + timedelta(seconds=kind.deadline_seconds)
        return (deadline - self._clock()).total_seconds()

    async def _keep_leases(self) -> None:
        """Prolong the leases of what runs; stop the handlers of what is no longer held."""
        renewed_at = self._clock()
        while True:
            await asyncio.sleep(self._lease.total_seconds() / 3)
            now = self._clock()
            claims = {(run.job.id, run.job.epoch) for run in self._runs.values()}
            if not claims:
                renewed_at = now
                continue
            try:
                held = await self._renew(claims)
            except Exception as error:
                log.warning("leases could not be renewed", exc_info=error)
                if now < renewed_at + self._lease:
                    continue
                held = set()  # nobody knows; whoever is not sure must not go on
            renewed_at = now
            self._abandon(claims - held)

    async def _renew(self, claims: set[tuple[str, int]]) -> set[tuple[str, int]]:
        async with self._db.brief() as conn:
            now = self._clock()  # after the wait for the lock, so that the lease is a whole one
            return await table.renew(conn, sorted(claims), now=now, until=now + self._lease)

    def _abandon(self, lost: set[tuple[str, int]]) -> None:
        for task, run in list(self._runs.items()):
            if (run.job.id, run.job.epoch) in lost:
                run.lost.set()
                task.cancel()

    async def _give_back(self) -> None:
        """Stop all handlers; their jobs are due again at once."""
        await asyncio.sleep(0)  # let those taken a moment ago begin: what never began cannot give back
        tasks = list(self._runs)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._endings.settled()
        if tasks:
            self._ring()


def _tell(run: Run, status: str, seconds: float) -> None:
    """One log line with the ids of what was done, and what is counted."""
    job = run.job
    measures.JOBS_ENDED.add(job.type, status)
    measures.JOB_SECONDS.observe(seconds, job.type)
    if status == LOST:
        measures.LEASES_LOST.add(job.type)
    ids = {"space_id": job.space_id, "document_id": job.document_id, "initiator_id": job.initiator_id}
    counts = {"epoch": job.epoch, "attempts": job.attempts, "ms": round(seconds * 1000, 1)}
    log.info("job", extra={"job_id": job.id, "type": job.type, "ended": status, **ids, **counts})


async def _call(kind: JobType, run: Run) -> Mapping[str, Any] | None:
    """Check again what was checked when the job was made, then do the work."""
    stuck = run.job.attempts > kind.max_attempts
    # What gets past obstacles has as many attempts as the handler had.
    if stuck and (kind.exhausted is None or run.job.attempts > 2 * kind.max_attempts):
        raise NoProgress(
            f"{run.job.attempts - 1} attempts in a row ended without progress, as after a crash.",
            remedy="Look at the log of the workers around its last events, then retry it.",
        )
    if kind.recheck is not None:
        await kind.recheck(run)
    return await (kind.exhausted if stuck and kind.exhausted else kind.handler)(run)


def _asked_to_stop() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
