"""Files read piece by piece, off the event loop."""

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import aclosing, suppress
from pathlib import Path

from kosmos.blobs.digests import verified
from kosmos.errors import Conflict, DataLost, InvalidInput

CHUNK = 256 * 1024


def file_chunks(path: Path) -> Generator[bytes, None, None]:
    """The content of a file in pieces of at most CHUNK bytes."""
    with path.open("rb", buffering=0) as file:
        while chunk := file.read(CHUNK):
            yield chunk


def source_chunks(path: Path) -> Generator[bytes, None, None]:
    """The content of a file somebody wants stored; InvalidInput when it cannot be read."""
    try:
        # Opening a pipe or a device could block for ever.
        if path.exists() and not path.is_file():
            raise InvalidInput(f"{path} is not a regular file.", remedy="Name a file with content to store.")
        yield from file_chunks(path)
    except OSError as error:
        raise InvalidInput(
            f"{path} cannot be read: {error.strerror or error}.",
            remedy="Check that the file is there and may be read by this process.",
        ) from error


async def in_threads(chunks: Generator[bytes, None, None]) -> AsyncGenerator[bytes, None]:
    """The same pieces, each fetched in a worker thread."""
    try:
        while chunk := await asyncio.to_thread(next, chunks, b""):
            yield chunk
    finally:
        # After a cancellation a thread may still be inside the generator; it is then closed when that
        # thread lets go of it.
        with suppress(ValueError):
            chunks.close()


async def unchanged(path: Path, *, sha256: str, size: int) -> AsyncGenerator[bytes, None]:
    """A file measured before, piece by piece; Conflict before its end when it is no longer the same."""
    left = size
    try:
        async with aclosing(verified(sha256, in_threads(source_chunks(path)))) as chunks:
            async for chunk in chunks:
                left -= len(chunk)
                if left < 0:
                    raise DataLost
                yield chunk
    except DataLost as error:
        raise Conflict(
            f"{path} was changed while it was being stored.",
            remedy="Store it again when nothing writes to it any more.",
        ) from error
