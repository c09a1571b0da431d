"""Rings by PUBLISH and SUBSCRIBE of Redis."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

from kosmos.bells.contract import Hear, Wire
from kosmos.errors import EngineUnavailable, KosmosError

if TYPE_CHECKING:
    from redis.asyncio import Redis

CONNECT_SECONDS = 5


class RedisLine:
    """The line by a Redis."""

    def __init__(self, url: str) -> None:
        self._url = url

    @asynccontextmanager
    async def open(self, hear: Hear, stir: Callable[[], None]) -> AsyncIterator[Wire]:
        """Connect and listen."""
        from redis.asyncio import Redis
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff

        never = Retry(NoBackoff(), 0)  # connecting anew is the keeper's work
        client = Redis.from_url(self._url, socket_connect_timeout=CONNECT_SECONDS, retry=never)
        # Channels know nothing of the numbered databases of one server.
        channel = f"kosmos:bell:{client.connection_pool.connection_kwargs.get('db', 0)}"
        heard = client.pubsub(ignore_subscribe_messages=True)
        wire = _RedisWire(client, channel, stir)
        reading: asyncio.Task[None] | None = None
        try:
            with _clear_errors():
                await heard.subscribe(channel)
            reading = asyncio.create_task(wire.read(heard, hear))
            yield wire
        finally:
            if reading is not None:
                reading.cancel()
                await asyncio.gather(reading, return_exceptions=True)
            await heard.aclose()  # type: ignore[no-untyped-call]
            await client.aclose()


class _RedisWire:
    def __init__(self, client: "Redis", channel: str, stir: Callable[[], None]) -> None:
        self.failure: KosmosError | None = None
        self._client = client
        self._channel = channel
        self._stir = stir

    async def send(self, payload: str) -> None:
        """Publish."""
        with _clear_errors():
            await self._client.publish(self._channel, payload)

    async def read(self, heard: Any, hear: Hear) -> None:
        """Hear what comes until the connection ends."""
        try:
            with _clear_errors():
                async for message in heard.listen():
                    hear(message["data"].decode(errors="replace"))
                raise EngineUnavailable("Redis: the connection was closed")
        except EngineUnavailable as error:
            self.failure = error
            self._stir()


@contextmanager
def _clear_errors() -> Iterator[None]:
    from redis.exceptions import RedisError

    try:
        yield
    except (RedisError, OSError) as error:
        raise EngineUnavailable(f"Redis: {error}") from error
