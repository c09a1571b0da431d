"""How often a host is asked: so many at once, and a pause between the beginnings of two requests."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime

_MOST_WAIT = 24 * 3600.0


@dataclass(slots=True)
class _Gate:
    places: asyncio.Semaphore
    free_at: float = 0.0


class Pacer:
    """Keeps requests to each host apart."""

    def __init__(
        self,
        per_host: int,
        *,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._per_host = per_host
        self._now = now
        self._sleep = sleep
        self._gates: dict[str, _Gate] = {}

    @asynccontextmanager
    async def turn(self, host: str, delay: float) -> AsyncIterator[None]:
        """Wait for a place and for the pause after the last request; give the place back at the end."""
        gate = self._gate(host)
        async with gate.places:
            # Again after each sleep: the host may meanwhile have asked to be left alone.
            while (wait := gate.free_at - self._now()) > 0:
                await self._sleep(wait)
            gate.free_at = self._now() + delay
            yield

    def hold(self, host: str, seconds: float) -> None:
        """Leave a host alone for a while."""
        gate = self._gate(host)
        gate.free_at = max(gate.free_at, self._now() + seconds)

    def _gate(self, host: str) -> _Gate:
        return self._gates.setdefault(host, _Gate(asyncio.Semaphore(self._per_host)))


def retry_after(value: str, now: datetime) -> float | None:
    """Seconds to wait as a Retry-After header says, in either of its forms; None when it says nothing."""
    value = value.strip()
    if value.isascii() and value.isdigit():
        return min(float(value[:9]), _MOST_WAIT)
    try:
        seconds = (parsedate_to_datetime(value) - now).total_seconds()
    except (ValueError, TypeError):  # a date without a zone cannot be compared
        return None
    return min(max(seconds, 0.0), _MOST_WAIT)
