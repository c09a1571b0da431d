"""Encoders that are opened when they are first asked for, and kept."""

import asyncio
from collections.abc import Awaitable, Callable

from kosmos.encoders.contract import Encoder

Opener = Callable[[str], Awaitable[Encoder | None]]


async def _open_none(_setting: str) -> Encoder | None:
    return None


class EncoderShelf:
    """Encoders by the settings that name them."""

    def __init__(self, opener: Opener = _open_none) -> None:
        self._opener = opener
        self._opened: dict[str, Encoder] = {}
        self._lock = asyncio.Lock()

    async def get(self, setting: str) -> Encoder | None:
        """The encoder of that setting; None for `none`; ConfigError when it cannot be had."""
        async with self._lock:
            if setting not in self._opened:
                opened = await self._opener(setting)
                if opened is None:
                    return None
                self._opened[setting] = opened
            return self._opened[setting]

    async def close(self) -> None:
        """Close all that were opened."""
        while self._opened:
            _, encoder = self._opened.popitem()
            await encoder.close()
