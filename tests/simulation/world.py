"""A world: several workers, a user, bad weather for a while, then calm. Everything follows from the seed."""

import asyncio
import contextvars
import itertools
import logging
import random
import sqlite3
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest import mock

from kosmos.errors import Conflict, EngineUnavailable, NotFound
from kosmos.jobs import control, creation
from kosmos.jobs import worker as worker_module
from kosmos.jobs.worker import Worker

from .clockwork import NODE, Life, Node, Stuck, VirtualLoop
from .inline_sqlite import InlineDatabase
from .invariants import UNDONE, Findings, check
from .labour import Labour
from .scenario import Scenario, draw, wanted_jobs
from .template import fresh_database
from .weather import Weather

CALM_POLL = 15.0
PATIENCE = 1200.0  # virtual seconds of calm after which everything must have ended
_EXPECTED = ("a job handler broke", "how jobs ended could not be recorded; their leases will run out")


@dataclass(frozen=True, slots=True)
class Report:
    """What became of one seed."""

    seed: int
    violations: tuple[str, ...]
    trace: tuple[str, ...]


def simulate(seed: int) -> Report:
    """Run the world of a seed to its end and check it."""
    with fresh_database() as path:
        world = World(seed, path)
        with _patched(world):
            world.run()
        return Report(seed, tuple(world.violations), tuple(world.trace))


