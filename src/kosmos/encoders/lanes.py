"""Threads for models: so many and no more, and a question never waits behind a long list of texts."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


class Lanes:
    """A fixed number of threads. Work that is urgent is next; other work waits its turn outside the queue."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="encoder")
        self._turns = asyncio.Semaphore(threads)

    async def urgent(self, work: Callable[[], T]) -> T:
        """Do this as soon as a thread is free."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    async def each(self, works: Sequence[Callable[[], T]]) -> list[T]:
        """Do all of these; what they bring, in their order. When cancelled, what has not begun never does."""
        found: dict[int, T] = {}
        waiting = iter(enumerate(works))

        async def go() -> None:
            for place, work in waiting:
                async with self._turns:
                    found[place] = await self.urgent(work)

        lanes = [asyncio.create_task(go()) for _ in range(min(self.threads, len(works)))]
        try:
            await asyncio.gather(*lanes)
        finally:
            for lane in lanes:
                lane.cancel()
            await asyncio.gather(*lanes, return_exceptions=True)
        return [found[place] for place in range(len(works))]

    def close(self) -> None:
        """End the threads; what is being done ends by itself."""
        self._pool.shutdown(wait=False, cancel_futures=True)
