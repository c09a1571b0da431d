"""What carries rings from process to process: a line. There are two kinds, PostgreSQL and Redis."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from kosmos.errors import KosmosError

MOST_BYTES = 7900  # PostgreSQL refuses a payload of 8000
Hear = Callable[[str], None]


class Wire(Protocol):
    """A line that is connected."""

    failure: KosmosError | None  # why it is not any more

    async def send(self, payload: str) -> None:
        """Let every process hear this, this one too; EngineUnavailable when it cannot be sent."""


class Line(Protocol):
    """A line to other processes."""

    def open(self, hear: Hear, stir: Callable[[], None]) -> AbstractAsyncContextManager[Wire]:
        """Connect, or EngineUnavailable. `hear` gets what comes; `stir` is called when it fails."""
