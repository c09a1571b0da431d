"""How the instance stands, over all users: for administrators and for monitoring."""

import asyncio
import time
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from kosmos.accounts.access import require_admin
from kosmos.db import standing as table
from kosmos.db.standing import Busy, Waiting
from kosmos.domain.accounts import Principal
from kosmos.domain.ids import first_id
from kosmos.domain.jobs import Spent
from kosmos.tasks.workbench import Workbench
from kosmos.telemetry.metrics import Family, Sample

KEPT_SECONDS = 5.0
RATE_WINDOW = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Standing:
    """What waits and runs. `oldest_due` is in seconds, 0 when nothing waits."""

    jobs: tuple[Waiting, ...]
    oldest_due: float
    runs: dict[str, int]


@dataclass(frozen=True, slots=True)
class Overview:
    """The same, with who works, what ended in the last minute, and what was spent today."""

    at: datetime
    standing: Standing
    workers: tuple[Busy, ...]
    ended: dict[str, int]
    spent_today: Spent


async def look(bench: Workbench) -> Standing:
    """How things stand now. Whoever asks has been checked."""
    now = bench.clock()
    async with bench.db.read() as conn:
        jobs = await table.open_jobs(conn)
        due = await table.oldest_due(conn, now)
        runs = await table.open_runs(conn)
    waited = max(0.0, (now - due).total_seconds()) if due else 0.0
    return Standing(tuple(jobs), waited, runs)


async def look_around(bench: Workbench, who: Principal) -> Overview:
    """The overview of the instance. Administrators only."""
    require_admin(who)
    now = bench.clock()
    standing = await look(bench)
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    async with bench.db.read() as conn:
        workers = await table.busy_workers(conn)
        ended = await table.ended_since(conn, now - RATE_WINDOW)
        spent = await table.spent_since(conn, first_id(midnight))
    return Overview(now, standing, tuple(workers), ended, spent)


def gauges(standing: Standing) -> list[Family]:
    """The standing as lines for Prometheus."""
    jobs = tuple(
        Sample("kosmos_jobs", (("type", item.type), ("status", item.status)), item.count)
        for item in standing.jobs
    )
    runs = tuple(
        Sample("kosmos_runs", (("status", status),), count) for status, count in sorted(standing.runs.items())
    )
    waited = (Sample("kosmos_jobs_oldest_due_seconds", (), standing.oldest_due),)
    return [
        Family("kosmos_jobs", "gauge", "Jobs that have not ended.", jobs),
        Family("kosmos_jobs_oldest_due_seconds", "gauge", "How long the oldest due job waits.", waited),
        Family("kosmos_runs", "gauge", "Runs of agents that have not ended.", runs),
    ]


@dataclass(slots=True)
class StandingCache:
    """The last look, kept for some seconds: many readers cost the database no more than one."""

    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _kept: tuple[float, Standing] | None = None

    async def get(self, bench: Workbench) -> Standing:
        """How things stand, or stood a moment ago."""
        async with self._lock:
            if self._kept is None or time.monotonic() - self._kept[0] >= KEPT_SECONDS:
                self._kept = (time.monotonic(), await look(bench))
            return self._kept[1]
