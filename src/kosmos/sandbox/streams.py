"""Reading what a command says without being drowned in it."""

import asyncio
import os
from dataclasses import dataclass, field


class TooMuchOutput(Exception):
    """A command does not stop talking."""


@dataclass(slots=True)
class Kept:
    """The beginning of a stream."""

    most: int
    drain: int
    data: bytearray = field(default_factory=bytearray)
    thrown: int = 0

    @property
    def truncated(self) -> bool:
        """Whether anything was thrown away."""
        return self.thrown > 0

    def add(self, part: bytes) -> None:
        """Keep what fits, throw away the rest; TooMuchOutput when even that becomes too much."""
        room = max(0, self.most - len(self.data))
        self.data += part[:room]
        self.thrown += max(0, len(part) - room)
        if self.thrown > self.drain:
            raise TooMuchOutput

    async def read(self, fd: int) -> None:
        """Read the stream to its end."""
        while True:
            await readable(fd)
            part = os.read(fd, 65536)
            if not part:
                return
            self.add(part)


async def readable(fd: int) -> None:
    """Wait until there is something to read, or until the process behind a process handle has ended."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    loop.add_reader(fd, lambda: None if ready.done() else ready.set_result(None))
    try:
        await ready
    finally:
        loop.remove_reader(fd)
