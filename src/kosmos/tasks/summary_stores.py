"""Where summaries of documents are kept: a table, or Redis where several machines share one."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol

from kosmos.db import Database, summaries
from kosmos.domain.clock import Clock
from kosmos.errors import ConfigError, EngineUnavailable

LIFETIME = timedelta(days=7)
LEASE = timedelta(seconds=60)
Kept = Mapping[str, tuple[Mapping[str, Any], datetime]]


class SummaryStore(Protocol):
    """Summaries by key, and claims of those who make them."""

    async def get_many(self, keys: Sequence[str]) -> Kept:
        """Those that there are, with the time at which they were made."""

    async def claim(self, key: str, document_id: str, holder: str) -> bool:
        """Become the one who makes it, or go on being it; False while somebody else is."""

    async def holder(self, key: str) -> str | None:
        """Who makes it now."""

    async def put(self, key: str, summary: Mapping[str, Any], holder: str) -> None:
        """Keep it for seven days; its maker is done."""

    async def release(self, key: str, holder: str) -> None:
        """Let others make it."""


@dataclass(frozen=True, slots=True)
class TableSummaries:
    """Summaries in the database."""

    db: Database
    clock: Clock

    async def get_many(self, keys: Sequence[str]) -> Kept:
        """Those that have not expired."""
        async with self.db.glance() as conn:
            return await summaries.get_summaries(conn, keys, self.clock())

    async def claim(self, key: str, document_id: str, holder: str) -> bool:
        """Claim it for as long as a lease lasts."""
        now = self.clock()
        async with self.db.brief() as conn:
            return await summaries.claim_summary(
                conn, key, document_id=document_id, holder=holder, now=now, until=now + LEASE
            )

    async def holder(self, key: str) -> str | None:
        """Who makes it now."""
        async with self.db.glance() as conn:
            return await summaries.holder_of(conn, key)

    async def put(self, key: str, summary: Mapping[str, Any], holder: str) -> None:  # noqa: ARG002
        """Keep it, and drop what has expired."""
        now = self.clock()
        async with self.db.brief() as conn:
            await summaries.put_summary(conn, key, summary, now=now, expires=now + LIFETIME)
            await summaries.drop_expired(conn, now)

    async def release(self, key: str, holder: str) -> None:
        """Let others make it."""
        async with self.db.brief() as conn:
            await summaries.release_summary(conn, key, holder)


class RedisSummaries:
    """Summaries in Redis. A Redis that cannot be reached is EngineUnavailable, and stops nothing."""

    def __init__(self, url: str, clock: Clock) -> None:
        try:
            from redis.asyncio import Redis
        except ImportError:
            raise ConfigError(
                "A Redis is configured, but its client is not installed.",
                remedy="Run: pip install 'kosmos[redis]'",
            ) from None
        self._redis = Redis.from_url(url, socket_timeout=5, socket_connect_timeout=5)
        self._clock = clock

    async def get_many(self, keys: Sequence[str]) -> Kept:
        """Those that are still there."""
        async with _clear_errors():
            found = await self._redis.mget(list(keys)) if keys else []
        kept = {key: json.loads(value) for key, value in zip(keys, found, strict=True) if value}
        return {key: (item["summary"], datetime.fromisoformat(item["made_at"])) for key, item in kept.items()}

    async def claim(self, key: str, document_id: str, holder: str) -> bool:  # noqa: ARG002
        """Claim it for as long as a lease lasts."""
        name, lease = f"{key}:claim", int(LEASE.total_seconds())
        async with _clear_errors():
            if await self._redis.set(name, holder, nx=True, ex=lease):
                return True
            if await self._redis.get(name) != holder.encode():
                return False
            return bool(await self._redis.expire(name, lease))

    async def holder(self, key: str) -> str | None:
        """Who makes it now."""
        async with _clear_errors():
            value = await self._redis.get(f"{key}:claim")
        return value.decode() if isinstance(value, bytes) else None

    async def put(self, key: str, summary: Mapping[str, Any], holder: str) -> None:
        """Keep it, then give the claim back."""
        body = {"summary": dict(summary), "made_at": self._clock().isoformat()}
        async with _clear_errors():
            await self._redis.set(key, json.dumps(body, ensure_ascii=False), ex=LIFETIME)
        await self.release(key, holder)

    async def release(self, key: str, holder: str) -> None:
        """Let others make it, unless they do already."""
        name = f"{key}:claim"
        async with _clear_errors():
            if await self._redis.get(name) == holder.encode():
                await self._redis.delete(name)

    async def close(self) -> None:
        """Let go of the connection."""
        await self._redis.aclose()


@asynccontextmanager
async def _clear_errors() -> AsyncIterator[None]:
    from redis.exceptions import RedisError

    try:
        yield
    except (RedisError, OSError) as error:
        raise EngineUnavailable(
            f"Redis cannot be used: {error}.", remedy="Check KOSMOS_REDIS_URL; `kosmos doctor` tells more."
        ) from error
