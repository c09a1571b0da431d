"""Whose turn it is: spaces that wait take turns, however many jobs one of them has.

While a page of due jobs is not full nobody waits for anybody, and nothing is done here. When it is, a look
past those who fill it is taken from time to time: it goes through what is due, so the more there is, the more
seldom. Until the next look jobs are taken in the order of turns: the highest priority first, then the space
that has the least running.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.db import job_sharing as table
from kosmos.db.job_sharing import Head

EACH = 16  # jobs of one space that one look finds
PAGE = 64  # jobs that are looked at at once; spaces that are in it are left out of the next page
ROUNDS = 8  # pages of one look
LOOK_AGAIN = timedelta(seconds=1)
DUE_PER_SECOND = 20_000  # a look at so many due jobs is paid for by a second of rest


async def look(conn: AsyncConnection, now: datetime) -> list[Head]:
    """The first jobs of the spaces that wait."""
    queues: dict[str | None, list[Head]] = {}
    for _ in range(ROUNDS):
        page = await table.due_beyond(conn, now, queues, limit=PAGE)
        for head in page:
            queues.setdefault(head.space_id, []).append(head)
        if len(page) < PAGE:
            break
    return [head for queue in queues.values() for head in queue[:EACH]]


@dataclass(slots=True)
class Turns:
    """The jobs that come next, by space. It is one worker's own, and forgotten with it."""

    crowded: bool = False  # the last page was full: others may wait behind it
    _queues: dict[str | None, list[Head]] = field(default_factory=dict)
    _running: dict[str | None, int] = field(default_factory=dict)
    _next_look: datetime | None = None

    def wants_look(self, now: datetime) -> bool:
        """Whether it is time to see who waits."""
        return self.crowded and (self._next_look is None or now >= self._next_look)

    def learn(
        self, heads: Iterable[Head], running: Mapping[str | None, int], due: int, now: datetime
    ) -> None:
        """Take note of who waits. One space alone needs no turns."""
        self._queues = {}
        for head in heads:
            self._queues.setdefault(head.space_id, []).append(head)
        self._next_look = now + max(LOOK_AGAIN, timedelta(seconds=due / DUE_PER_SECOND))
        if len(self._queues) < 2:
            self._queues = {}
        self._running = dict(running)

    def take(self, want: int) -> list[str]:
        """The ids of the next jobs; fewer, or none, where the order of the table is as good."""
        taken: list[str] = []
        while len(taken) < want and len(self._queues) > 1:
            space = min(self._queues, key=self._rank)
            taken.append(self._queues[space].pop(0).id)
            self._running[space] = self._running.get(space, 0) + 1
            if not self._queues[space]:
                del self._queues[space]
        return taken

    def _rank(self, space: str | None) -> tuple[int, int]:
        return -self._queues[space][0].priority, self._running.get(space, 0)
