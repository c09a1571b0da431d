"""Runs under way in this process, as those who follow them see them."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from kosmos.domain.events import StoredEvent

BEAT = 15.0  # seconds of silence after which a follower gets a sign of life


@dataclass(slots=True)
class LiveRun:
    """The stored events of one run, in their order, from its first one on; `done` when there are no more."""

    run_id: str
    session_id: str
    events: list[StoredEvent] = field(default_factory=list)
    done: bool = False
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def publish(self, events: Sequence[StoredEvent]) -> None:
        """Show events that are safely stored."""
        self.events += events
        self._wake()

    def finish(self) -> None:
        """Say that nothing more will come."""
        self.done = True
        self._wake()

    def _wake(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def follow(self, after: int, *, beat: float = BEAT) -> AsyncIterator[StoredEvent | None]:
        """The events behind a number, as they come; None for a sign of life."""
        at = min(max(after, 0), len(self.events))
        while True:
            changed = self._changed
            while at < len(self.events):
                yield self.events[at]
                at += 1
            if self.done and at == len(self.events):
                return
            if changed is self._changed and not await _within(changed, beat):
                yield None


async def _within(changed: asyncio.Event, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await changed.wait()
    except TimeoutError:
        return False
    return True
