"""The streams that a server has open: all of them end at once when it leaves."""

import asyncio
from collections.abc import AsyncIterator

LEAVE_STREAMS = "leave_streams"  # in the state of the server's lifespan: what to call when it begins to end


class Streams:
    """The streams of this process. Clients that lose theirs go on elsewhere behind the last event seen."""

    def __init__(self) -> None:
        self._left = False
        self._waiting: set[asyncio.Timeout] = set()

    def leave(self) -> None:
        """Let every stream end now, and those that begin later as well."""
        self._left = True
        now = asyncio.get_running_loop().time()
        for limit in self._waiting:
            limit.reschedule(now)

    async def until_leaving(self, lines: AsyncIterator[str]) -> AsyncIterator[str]:
        """The lines, until the server leaves."""
        while not self._left:
            limit = asyncio.timeout(None)
            try:
                async with limit:
                    self._waiting.add(limit)
                    line = await anext(lines)
            except StopAsyncIteration:
                return
            except TimeoutError:
                if limit.expired():
                    return
                raise
            finally:
                self._waiting.discard(limit)
            yield line
