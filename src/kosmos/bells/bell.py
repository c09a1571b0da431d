"""The bell: rung for a topic, heard by those who listen to it, in whichever thread or process they are."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from kosmos.bells.contract import Line
from kosmos.bells.keeping import Keeper

CALM_SECONDS = 3.0  # so long a listener rests at least where others are heard; the net below the bell
LEAST_SECONDS = 0.1  # between two looks of one listener, however often it rings


class Bell:
    """Rings go to everybody in this process, and over the line, where there is one, to the others.

    May be used from any thread. A ring can be lost: whoever listens also looks by themselves.
    """

    def __init__(self, line: Line | None = None) -> None:
        self._ears: dict[str, set[Ear]] = {}
        self._guard = threading.Lock()
        self._keeper = Keeper(line, self._strike, self._strike_all) if line is not None else None

    @property
    def carries(self) -> bool:
        """Whether other processes are heard at the moment."""
        return self._keeper is not None and self._keeper.carries

    def ring(self, *topics: str) -> None:
        """Wake everybody who listens to one of these. It never waits and never fails."""
        for topic in topics:
            self._strike(topic)
        if self._keeper is not None:
            self._keeper.send(topics)

    @contextmanager
    def listen(self, topic: str, event: asyncio.Event | None = None) -> "Iterator[Ear]":
        """Hear a topic for as long as the block lasts; `event` is set at each ring."""
        ear = Ear(self, event or asyncio.Event())
        with self._guard:
            self._ears.setdefault(topic, set()).add(ear)
        if self._keeper is not None:
            self._keeper.begin()
        try:
            yield ear
        finally:
            with self._guard:
                left = self._ears[topic] - {ear}
                self._ears[topic] = left
                if not left:
                    del self._ears[topic]

    async def close(self) -> None:
        """Send what is still to be sent, and let go of the line."""
        if self._keeper is not None:
            await self._keeper.close()

    def _strike(self, topic: str) -> None:
        with self._guard:
            ears = list(self._ears.get(topic, ()))
        for ear in ears:
            ear.strike()

    def _strike_all(self) -> None:
        """The line has come or gone: nobody knows what was missed, and how long to rest has changed."""
        with self._guard:
            ears = [ear for those in self._ears.values() for ear in those]
        for ear in ears:
            ear.strike()


class Ear:
    """One who listens, in the event loop that it was made in."""

    def __init__(self, bell: Bell, event: asyncio.Event) -> None:
        self._bell = bell
        self._event = event
        self._loop = asyncio.get_running_loop()
        self._rested = float("-inf")

    def strike(self) -> None:
        """Let it hear a ring. May be called from any thread."""
        try:
            here = asyncio.get_running_loop()
        except RuntimeError:
            here = None
        if here is self._loop:
            self._event.set()
            return
        try:
            self._loop.call_soon_threadsafe(self._event.set)
        except RuntimeError:
            return  # its loop has just been closed

    async def rest(self, seconds: float, *, least: float = LEAST_SECONDS, most: float | None = None) -> None:
        """Wait for a ring, at most so long; where other processes are heard, a calm while instead.

        Two rests end at least `least` seconds apart, however often it rings, and none is longer than `most`.
        """
        pause = max(seconds, CALM_SECONDS) if self._bell.carries else seconds
        pause = pause if most is None else min(pause, max(0.0, most))
        try:
            async with asyncio.timeout(pause):
                await self._event.wait()
        except TimeoutError:
            pass
        early = self._rested + min(least, seconds) - self._loop.time()
        if early > 0:
            await asyncio.sleep(early)
        self._event.clear()
        self._rested = self._loop.time()
