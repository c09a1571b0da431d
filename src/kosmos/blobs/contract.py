"""What every blob store promises."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Protocol


class Blobs(Protocol):
    """Bytes under the SHA-256 of their content, written once and never changed.

    A key is 64 lower-case hexadecimal digits; anything else is InvalidInput before any storage is touched.
    Whoever counts references keeps that count elsewhere: a store removes only what it is told to remove.
    """

    async def put(self, data: bytes) -> str:
        """Store these bytes durably and return their key; storing them again changes nothing."""
        ...

    async def put_file(self, path: Path) -> str:
        """Store the content of a regular file, read piece by piece, and return its key."""
        ...

    async def read(self, sha256: str) -> bytes:
        """The whole content; DataLost when it is missing or no longer fits its key."""
        ...

    def stream(self, sha256: str) -> AsyncIterator[bytes]:
        """The content in pieces; the last is held back until the whole is verified, else DataLost."""
        ...

    async def exists(self, sha256: str) -> bool:
        """Whether something is stored under this key; its content is not read."""
        ...

    async def remove(self, sha256: str) -> None:
        """Forget this key; nothing happens when it is not there."""
        ...

    def keys(self) -> AsyncIterator[str]:
        """Every stored key, page by page; things in the store that are not ours are passed over."""
        ...

    async def check(self) -> None:
        """Prove by a write that the store can be used, else EngineUnavailable or ConfigError."""
        ...

    async def close(self) -> None:
        """Let go of connections; the store cannot be used afterwards."""
        ...
