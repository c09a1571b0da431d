"""How many requests one token may make: a bucket for each, in this process or, for all of them, in Redis."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kosmos.errors import SlowDown
from kosmos.telemetry.measures import REFUSALS

log = logging.getLogger(__name__)
MOST_BUCKETS = 10_000
REDIS_SECONDS = 0.5  # so long a request may wait for Redis
AWAY_SECONDS = 5.0  # so long Redis is not asked again after it could not answer
# The bucket of one token, looked at and changed in one step and by one clock. What is left comes as a text:
# Redis would cut a number. A bucket that nobody touches for a minute is full, and may go.
_TAKE = """
local most, time = tonumber(ARGV[1]), redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000
local kept = redis.call('HMGET', KEYS[1], 'left', 'at')
local left = math.min(most, (tonumber(kept[1]) or most) + (now - (tonumber(kept[2]) or now)) * most / 60)
if left >= 1 then
    redis.call('HSET', KEYS[1], 'left', string.format('%.6f', left - 1), 'at', string.format('%.6f', now))
    redis.call('EXPIRE', KEYS[1], 61)
end
return string.format('%.6f', left)
"""


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
            raise self.refusal(left)
        if token_id not in self._buckets and len(self._buckets) >= MOST_BUCKETS:
            self._forget(now)
        self._buckets[token_id] = (left - 1, now)

    def refusal(self, left: float) -> SlowDown:
        """What is said to a token that has less than one request left."""
        REFUSALS.add("rate")
        return SlowDown(
            f"This token may make {self.per_minute:,} requests a minute.",
            retry_after=(1 - left) * 60 / self.per_minute,
            remedy="Wait as long as Retry-After says; KOSMOS_RATE_LIMIT sets the limit.",
        )

    def _left(self, token_id: str, now: float) -> float:
        left, since = self._buckets.get(token_id, (float(self.per_minute), now))
        return min(float(self.per_minute), left + (now - since) * self.per_minute / 60)

    def _forget(self, now: float) -> None:
        """Drop the buckets that are full again, and if none is, all of them."""
        used = [name for name in self._buckets if self._left(name, now) < self.per_minute]
        kept = used if len(used) < MOST_BUCKETS else []
        self._buckets = {name: self._buckets[name] for name in kept}


class SharedPace:
    """The pace of all processes: buckets in Redis, where there is one that answers; else those of `own`."""

    def __init__(self, own: Pace, redis_url: str | None) -> None:
        self._own = own
        self._redis: Any = _connect(redis_url) if redis_url is not None and own.per_minute else None
        self._take: Any = self._redis.register_script(_TAKE) if self._redis is not None else None
        self._away_until = float("-inf")
        self._told = False

    async def take(self, token_id: str) -> None:
        """Let one request pass, or SlowDown."""
        left = await self._left(token_id) if self._take is not None else None
        if left is None:
            self._own.take(token_id)
        elif left < 1:
            raise self._own.refusal(left)

    async def close(self) -> None:
        """Let go of the connections."""
        if self._redis is not None:
            await self._redis.aclose()

    async def _left(self, token_id: str) -> float | None:
        """What was left before this request; None when Redis does not say."""
        from redis.exceptions import RedisError

        if time.monotonic() < self._away_until:
            return None
        try:
            left = float(await self._take(keys=[f"kosmos:pace:{token_id}"], args=[self._own.per_minute]))
        except (RedisError, OSError) as error:
            self._away_until = time.monotonic() + AWAY_SECONDS
            if not self._told:
                log.warning("Redis cannot be asked; each process counts requests by itself: %s", error)
            self._told = True
            return None
        self._told = False
        return left


def _connect(url: str) -> Any:
    from redis.asyncio import Redis
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff

    never = Retry(NoBackoff(), 0)
    return Redis.from_url(
        url, retry=never, socket_timeout=REDIS_SECONDS, socket_connect_timeout=REDIS_SECONDS
    )
