"""How many requests one token may make: a bucket for each, in this process."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from kosmos.errors import SlowDown
from kosmos.telemetry.measures import REFUSALS

MOST_BUCKETS = 10_000


@dataclass(slots=True)
class Pace:
    """Buckets that hold a minute's worth of requests and fill again evenly; 0 a minute: no limit."""

    per_minute: int
    clock: Callable[[], float] = time.monotonic
    _buckets: dict[str, tuple[float, float]] = field(default_factory=dict)  # what was left, and when

    def take(self, token_id: str) -> None:
        """Let one request pass, or SlowDown."""
        if not self.per_minute:
            return
        now = self.clock()
        left = self._left(token_id, now)
        if left < 1:
            REFUSALS.add("rate")
            raise SlowDown(
                f"This token may make {self.per_minute:,} requests a minute.",
                retry_after=(1 - left) * 60 / self.per_minute,
                remedy="Wait as long as Retry-After says; KOSMOS_RATE_LIMIT sets the limit.",
            )
        if token_id not in self._buckets and len(self._buckets) >= MOST_BUCKETS:
            self._forget(now)
        self._buckets[token_id] = (left - 1, now)

    def _left(self, token_id: str, now: float) -> float:
        left, since = self._buckets.get(token_id, (float(self.per_minute), now))
        return min(float(self.per_minute), left + (now - since) * self.per_minute / 60)

    def _forget(self, now: float) -> None:
        """Drop the buckets that are full again, and if none is, all of them."""
        used = [name for name in self._buckets if self._left(name, now) < self.per_minute]
        kept = used if len(used) < MOST_BUCKETS else []
        self._buckets = {name: self._buckets[name] for name in kept}
