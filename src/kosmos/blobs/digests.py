"""Keys are SHA-256 digests: which are well formed, and does content fit its key."""

import hashlib
import re
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing

from kosmos.errors import DataLost, InvalidInput

_SHA256 = re.compile(r"[0-9a-f]{64}")


def is_sha256(text: str) -> bool:
    """Whether this is a digest in our spelling."""
    return _SHA256.fullmatch(text) is not None


def require_sha256(text: str) -> str:
    """The gate every key passes before it becomes part of a path or an address."""
    if not is_sha256(text):
        raise InvalidInput(
            f"{text[:80]!r} is not the key of a blob.",
            remedy="A key is a SHA-256 digest: 64 digits out of 0-9 and a-f, lower case.",
        )
    return text


def digest_of(chunks: Iterable[bytes]) -> tuple[str, int]:
    """The digest and the size of content that comes in pieces."""
    digest, size = hashlib.sha256(), 0
    for chunk in chunks:
        digest.update(chunk)
        size += len(chunk)
    return digest.hexdigest(), size


async def verified(sha256: str, chunks: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """Pass pieces on one behind, so that the last one leaves only when the whole fits the key."""
    digest, held = hashlib.sha256(), b""
    async with aclosing(chunks):
        async for chunk in chunks:
            digest.update(chunk)
            if held:
                yield held
            held = chunk
    if digest.hexdigest() != sha256:
        raise DataLost(
            f"Blob {sha256} is damaged: its bytes are not the ones that were stored.",
            remedy="Remove it and restore it from a backup, or add its document again.",
        )
    if held:
        yield held


def missing(sha256: str) -> DataLost:
    """The error for a key under which nothing is stored."""
    return DataLost(
        f"Blob {sha256} is missing from the blob store.",
        remedy="Check that the configured blob store is the right one; restore the blob from a backup, "
        "or add its document again.",
    )
