"""The stage of every test of jobs: real tables on each engine, and a clock that the test moves."""

import pytest
import sqlalchemy as sa

from kosmos.db import Database
from kosmos.doubles.clock import FixedClock

from .stage import Stage


@pytest.fixture
async def stage(db: Database) -> Stage:
    """An empty queue, and a table for the work of handlers."""
    async with db.write() as conn:
        await conn.execute(sa.text("CREATE TABLE test_line (name TEXT)"))
    return Stage(db, FixedClock())
