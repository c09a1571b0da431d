"""The runs under way in this process: their tasks, their events on the way to the table, their followers.

An event is shown only after it is stored, so that a client that has seen it can always go on behind it.
All runs share one writer: what has gathered while a transaction went on is stored by the next one, and
pieces of one text that gathered together become one event.
"""

import asyncio
import logging
import os
import secrets
import socket
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from kosmos.bells import Bell, topics
from kosmos.db import Database
from kosmos.db import runs as table
from kosmos.domain.clock import Clock
from kosmos.domain.events import PIECES, Event, StoredEvent
from kosmos.errors import EngineUnavailable, KosmosError
from kosmos.sessions.live import LiveRun

log = logging.getLogger(__name__)
BEAT_SECONDS = 5.0
DEAD_SECONDS = 60.0
PACE_SECONDS = 0.01  # between two transactions: what comes in between shares the next
TRIES = 13  # some twenty seconds: a database that crashed is back by then
LONGEST_PAUSE = 2.0
Batch = dict[str, list[StoredEvent]]


@dataclass(slots=True)
class _Under:
    """A run under way."""

    live: LiveRun
    task: asyncio.Task[None] | None = None
    last: int = 0  # the number of its newest event
    stopping: bool = False
    waiting: list[Event] = field(default_factory=list)
    going: list[StoredEvent] = field(default_factory=list)  # being stored

    @property
    def clear(self) -> bool:
        """Whether everything is stored."""
        return not self.waiting and not self.going

    def take(self, now: datetime) -> list[StoredEvent]:
        """What is to be stored next, numbered."""
        fresh, self.waiting = self.waiting, []
        for event in fresh:
            self.last += 1
            self.going.append(StoredEvent(self.live.run_id, self.last, event.type, event.payload, now))
        return self.going


