"""What each host asks of robots, read once a day and kept for the run."""

import asyncio
from dataclasses import dataclass

from kosmos.crawl.robots import Robots, parse_robots
from kosmos.crawl.urls import host_of
from kosmos.domain.clock import Clock
from kosmos.errors import FetchFailed, FetchRefused
from kosmos.net import Fetcher
from kosmos.net.policy import AGENT_TOKEN

_DAY = 24 * 3600.0
_SOON = 30.0


@dataclass(frozen=True, slots=True)
class _Entry:
    robots: Robots | None
    until: float


class Manners:
    """The robots.txt of every host of a crawl."""

    def __init__(self, fetcher: Fetcher, clock: Clock, *, obeyed: bool = True) -> None:
        self._fetcher = fetcher
        self._clock = clock
        self._obeyed = obeyed
        self._known: dict[str, _Entry] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    async def of(self, url: str) -> Robots | None:
        """What the host of an address asks; None when it cannot say, and so nothing may be fetched yet."""
        if not self._obeyed:
            return Robots()
        origin = f"{url.partition('://')[0]}://{host_of(url)}"
        async with self._locks.setdefault(origin, asyncio.Lock()):
            entry = self._known.get(origin)
            now = self._clock().timestamp()
            if entry is None or entry.until <= now:
                robots = await self._read(origin)
                entry = _Entry(robots, now + (_DAY if robots else _SOON))
                self._known[origin] = entry
        return entry.robots

    async def _read(self, origin: str) -> Robots | None:
        try:
            answer = await self._fetcher.fetch(f"{origin}/robots.txt")
        except (FetchFailed, FetchRefused) as error:
            # What will never be answered asks for nothing; whether pages may be fetched is decided there.
            return None if error.retryable else Robots()
        if answer.status == 429 or answer.status >= 500:
            return None
        return parse_robots(answer.content, AGENT_TOKEN) if 200 <= answer.status < 300 else Robots()
