"""`make chaos-chunking`: workers are killed while a model chunks documents; nothing may differ for it.

Real processes get kill -9 at random moments, with one question under way at a time and with several. It
prints one line for each and exits with 1 when the chunks differ from those of an undisturbed run, when a job
does not complete, or when more questions were asked again than can have been under way when workers died.
"""

import argparse
import asyncio
import contextlib
import multiprocessing
import random
import shutil
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path

from chaos_chunking_home import Home, open_home
from chaos_chunking_model import Model, make_text
from chaos_chunking_worker import run

from kosmos.doubles.model_server import ModelServer
from kosmos.workers import drain

CALM_SECONDS = 600.0
ASKING = 0.8  # the share of kills that come soon after a question
PATIENCE = 10.0  # seconds to wait for one


@dataclass(frozen=True, slots=True)
class Plan:
    """How hard it blows."""

    kills: int
    width: int  # questions at once
    documents: int
    parts: int  # of a document
    workers: int
    lease: float
    seconds: float  # that an answer takes
    seed: int


@dataclass(slots=True)
class Outcome:
    """What came out of a storm."""

    kills: int = 0
    questions: int = 0
    repeated: int = 0
    under_way: list[int] = field(default_factory=list)  # at each kill
    different: list[str] = field(default_factory=list)

    def violations(self, plan: Plan) -> list[str]:
        """What must not be."""
        wrong = [f"{name} differs" for name in self.different]
        if self.kills < plan.kills:
            wrong.append(f"only {self.kills} kills: too little work for so many")
        if self.repeated > self.kills * plan.width:
            wrong.append(f"repeated={self.repeated} with kills={self.kills}")
        return wrong


class Crew:
    """Worker processes, forked so that starting costs little; one that is killed is replaced at once."""

    def __init__(self, home: Path, plan: Plan) -> None:
        self._home = home
        self._lease = plan.lease
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["chaos_chunking_worker"])
        self._workers: dict[str, BaseProcess] = {}
        self._started = 0
        for _ in range(plan.workers):
            self.start()

    def start(self) -> None:
        """One more."""
        self._started += 1
        name = f"w{self._started}"
        process = self._context.Process(target=run, args=(name, self._home, self._lease), daemon=True)
        process.start()
        self._workers[name] = process

    def alive(self, name: str) -> bool:
        """Whether it still runs."""
        return name in self._workers and self._workers[name].is_alive()

    def kill(self, name: str) -> None:
        """Kill -9."""
        process = self._workers.pop(name)
        process.kill()
        process.join()

    def stop(self) -> None:
        """End them all."""
        for name in list(self._workers):
            self.kill(name)


def main() -> None:
    """Run the storm for each width."""
    options = _options()
    passed = [asyncio.run(_run(_plan(options, width))) for width in options.width]
    sys.exit(not all(passed))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--width", type=int, nargs="+", default=[1, 4], help="questions of a job at once")
    parser.add_argument("--documents", type=int, help="default: enough for the kills")
    parser.add_argument("--parts", type=int, default=90, help="of a document; about 15 make a batch")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--lease", type=float, default=2.0, help="seconds; the product's default is 10")
    parser.add_argument("--seconds", type=float, default=0.6, help="that an answer takes on average")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    return parser.parse_args()


def _plan(options: argparse.Namespace, width: int) -> Plan:
    documents = options.documents or max(2, options.kills * width // 3)
    return Plan(
        options.kills,
        width,
        documents,
        options.parts,
        options.workers,
        options.lease,
        options.seconds,
        options.seed,
    )


async def _run(plan: Plan) -> bool:
    folder = Path(tempfile.mkdtemp(prefix="kosmos-chaos-"))
    began = time.monotonic()
    outcome = await _storm(plan, folder)
    wrong = outcome.violations(plan)
    mean = sum(outcome.under_way) / max(1, len(outcome.under_way))
    print(
        f"at_once={plan.width} kills={outcome.kills} documents={plan.documents}",
        f"questions={outcome.questions} repeated={outcome.repeated}",
        f"repeated_per_kill={outcome.repeated / max(1, outcome.kills):.2f} under_way_at_kill={mean:.2f}",
        f"different={len(outcome.different)} seed={plan.seed} seconds={time.monotonic() - began:.0f}",
        flush=True,
    )
    if wrong:
        print(f"VIOLATED: {'; '.join(wrong[:5])} (look into {folder}, repeat with --seed {plan.seed})")
    else:
        shutil.rmtree(folder, ignore_errors=True)
    return not wrong


async def _storm(plan: Plan, folder: Path) -> Outcome:
    """The same work twice: in the storm, then in the calm."""
    numbers = range(plan.seed, plan.seed + plan.documents)
    texts = {f"{number}.md": make_text(number, plan.parts) for number in numbers}
    outcome = Outcome()
    model = Model(plan.seconds)
    async with ModelServer(model.decide) as server, open_home(folder / "storm", texts) as home:
        await home.fill(server.base_url, plan.width)
        crew = Crew(folder / "storm", plan)
        try:
            outcome.under_way = [count async for count in _blow(home, crew, plan, server)]
            await home.finish(CALM_SECONDS)
        finally:
            await asyncio.to_thread(crew.stop)
        stormy = await home.made()
    outcome.kills = len(outcome.under_way)
    outcome.questions, outcome.repeated = len(model.asked), model.repeated
    quick = Model(0.0)
    async with ModelServer(quick.decide) as server, open_home(folder / "calm", texts) as home:
        await home.fill(server.base_url, plan.width)
        await drain(home.app, 1)
        calm = await home.made()
    outcome.different = [
        name for name in texts if stormy[name] != calm[name] or calm[name][-1] != ["COMPLETED"]
    ]
    if set(quick.asked) != set(model.asked):
        outcome.different.append("the set of questions")
    return outcome


async def _blow(home: Home, crew: Crew, plan: Plan, server: ModelServer) -> AsyncIterator[int]:
    """Kill workers that work, at any moment of what they do; yields how many questions were under way.

    Most of the time they wait for an answer, so most kills come soon after a question; the others come as
    soon as a job is taken, while it is laid out, or whenever.
    """
    chance = random.Random(plan.seed)  # noqa: S311  (repeatable on purpose)
    for _ in range(plan.kills):
        name = await _busy(home, crew, chance)
        if chance.random() < ASKING:
            with contextlib.suppress(TimeoutError):
                await server.until_active(1, within=PATIENCE)
        await asyncio.sleep(chance.uniform(0.0, 2 * plan.seconds))
        name = await _busy(home, crew, chance, rather=name)
        if not name:
            return
        under_way = server.active
        crew.kill(name)
        crew.start()
        yield under_way


async def _busy(home: Home, crew: Crew, chance: random.Random, rather: str = "") -> str:
    """A worker that has a job in hand; none when all jobs have ended."""
    while await home.unfinished():
        busy = [name for name in await home.at_work() if crew.alive(name)]
        if busy:
            return rather if rather in busy else chance.choice(busy)
        await asyncio.sleep(0.05)
    return ""


if __name__ == "__main__":
    main()
