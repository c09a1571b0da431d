"""Blobs and their references: bytes are written before a row refers to them and go after the last one went.

A row is locked while bytes come or go (`db.blobs.hold` and `release`), so that no writer can rely on
bytes that a collector is about to remove.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.db import blobs as rows
from kosmos.tasks.workbench import Workbench

BATCH = 500


async def hold_blob(bench: Workbench, conn: AsyncConnection, sha256: str, data: bytes) -> None:
    """Make sure, inside the transaction that will refer to them, that the bytes are there and stay."""
    await rows.hold(conn, sha256, len(data), bench.clock())
    if not await bench.blobs.exists(sha256):
        await bench.blobs.put(data)  # a collector took them before their row was locked


async def release_blobs(bench: Workbench, hashes: Sequence[str]) -> int:
    """Remove those of the blobs that nothing refers to; how many there were."""
    removed = 0
    for sha256 in dict.fromkeys(hashes):
        try:
            async with bench.db.write() as conn:
                if await rows.release(conn, sha256, bench.clock()):
                    await bench.blobs.remove(sha256)
                    removed += 1
        except sa.exc.IntegrityError:
            continue  # somebody referred to it meanwhile, so it stays
    return removed


async def collect_garbage(bench: Workbench) -> int:
    """Remove every stored or known blob that no document refers to; how many there were."""
    removed = 0
    batch: list[str] = []
    async for sha256 in bench.blobs.keys():
        batch.append(sha256)
        if len(batch) == BATCH:
            removed += await _collect(bench, batch)
            batch = []
    removed += await _collect(bench, batch)
    async with bench.db.read() as conn:
        loose = await rows.unneeded(conn)
    return removed + await release_blobs(bench, loose)


async def _collect(bench: Workbench, batch: Sequence[str]) -> int:
    async with bench.db.read() as conn:
        loose = await rows.unreferenced(conn, batch)
    return await release_blobs(bench, loose)
