"""Whoever is cancelled in a query ends as cancelled, and the next one finds a sound connection."""

import asyncio
import gc
import random

import pytest
import sqlalchemy as sa

from kosmos.db import Database

TRIES = 400


async def _look(db: Database) -> None:
    for _ in range(3):
        async with db.read() as conn:
            await conn.execute(sa.text("SELECT 1"))
        async with db.write() as conn:
            await conn.execute(sa.text("SELECT 1"))


# A connection that was being made when it was cancelled is closed by the collector, which says so.
@pytest.mark.filterwarnings("ignore:.*was deleted (while still open|before being closed).*:ResourceWarning")
async def test_cancelled_at_any_moment(db: Database) -> None:
    rng = random.Random(5)
    await _look(db)  # from now on connections are taken out of the pool and tried first
    ends: list[str] = []
    for _ in range(TRIES):
        task = asyncio.create_task(_look(db))
        await asyncio.sleep(rng.random() * 0.004)
        while not task.done():  # as a server does when a client hangs up: again and again
            task.cancel()
            await asyncio.sleep(0)
        (end,) = await asyncio.gather(task, return_exceptions=True)
        ends.append(type(end).__name__)
    assert set(ends) <= {"CancelledError", "NoneType"}
    assert ends.count("CancelledError") > TRIES // 10
    await _look(db)
    gc.collect()
