"""Keeps the line to other processes: gathers what is to be sent, connects anew, tries whether it holds."""

import asyncio
import contextlib
import logging
import random
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence

from kosmos.bells.contract import MOST_BYTES, Hear, Line, Wire
from kosmos.errors import EngineUnavailable, KosmosError

log = logging.getLogger(__name__)
GATHER_SECONDS = 0.02  # between two sendings: what is rung in between goes together
PROBE_SECONDS = 15.0  # between two rings for oneself
PATIENCE_SECONDS = 5.0  # so soon must one be heard, and a sending be done
LAST_SECONDS = 1.0  # for what is left to be sent at the end
FIRST_BACK_OFF = 0.2
LONGEST_BACK_OFF = 15.0
MOST_WAITING = 10_000
MOST_TOPIC = 200


class Keeper:
    """The line of one process, in the event loop that it was made in. It connects when first needed.

    A line counts as working only once it has heard its own ring: one that merely looks connected, as behind
    a pooler that forgets who listens, would make everybody wait longer for nothing.
    """

    def __init__(self, line: Line, hear: Hear, changed: Callable[[], None]) -> None:
        self.carries = False
        self._line = line
        self._hear = hear
        self._changed = changed
        self._home = asyncio.get_running_loop()
        self._some = asyncio.Event()
        self._sent = asyncio.Event()  # or there is no hope to
        self._guard = threading.Lock()
        self._waiting: set[str] = set()
        self._going: set[str] = set()
        self._probe = f"probe:{secrets.token_hex(8)}"
        self._probed: float | None = None  # when it was rung and not heard yet
        self._heard = float("-inf")  # when it was heard last
        self._task: asyncio.Task[None] | None = None
        self._closed = False
        self._told = False  # that it is out of reach

    def begin(self) -> None:
        """Connect, unless that was done. May be called from any thread."""
        if self._task is None:
            self._at_home(self._stir)

    def send(self, topics: Iterable[str]) -> None:
        """Send these on their way. May be called from any thread."""
        fit = [topic for topic in topics if len(topic) <= MOST_TOPIC and len(topic.split()) == 1]
        with self._guard:
            if len(self._waiting) < MOST_WAITING:
                self._waiting.update(fit)
        self._at_home(self._stir)

    async def close(self) -> None:
        """Give what is left a moment to be sent, then let go."""
        if self._waiting:
            self._stir()  # a host that ends may have ended every task before
        self._closed = True
        if self._task is None:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LAST_SECONDS):
                while (self._waiting or self._going) and not self._told:
                    self._sent.clear()
                    await self._sent.wait()
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        self.carries = False

    def _at_home(self, act: Callable[[], None]) -> None:
        try:
            at_home = asyncio.get_running_loop() is self._home
        except RuntimeError:
            at_home = False
        if at_home:
            act()
            return
        with contextlib.suppress(RuntimeError):  # the loop has just been closed
            self._home.call_soon_threadsafe(act)

    def _stir(self) -> None:
        if (self._task is None or self._task.done()) and not self._closed:
            self._task = asyncio.create_task(self._keep(), name="bell")
        self._some.set()

    async def _keep(self) -> None:
        pause = FIRST_BACK_OFF
        while True:
            try:
                async with self._line.open(self._on_payload, self._some.set) as wire:
                    await self._attend(wire)
            except Exception as error:  # noqa: BLE001  (the boundary to two drivers)
                pause = FIRST_BACK_OFF if self.carries else min(2 * pause, LONGEST_BACK_OFF)
                self._lose(error.message if isinstance(error, KosmosError) else repr(error))
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311  (spreads, hides nothing)

    async def _attend(self, wire: Wire) -> None:
        """Send what there is to send until the wire fails."""
        self._probed, self._heard = None, float("-inf")
        while True:
            self._some.clear()
            if wire.failure is not None:
                raise wire.failure
            with self._guard:
                self._going, self._waiting = self._going | self._waiting, set()
            self._look_after()
            for payload in pack(sorted(self._going)):
                async with asyncio.timeout(PATIENCE_SECONDS):
                    await wire.send(payload)
            self._going = set()
            self._sent.set()
            await asyncio.sleep(GATHER_SECONDS)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE_SECONDS):
                    await self._some.wait()

    def _look_after(self) -> None:
        """Ring for oneself from time to time; EngineUnavailable when that was not heard."""
        now = self._home.time()
        if self._probed is not None and now - self._probed >= PATIENCE_SECONDS:
            raise EngineUnavailable("what is rung does not come back")
        if self._probed is None and now - self._heard >= PROBE_SECONDS:
            self._probed = now
            self._going.add(self._probe)

    def _on_payload(self, payload: str) -> None:
        if len(payload) > MOST_BYTES:
            return
        for topic in payload.split(" "):
            if topic == self._probe:
                self._hear_oneself()
            else:
                self._hear(topic)

    def _hear_oneself(self) -> None:
        self._probed, self._heard = None, self._home.time()
        if self.carries:
            return
        self.carries = True
        if self._told:
            self._told = False
            log.info("processes wake each other again")
        self._changed()

    def _lose(self, reason: str) -> None:
        self.carries = False
        self._sent.set()
        if not self._told:
            self._told = True
            log.warning("processes cannot wake each other; each looks by itself meanwhile: %s", reason)
            self._changed()


def pack(topics: Sequence[str], most: int = MOST_BYTES) -> Iterator[str]:
    """The topics as few payloads of at most so many bytes."""
    taken: list[str] = []
    size = 0
    for topic in topics:
        length = len(topic.encode()) + 1
        if taken and size + length > most + 1:
            yield " ".join(taken)
            taken, size = [], 0
        taken.append(topic)
        size += length
    if taken:
        yield " ".join(taken)
