"""What the simulated jobs do: they write lines, in batches, through the one API there is; and they fail."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.domain.jobs import Spent
from kosmos.errors import EngineUnavailable, InvalidInput, NotReady, ProviderBusy, ProviderUnavailable
from kosmos.jobs.registry import JobType, Registry
from kosmos.jobs.run import Run

from .clockwork import NODE, Node
from .scenario import Scenario

TOKENS = 7  # what one line costs
_LINE = sa.text(
    "INSERT INTO sim_line SELECT id, :line, :epoch, :tokens, status, epoch FROM job WHERE id = :job_id"
)


class Labour:
    """The handlers of a world, and what a person standing beside them would have seen."""

    def __init__(
        self,
        rng: random.Random,
        scenario: Scenario,
        *,
        crash: Callable[[Node], None],
        freeze: Callable[[Node], None],
        note: Callable[..., None],
    ) -> None:
        self.calm = False
        self.started: Counter[tuple[str, int]] = Counter()
        self.finished: set[tuple[str, int]] = set()
        self.spent: Counter[str] = Counter()
        self.in_doubt: Counter[str] = Counter()  # what may have been booked twice
        self._rng = rng
        self._scenario = scenario
        self._crash = crash
        self._freeze = freeze
        self._note = note

    def registry(self) -> Registry:
        """The types of jobs in this world."""
        return Registry(
            JobType("plain", self._work),
            JobType("limited", self._work, limit=self._scenario.type_limit),
            JobType("rescued", self._work, exhausted=self._rescue, max_attempts=2),
            JobType("hurried", self._work, deadline_seconds=30.0),
            JobType("checked", self._work, recheck=self._recheck),
        )

    async def _work(self, run: Run) -> Mapping[str, Any] | None:
        self._begin(run)
        plan = run.job.context
        if plan["restless"]:
            async with run.batch():
                pass
        while (at := run.progress.get("current_line", 0)) < plan["lines"]:
            await self._step(run, at)
            await self._write(run, at, min(plan["size"], plan["lines"] - at))
        await self._step(run, at)
        self._finish(run)
        await self._pause_for_breath(often=4)
        return {"epoch": run.job.epoch} if plan["report"] else None

    async def _rescue(self, run: Run) -> Mapping[str, Any] | None:
        """Get past a line that kills: put down that it could not be done, then go on as usual."""
        at = run.progress.get("current_line", 0)
        if at < run.job.context["lines"]:
            await self._write(run, at, 1)
        return await self._work(run)

    async def _recheck(self, run: Run) -> None:
        await asyncio.sleep(0.01)
        if not self.calm and self._rng.random() < self._scenario.trouble_rate:
            raise NotReady(f"Not yet, in epoch {run.job.epoch}.", seconds=self._rng.uniform(0, 40))

    async def _step(self, run: Run, at: int) -> None:
        """Take time; perhaps fail."""
        await asyncio.sleep(self._rng.random() * run.job.context["pace"])
        node = NODE.get()
        if run.job.context["poison"] == at and node is not None:
            self._note(node.name, "is killed by", run.job.id)
            self._crash(node)
            await asyncio.sleep(0)
        frozen = await self._pause_for_breath()
        if not self.calm and self._rng.random() < (0.5 if frozen else self._scenario.trouble_rate):
            await self._trouble(run)

    async def _pause_for_breath(self, often: int = 1) -> bool:
        """Perhaps the whole process stands still now, between two steps of the handler."""
        node = NODE.get()
        if self.calm or node is None or self._rng.random() >= self._scenario.freeze_rate * often:
            return False
        self._note(node.name, "freezes in a handler")
        self._freeze(node)
        await asyncio.sleep(0)
        return True

    async def _trouble(self, run: Run) -> None:
        text = f"Trouble in epoch {run.job.epoch}."
        kinds = ("busy", "away", "wait", "refused", "broken", "timeout", "cancelled", "slow", "engine")
        kind = self._rng.choice(kinds)
        self._note(run.job.id, "epoch", run.job.epoch, "has trouble:", kind)
        if kind == "slow":
            await asyncio.sleep(self._rng.choice((15, 60)))
            return
        raise {
            "busy": ProviderBusy(text, retry_after=self._rng.choice((None, 5.0, 40.0))),
            "away": ProviderUnavailable(text),
            "wait": NotReady(text, seconds=self._rng.uniform(0, 40)),
            "refused": InvalidInput(text),
            "broken": RuntimeError(text),
            "timeout": TimeoutError(text),
            "cancelled": asyncio.CancelledError(text),
            "engine": EngineUnavailable(text),
        }[kind]

    async def _write(self, run: Run, at: int, size: int) -> None:
        plan, tokens = run.job.context, TOKENS * size
        self.spent[run.job.id] += tokens
        run.spend(Spent(prompt_tokens=tokens))
        progress = {"current_line": at + size, "total_lines": plan["lines"]}
        for left in (1, 0) if plan["stubborn"] else (0,):
            try:
                async with run.batch(progress) as conn:
                    await _insert(conn, run, range(at, at + size))
                    if not self.calm and self._rng.random() < self._scenario.trouble_rate / 2:
                        raise RuntimeError(f"Trouble inside a batch in epoch {run.job.epoch}.")
                return
            except EngineUnavailable:
                if not left:
                    raise
            finally:
                if run._in_doubt:
                    self.in_doubt[run.job.id] += run._unbooked.prompt_tokens

    def _begin(self, run: Run) -> None:
        key = (run.job.id, run.job.epoch)
        self.started[key] += 1
        self._note(*key, "begins at", run.progress.get("current_line", 0))

    def _finish(self, run: Run) -> None:
        key = (run.job.id, run.job.epoch)
        self.finished.add(key)
        self._note(*key, "is done")


async def _insert(conn: AsyncConnection, run: Run, lines: range) -> None:
    for line in lines:
        values = {"job_id": run.job.id, "line": line, "epoch": run.job.epoch, "tokens": TOKENS}
        await conn.execute(_LINE, values)
