"""Taking jobs: what is due, is not held up by others, and fits under the limits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.db import Database, job_sharing
from kosmos.db import jobs as table
from kosmos.db.jobs import Candidate, Full
from kosmos.domain.clock import Clock
from kosmos.domain.jobs import Job, JobStatus
from kosmos.jobs.creation import RECHECK, WAITING
from kosmos.jobs.turns import Turns, look
from kosmos.telemetry.measures import JOBS_CLAIMED

LOOK_AHEAD = 4  # when some of the candidates may not run, so many times more are looked at next
LONGEST_PAGE = 500


@dataclass(frozen=True, slots=True)
class Claimer:
    """Who takes jobs, and by which rules."""

    db: Database
    clock: Clock
    worker: str
    lease: timedelta
    limits: Mapping[str, int]  # by type: how many may run at once over all workers
    turns: Turns = field(default_factory=Turns)

    async def claim(self, want: int, *, only: str | None = None) -> list[Job]:
        """Up to `want` jobs, now held by this worker. `only` names one job."""
        # Leases that run out while this waits for its turn are not taken: their keepers wait as well.
        asked_at = self.clock()
        turn = await self._turn(want, asked_at) if only is None else []
        page = len(turn) or want
        taken: list[Job] = []
        room: Room | None = None
        async with self.db.brief() as conn:
            now = self.clock()
            while len(taken) < want:
                full = room.full if room else None
                if turn:
                    found = await table.due_named(conn, asked_at, turn)
                else:
                    found = await table.due_candidates(conn, asked_at, limit=page, only=only, full=full)
                ready = await _settle_waiting(conn, found, now) if found else []
                room = room or await self._room(conn, ready)
                ids = [item.id for item in ready if room is None or room.admit(item)][: want - len(taken)]
                if ids:
                    until = now + self.lease
                    taken += await table.take(conn, ids, worker=self.worker, now=now, until=until)
                if turn:
                    turn, page = [], want - len(taken)  # somebody else took some: the rest as they come
                    continue
                # A full page in which nothing fits may hide others that do: look beyond what is full.
                if only is not None or len(found) < page:
                    self.turns.crowded = self.turns.crowded and only is not None
                    break
                self.turns.crowded = True
                page = min(page * LOOK_AHEAD, LONGEST_PAGE)
        for job in taken:
            JOBS_CLAIMED.add(job.type)
        return taken

    async def _turn(self, want: int, now: datetime) -> list[str]:
        """The jobs whose turn it is, where several spaces wait."""
        if self.turns.wants_look(now):
            async with self.db.read() as conn:
                heads = await look(conn, now)
                running = await job_sharing.running_by_space(conn)
                due = await job_sharing.count_due(conn, now)
            self.turns.learn(heads, running, due, now)
        return self.turns.take(want)

    async def _room(self, conn: AsyncConnection, ready: Sequence[Candidate]) -> "Room | None":
        """The room under the limits; None when none of these has a limit."""
        if not any(item.lane_limit is not None or item.type in self.limits for item in ready):
            return None
        await table.serialize_claims(conn)
        return Room(self.limits, *await table.running_counts(conn))


@dataclass(slots=True)
class Room:
    """How many more may start, so that no type and no lane exceeds its limit."""

    limits: Mapping[str, int]
    types: dict[str, int]  # how many run
    lanes: dict[str, int]
    full: Full = field(default_factory=Full)  # what had no room for somebody who asked

    def admit(self, item: Candidate) -> bool:
        """Whether there is room, which is used up then. Who runs already has room."""
        if item.status == JobStatus.RUNNING.value:
            return True
        lane = item.lane or ""
        type_full = item.type in self.limits and self.types.get(item.type, 0) >= self.limits[item.type]
        lane_full = item.lane_limit is not None and self.lanes.get(lane, 0) >= item.lane_limit
        if type_full or lane_full:
            types = self.full.types | ({item.type} if type_full else set())
            self.full = Full(types, self.full.lanes | ({lane} if lane_full else set()))
            return False
        self.types[item.type] = self.types.get(item.type, 0) + 1
        self.lanes[lane] = self.lanes.get(lane, 0) + 1
        return True


async def _settle_waiting(
    conn: AsyncConnection, found: Sequence[Candidate], now: datetime
) -> list[Candidate]:
    """The candidates whose dependencies have ended well; the others are put to rest or fail."""
    states = await table.dependency_states(conn, [item.id for item in found])
    ready = []
    for item in found:
        waits = states.get(item.id, [])
        failed = [other for other in waits if other.blocks_for_good]
        if failed:
            reason = f"The job {failed[0].job_id} it waited for ended as {failed[0].status}."
            await table.settle(conn, item.id, JobStatus.FAILED, reason, None, now)
            await table.wake_dependants(conn, [item.id], now)
        elif any(not other.status.ended for other in waits):
            await table.settle(conn, item.id, JobStatus.PAUSED, WAITING, now + RECHECK, now)
        else:
            ready.append(item)
    return ready