class World:
    """The nodes, and the hand that starts, strikes and ends them."""

    def __init__(self, seed: int, path: Path) -> None:
        self.trace: list[str] = []
        self.violations: list[str] = []
        self._ids = itertools.count(1)
        self._rng = random.Random(seed)
        self._path = path
        self._loop = VirtualLoop()
        self._outside = contextvars.copy_context()
        self._scenario: Scenario = draw(self._rng)
        self._labour = Labour(
            self._rng, self._scenario, crash=self._crash, freeze=self._freeze, note=self._note
        )
        self._weather = Weather(
            self._rng, self._scenario, crash=self._crash, freeze=self._freeze, note=self._note
        )
        self._registry = self._labour.registry()
        self._nodes: list[Node] = []
        self._places: dict[str, int] = {}
        self._workers: dict[str, Worker] = {}
        self._user = Node("user", self._loop)
        self._user_db = InlineDatabase(path, self._user, self._weather)
        self._book = sqlite3.connect(path, isolation_level=None)

    @property
    def poll(self) -> float:
        """How often workers of this world look for work."""
        return self._scenario.poll

    def run(self) -> None:
        """Live, end, and be judged."""
        self._note("scenario", self._scenario)
        try:
            self._loop.run_until_complete(self._live())
        except Stuck:
            self.violations.append("everybody waits for somebody else")
        self._judge()
        for node in (*self._nodes, self._user):
            node.bury()
        self._loop.end()
        self._book.close()

    def new_id(self) -> str:
        """An id that the seed decides."""
        return f"job-{next(self._ids):03}"

    def complain(self, text: str) -> None:
        """Something happened that must not happen."""
        self._note("VIOLATION", text)
        self.violations.append(text)

    async def _live(self) -> None:
        for place in range(self._scenario.workers):
            self._start(place)
        await self._ask_for_jobs()
        events = self._events()
        for moment, event in sorted(events, key=lambda pair: pair[0]):
            await asyncio.sleep(moment - self._loop.time())
            await event()
        await asyncio.sleep(self._scenario.storm - self._loop.time())
        await self._calm_down()
        await self._wait_for_the_end(self._loop.time() + PATIENCE)

    async def _wait_for_the_end(self, latest: float) -> None:
        while True:
            if self._loop.time() > latest or not self._book.execute(UNDONE).fetchone():
                return
            await asyncio.sleep(self._scenario.poll)

    def _events(self) -> list[tuple[float, Callable[[], Coroutine[Any, Any, None]]]]:
        scenario = self._scenario
        kinds = [
            *[self._crash_somebody] * scenario.crashes,
            *[self._freeze_somebody] * scenario.freezes,
            *[self._stop_somebody] * scenario.stops,
            *[self._command] * scenario.commands,
            self._ask_for_jobs,
        ]
        return [(self._rng.uniform(0.0, scenario.storm), kind) for kind in kinds]

    async def _calm_down(self) -> None:
        self._weather.calm = self._labour.calm = True
        worker_module.POLL_SECONDS = CALM_POLL
        self._note("calm")
        for node in self._nodes:
            node.thaw()
        held = "SELECT id FROM job WHERE status = 'PAUSED' AND due_at IS NULL ORDER BY id"
        for (job_id,) in self._book.execute(held).fetchall():
            if self._rng.random() < 0.7:
                await self._control("resume", job_id)

    def _start(self, place: int) -> None:
        count = sum(1 for other in self._places.values() if other == place)
        skew = self._rng.uniform(-self._scenario.skew, self._scenario.skew)
        node = Node(f"w{place}.{count}", self._loop, skew=skew)
        self._nodes.append(node)
        self._places[node.name] = place
        self._note(node.name, "starts")
        context = contextvars.copy_context()
        context.run(NODE.set, node)
        context.run(self._start_worker, node)

    def _start_worker(self, node: Node) -> None:
        worker = Worker(
            InlineDatabase(self._path, node, self._weather),
            self._registry,
            name=node.name,
            slots=self._scenario.slots,
            clock=node.clock,
            lease=timedelta(seconds=self._scenario.lease),
            rng=self._rng,
        )
        self._workers[node.name] = worker
        self._loop.create_task(worker.run()).add_done_callback(lambda task: self._left(node, task))

    def _left(self, node: Node, task: "asyncio.Task[None]") -> None:
        if node.life in (Life.DEAD, Life.BURIED):
            return
        if task.cancelled() or task.exception() is not None:
            self.complain(f"{node.name} ended by itself: {None if task.cancelled() else task.exception()!r}")
        self._crash(node)

    def _crash(self, node: Node) -> None:
        """Kill a node; another one takes its place after a while."""
        if node.life in (Life.DEAD, Life.BURIED):
            return
        node.kill()
        place, pause = self._places[node.name], self._rng.uniform(0.5, 10.0)
        self._loop.call_later(pause, self._start, place, context=self._outside)

    def _freeze(self, node: Node) -> None:
        node.freeze()
        seconds = self._rng.uniform(0.2, 4.0) * self._scenario.lease
        self._loop.call_later(seconds, node.thaw, context=self._outside)

    def _somebody(self) -> Node | None:
        alive = [node for node in self._nodes if node.life is Life.ALIVE]
        return self._rng.choice(alive) if alive else None

    async def _crash_somebody(self) -> None:
        if node := self._somebody():
            self._note(node.name, "dies")
            self._crash(node)

    async def _freeze_somebody(self) -> None:
        if node := self._somebody():
            self._note(node.name, "freezes")
            self._freeze(node)

    async def _stop_somebody(self) -> None:
        if node := self._somebody():
            self._note(node.name, "is asked to stop")
            self._workers[node.name].stop()

    async def _ask_for_jobs(self) -> None:
        present = [row[0] for row in self._book.execute("SELECT id FROM job ORDER BY id")]
        wanted = wanted_jobs(self._rng, self._scenario, present)
        await self._as_user(
            "asks for jobs", lambda conn, now: creation.create_jobs(conn, self._registry, wanted, now)
        )
        for node in self._nodes:
            if node.life is Life.ALIVE and self._rng.random() < 0.5:
                self._workers[node.name].wake()

    async def _command(self) -> None:
        jobs = self._book.execute("SELECT id, status FROM job ORDER BY id").fetchall()
        if jobs:
            job_id, status = self._rng.choice(jobs)
            usual = {"PAUSED": "resume", "FAILED": "retry", "CANCELLED": "retry"}.get(status, "pause")
            verb = self._rng.choice((usual, usual, "pause", "resume", "cancel", "retry"))
            await self._control(verb, job_id)

    async def _control(self, verb: str, job_id: str) -> None:
        await self._as_user(f"{verb} {job_id}", lambda conn, now: getattr(control, verb)(conn, job_id, now))

    async def _as_user(self, what: str, act: Callable[..., Coroutine[Any, Any, Any]]) -> None:
        try:
            async with self._user_db.write() as conn:
                await act(conn, self._user.clock())
            answer = "done"
        except (Conflict, NotFound) as error:
            answer = error.message
        except EngineUnavailable:
            answer = "nobody knows"
        except Exception as error:  # noqa: BLE001  (whatever else a user is told is a fault of the product)
            self.complain(f"the user was told: {error!r}")
            return
        self._note("user:", what, "->", answer)

    def _judge(self) -> None:
        for text in self._loop.complaints:
            self.complain(text)
        findings = Findings(
            self._book,
            limits=self._registry.limits,
            started=self._labour.started,
            finished=self._labour.finished,
            spent=self._labour.spent,
            in_doubt=self._labour.in_doubt,
        )
        for text in check(findings):
            self.complain(text)
        for row in self._book.execute("SELECT * FROM sim_book ORDER BY step"):
            self.trace.append(f"  {row}")

    def _note(self, *words: object) -> None:
        self.trace.append(f"{self._loop.time():9.3f} " + " ".join(map(str, words)))


class _Ears(logging.Handler):
    """Hears what the product says went wrong."""

    def __init__(self, world: World) -> None:
        super().__init__(logging.ERROR)
        self._world = world

    def emit(self, record: logging.LogRecord) -> None:
        node = NODE.get()
        if node is not None and node.life is Life.BURIED:
            return
        if record.getMessage() not in _EXPECTED:
            error = record.exc_info[1] if record.exc_info else None
            self._world.complain(f"logged: {record.getMessage()}: {error!r}")


@contextmanager
def _patched(world: World) -> Iterator[None]:
    """Ids that the seed decides, the poll of this world, and ears for the log."""
    log = logging.getLogger("kosmos.jobs")
    ears, propagate, level = _Ears(world), log.propagate, log.level
    log.addHandler(ears)
    log.propagate = False
    log.setLevel(logging.ERROR)
    try:
        with (
            mock.patch.object(creation, "new_id", world.new_id),
            mock.patch.object(worker_module, "POLL_SECONDS", world.poll),
            mock.patch.object(logging.getLogger("sqlalchemy.pool"), "disabled", new=True),
        ):
            yield
    finally:
        log.removeHandler(ears)
        log.propagate = propagate
        log.setLevel(level)
