"""A PostgreSQL that dropped its connections: those that rested are replaced unseen, a busy one tells once."""

import pytest
import sqlalchemy as sa

from kosmos.config import pools
from kosmos.db import Database
from kosmos.errors import EngineUnavailable

_DROP = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = :name"


async def _look(db: Database) -> None:
    async with db.read() as conn:
        assert await conn.scalar(sa.text("SELECT 1")) == 1


def _drop_all(url: str) -> None:
    """As a restart does: nobody who is connected stays so."""
    parsed = sa.make_url(url).set(drivername="postgresql+psycopg")
    server = sa.create_engine(parsed.set(database="postgres"), poolclass=sa.pool.NullPool)
    with server.connect() as conn:
        conn.execute(sa.text(_DROP), {"name": parsed.database})


async def test_one_that_rested_is_replaced_unseen(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "RESTED_SECONDS", 0.0)
    db = Database(postgres_url)
    await _look(db)
    _drop_all(postgres_url)
    await _look(db)
    await db.close()


async def test_one_in_use_tells_once_and_all_are_made_anew(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "RESTED_SECONDS", 600.0)
    db = Database(postgres_url)
    async with db.read() as first, db.read() as second:
        await first.scalar(sa.text("SELECT 1"))
        await second.scalar(sa.text("SELECT 1"))
    _drop_all(postgres_url)
    with pytest.raises(EngineUnavailable):
        await _look(db)
    await _look(db)
    await _look(db)
    await db.close()
