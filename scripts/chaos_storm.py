"""A storm over a crew of workers, and the calm after it. Does nothing when run."""

import asyncio
import contextlib
import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from chaos_crew import Crew, Setting
from chaos_ledger import TYPE, Labour, Verdict, create_ledger, judge

from kosmos.db import Database
from kosmos.db.migrate import ensure_current
from kosmos.db.tables import job as jobs
from kosmos.domain.clock import system_clock
from kosmos.domain.jobs import NewJob
from kosmos.errors import EngineUnavailable
from kosmos.jobs.creation import create_jobs

OPEN = ("PENDING", "RUNNING", "PAUSED")
CALM_SECONDS = 180.0
MOST_FROZEN = 2
_AT_WORK = sa.select(jobs.c.worker).where(jobs.c.status == "RUNNING", jobs.c.due_at > sa.bindparam("now"))

Strike = Callable[[], None]  # against a server; blocks until the server is back
Send = Callable[[list[str]], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """How hard it blows."""

    kills: int
    freezes: int
    workers: int
    seed: int
    strikes: Mapping[str, Sequence[Strike]]  # by name


class Storm:
    """Keeps jobs flowing, strikes workers that work and servers they need, then waits for the end."""

    def __init__(self, setting: Setting, plan: Plan, send: Send | None) -> None:
        self._setting = setting
        self._plan = plan
        self._send = send
        self._rng = random.Random(plan.seed)  # noqa: S311  (repeatable on purpose)
        self._db = Database(setting.database)
        self._registry = Labour(setting.calls).registry()
        self._confirmed: set[str] = set()
        self._thaws: set[asyncio.Task[None]] = set()
        self._crew: Crew

    async def run(self) -> Verdict:
        """Everything, from the empty database to the verdict."""
        await ensure_current(self._db, upgrade=True)
        await create_ledger(self._db)
        self._crew = Crew(self._setting, self._plan.workers)
        try:
            feeding = asyncio.create_task(self._feed())
            await self._blow()
            await asyncio.gather(*self._thaws)
            feeding.cancel()
            await asyncio.gather(feeding, return_exceptions=True)
            await self._calm()
        finally:
            await asyncio.to_thread(self._crew.stop)
        verdict = await judge(self._db, self._setting.calls, self._confirmed)
        await self._db.close()
        return verdict

    async def _blow(self) -> None:
        acts: list[Callable[[], Awaitable[None]]] = [self._kill] * self._plan.kills
        acts += [self._freeze] * self._plan.freezes
        for strikes in self._plan.strikes.values():
            acts += [lambda strike=strike: asyncio.to_thread(strike) for strike in strikes]  # type: ignore[misc]
        self._rng.shuffle(acts)
        for act in acts:
            await act()
            await asyncio.sleep(self._rng.uniform(0.2, 1.0))
            if crashed := self._crew.crashed():
                raise RuntimeError(f"workers ended by themselves: {', '.join(crashed)}")

    async def _kill(self) -> None:
        name = await self._working()
        self._crew.kill(name)

    async def _freeze(self) -> None:
        if self._crew.frozen >= MOST_FROZEN:
            await asyncio.wait(self._thaws, return_when=asyncio.FIRST_COMPLETED)
        name = await self._working()
        self._crew.freeze(name)
        thaw = asyncio.create_task(self._thaw(name))
        self._thaws.add(thaw)
        thaw.add_done_callback(self._thaws.discard)

    async def _thaw(self, name: str) -> None:
        await asyncio.sleep(self._setting.lease * self._rng.uniform(1.5, 2.5))
        self._crew.thaw(name)

    async def _working(self) -> str:
        """A worker that has a job in hand right now."""
        while True:
            rows = await self._ask(_AT_WORK)
            names = sorted({name for (name,) in rows if self._crew.can_be_struck(name)})
            if names:
                name: str = self._rng.choice(names)
                await asyncio.sleep(self._rng.uniform(0.0, 0.1))
                if self._crew.can_be_struck(name):
                    return name
            await asyncio.sleep(0.02)

    async def _feed(self) -> None:
        """Keep enough to do for everybody, some of it in chains."""
        while True:
            with contextlib.suppress(EngineUnavailable):
                if await self._open() < 3 * self._plan.workers * self._setting.slots:
                    await self._create()
                    continue
            await asyncio.sleep(0.1)

    async def _create(self) -> None:
        first, second = self._job("first"), self._job("second", "first")
        third = self._job("third", "first", "second")
        wanted = [first, second, third] if self._rng.random() < 0.3 else [first, self._job("beside")]
        async with self._db.write() as conn:
            made = await create_jobs(conn, self._registry, wanted, system_clock())
        self._confirmed |= {job.id for job in made}
        if self._send is not None:
            await asyncio.to_thread(self._send, [job.id for job in made])

    def _job(self, key: str, *after: str) -> NewJob:
        context = {"lines": self._rng.randint(8, 24), "pause": self._rng.uniform(0.03, 0.12)}
        return NewJob(TYPE, key=key, after=after, context=context)

    async def _calm(self) -> None:
        deadline = time.monotonic() + CALM_SECONDS
        while time.monotonic() < deadline:
            with contextlib.suppress(EngineUnavailable):
                if await self._open() == 0:
                    return
            await asyncio.sleep(0.2)

    async def _open(self) -> int:
        async with self._db.read() as conn:
            query = sa.select(sa.func.count()).select_from(jobs).where(jobs.c.status.in_(OPEN))
            return int(await conn.scalar(query) or 0)

    async def _ask(self, query: sa.Select[Any]) -> list[Any]:
        """Rows, once the database can be asked."""
        while True:
            with contextlib.suppress(EngineUnavailable):
                async with self._db.read() as conn:
                    return list((await conn.execute(query, {"now": system_clock()})).all())
            await asyncio.sleep(0.2)
