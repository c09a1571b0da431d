"""One state of the tables together with all the bytes that it names, while others go on writing.

Most bytes are copied beforehand. Then nobody may add or remove bytes for as long as it takes to begin a
snapshot and to copy those that came meanwhile; the rows are read from the snapshot after that, at leisure.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.db import Database
from kosmos.db.blobs import REFERENCES

Copy = Callable[[str], Awaitable[None]]  # puts the bytes of a hash aside, unless they are there


async def named_blobs(conn: AsyncConnection, only: Sequence[sa.Select[Any]] = ()) -> list[str]:
    """The hashes of all bytes that rows refer to, or that some queries find."""
    queries = only or [sa.select(column) for column in REFERENCES]
    found: set[str] = set()
    for query in queries:
        found.update(sha256 for sha256 in (await conn.execute(query.distinct())).scalars() if sha256)
    return sorted(found)


@asynccontextmanager
async def held_snapshot(
    db: Database, copy: Copy, only: Sequence[sa.Select[Any]] = ()
) -> AsyncIterator[AsyncConnection]:
    """A snapshot of the tables; all bytes that it names have been copied when the block begins."""
    async with db.read() as conn:
        before = await named_blobs(conn, only)
    for sha256 in before:
        await copy(sha256)
    async with db.snapshot() as conn:
        async with db.write() as lock:
            if not db.is_sqlite:  # there a writer is alone anyway
                await lock.execute(sa.text("LOCK TABLE blob IN EXCLUSIVE MODE"))
            for sha256 in await named_blobs(conn, only):
                await copy(sha256)
        yield conn