class RunHall:
    """Where runs go on. Nothing in it is needed again after a restart: the table has it all."""

    def __init__(self, bell: Bell | None = None) -> None:
        self.bell = bell or Bell()
        # Host, process, and something that a later process with the same number does not have.
        self.worker = f"{socket.gethostname()[:60]}:{os.getpid()}:{secrets.token_hex(4)}"
        self._runs: dict[str, _Under] = {}
        self._some = asyncio.Event()
        self._stored = asyncio.Condition()
        self._helpers: list[asyncio.Task[None]] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing = False

    def live(self, run_id: str) -> LiveRun | None:
        """The run, if it goes on here."""
        under = self._runs.get(run_id)
        return under.live if under else None

    def start(self, db: Database, clock: Clock, live: LiveRun, work: Coroutine[Any, Any, None]) -> LiveRun:
        """Let a run go on by itself, whoever looks on."""
        under = self._runs[live.run_id] = _Under(live, last=len(live.events))
        if not self._helpers:
            loops = (self._write_on(db, clock), self._beat_on(db, clock))
            self._helpers = [asyncio.create_task(loop) for loop in loops]
        under.task = asyncio.create_task(work)
        self._tasks.add(under.task)
        under.task.add_done_callback(self._tasks.discard)
        self.bell.ring(topics.run(live.run_id))
        return live

    def emit(self, run_id: str, event: Event) -> None:
        """Send an event on its way; it never waits."""
        if under := self._runs.get(run_id):
            if not _joined(under.waiting, event):
                under.waiting.append(event)
            self._some.set()

    async def flush(self, run_id: str) -> int:
        """Return once all events of a run are stored: the number of the last one."""
        async with self._stored:
            await self._stored.wait_for(lambda: run_id not in self._runs or self._runs[run_id].clear)
        under = self._runs.get(run_id)
        return under.last if under else 0

    def finish(self, run_id: str, last: Sequence[StoredEvent]) -> None:
        """Show the last events of a run, which are stored, and let it go."""
        if under := self._runs.pop(run_id, None):
            under.live.publish(last)
            under.live.finish()
            self.bell.ring(topics.run(run_id))

    def stop(self, run_id: str) -> bool:
        """Stop a run; False when it does not go on here."""
        under = self._runs.get(run_id)
        if under is None or under.task is None:
            return False
        if not under.stopping:
            under.stopping = True
            under.task.cancel()
        return True

    def stopped_by_will(self, run_id: str) -> bool:
        """Whether somebody stopped a run, rather than this process ending."""
        under = self._runs.get(run_id)
        return under is not None and under.stopping and not self._closing

    def drop_session(self, session_id: str) -> None:
        """Stop what goes on in a session that is gone."""
        for run_id, under in list(self._runs.items()):
            if under.live.session_id == session_id:
                self.stop(run_id)

    async def close(self) -> None:
        """Let every run end now, and what it has so far be stored."""
        self._closing = True
        for run_id in list(self._runs):
            self.stop(run_id)
        for task in self._tasks - {under.task for under in self._runs.values()}:
            task.cancel()  # it only waits for a title
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=10)
        for helper in self._helpers:
            helper.cancel()
        await asyncio.gather(*self._helpers, return_exceptions=True)
        self._helpers = []

    async def _write_on(self, db: Database, clock: Clock) -> None:
        while True:
            await self._some.wait()
            self._some.clear()
            now = clock()
            batch = {run_id: under.take(now) for run_id, under in self._runs.items() if not under.clear}
            if batch:
                await self._store(db, batch)
                await asyncio.sleep(PACE_SECONDS)

    async def _store(self, db: Database, batch: Batch) -> None:
        """Store a batch, or what can be stored of it: a run whose session is gone must not harm others."""
        try:
            await self._store_patiently(db, batch)
        except (sa.exc.DBAPIError, KosmosError):
            for run_id, events in batch.items():
                await self._store_one(db, run_id, events)
        async with self._stored:
            self._stored.notify_all()

    async def _store_patiently(self, db: Database, batch: Batch) -> None:
        """Store a batch; a database that is away is waited for."""
        for attempt in range(TRIES):
            try:
                await self._store_some(db, batch)
                return
            except EngineUnavailable:
                await asyncio.sleep(pause_before(attempt + 1))
        await self._store_some(db, batch)

    async def _store_one(self, db: Database, run_id: str, events: list[StoredEvent]) -> None:
        try:
            await self._store_some(db, {run_id: events})
            return
        except (sa.exc.DBAPIError, KosmosError):
            if await _are_stored(db, run_id, events):
                self._show(run_id)
                return
        log.warning("events of a run cannot be stored; it is stopped", extra={"run": run_id})
        if under := self._runs.get(run_id):
            under.going = []
            self.stop(run_id)

    async def _store_some(self, db: Database, batch: Batch) -> None:
        sessions = {run_id: self._runs[run_id].live.session_id for run_id in batch if run_id in self._runs}
        every = [event for run_id in sessions for event in batch[run_id]]
        async with db.brief() as conn:
            await table.insert_events(conn, every, sessions)
        self._show(*sessions)

    def _show(self, *run_ids: str) -> None:
        """Let those who follow these runs see what is stored now."""
        for run_id in run_ids:
            if under := self._runs.get(run_id):
                under.live.publish(under.going)
                under.going = []
        self.bell.ring(*map(topics.run, run_ids))  # after the commit, once for all of them

    async def _beat_on(self, db: Database, clock: Clock) -> None:
        """Say from time to time that these runs live, and hear whether somebody wants to stop one."""
        with self.bell.listen(topics.hall(self.worker)) as ear:
            while True:
                await ear.rest(BEAT_SECONDS)
                if self._runs:
                    await self._beat(db, clock)

    async def _beat(self, db: Database, clock: Clock) -> None:
        try:
            async with db.write() as conn:
                asked = await table.touch_runs(conn, list(self._runs), clock())
        except KosmosError:
            log.warning("runs could not be marked as alive", exc_info=True)
            return
        for run_id in asked:
            self.stop(run_id)


def pause_before(attempt: int) -> float:
    """Seconds to wait before something is tried at a database once more, counted from 1."""
    return min(LONGEST_PAUSE, 0.05 * 2.0**attempt)


async def _are_stored(db: Database, run_id: str, events: Sequence[StoredEvent]) -> bool:
    """Whether these very events are in the table: a commit may succeed without its success being told."""
    try:
        async with db.glance() as conn:
            found = await table.events_after(conn, run_id, events[0].sequence - 1, limit=len(events))
    except KosmosError:
        return False
    return [(one.sequence, one.type, one.payload) for one in found] == [
        (one.sequence, one.type, one.payload) for one in events
    ]


def _joined(waiting: list[Event], event: Event) -> bool:
    """Whether a piece of text could be put to the piece before it."""
    if not waiting or event.type not in PIECES or waiting[-1].type is not event.type:
        return False
    before, after = dict(waiting[-1].payload), dict(event.payload)
    if "text" not in before or "text" not in after:
        return False
    text = before.pop("text") + after.pop("text")
    if before != after:
        return False
    waiting[-1] = replace(waiting[-1], payload={**before, "text": text})
    return True


def is_dead(worker: str, mine: str) -> bool | None:
    """Whether a process is gone; None when that cannot be told from here."""
    host, pid, _ = worker.rsplit(":", 2)
    own_host, own_pid, _ = mine.rsplit(":", 2)
    if worker == mine or host != own_host:
        return False if worker == mine else None
    if pid == own_pid:
        return True  # there was another process under our number
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except (PermissionError, ValueError, OverflowError):
        return None
    return None  # some process has that number: its heartbeat tells
