"""Transactions: all or nothing, writers in turn, clear errors."""

import asyncio
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa

from kosmos.db import Database, tables
from kosmos.errors import ConfigError, EngineUnavailable

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def _blob(number: int) -> sa.Insert:
    return tables.blob.insert().values(sha256=f"{number:064x}", size=number, created_at=NOW)


async def test_a_failed_block_leaves_nothing(db: Database) -> None:
    with pytest.raises(RuntimeError):
        async with db.write() as conn:
            await conn.execute(_blob(1))
            raise RuntimeError
    async with db.read() as conn:
        assert await conn.scalar(sa.select(sa.func.count()).select_from(tables.blob)) == 0


async def test_many_writers_at_once_all_commit(db: Database) -> None:
    async def add(number: int) -> None:
        async with db.write() as conn:
            await conn.execute(_blob(number))

    await asyncio.gather(*(add(number) for number in range(40)))
    async with db.read() as conn:
        assert await conn.scalar(sa.select(sa.func.count()).select_from(tables.blob)) == 40


async def test_a_reader_sees_one_state(db: Database) -> None:
    if not db.is_sqlite:
        return  # PostgreSQL reads committed data statement by statement
    async with db.read() as reader:
        await reader.scalar(sa.select(sa.func.count()).select_from(tables.blob))
        async with db.write() as writer:
            await writer.execute(_blob(7))
        assert await reader.scalar(sa.select(sa.func.count()).select_from(tables.blob)) == 0


async def test_foreign_keys_are_enforced(db: Database) -> None:
    with pytest.raises(sa.exc.IntegrityError):
        async with db.write() as conn:
            await conn.execute(
                tables.space_member.insert().values(
                    space_id="none", user_id="none", role="viewer", created_at=NOW
                )
            )


async def test_naive_times_are_refused(db: Database) -> None:
    with pytest.raises(sa.exc.StatementError):
        async with db.write() as conn:
            await conn.execute(
                tables.blob.insert().values(sha256="0" * 64, size=1, created_at=datetime(2026, 1, 1))  # noqa: DTZ001
            )


@pytest.mark.parametrize("url", ["mysql://x/y", "sqlite://", "postgresql://host", "::"])
def test_bad_urls_are_refused_with_an_example(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Database(url)
    assert "postgresql://" in (caught.value.remedy or "")


async def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_text("this is not a database, whatever its name says. " * 100)
    db = Database(f"sqlite:///{tmp_path}/x.db")
    with pytest.raises(ConfigError, match="not an intact SQLite database"):
        async with db.read():
            pass
    await db.close()


async def test_a_server_that_is_down() -> None:
    db = Database("postgresql://nobody:secret@127.0.0.1:9/none")
    with pytest.raises(EngineUnavailable) as caught:
        async with db.read():
            pass
    assert "secret" not in caught.value.message
    await db.close()


async def test_a_copy_that_lost_its_journal_mode_gets_it_back(tmp_path: Path) -> None:
    path = tmp_path / "copy.db"
    with sqlite3.connect(path) as plain:
        plain.execute("CREATE TABLE t (x)")
    plain.close()
    db = Database(f"sqlite:///{path}")
    async with db.read() as conn:
        assert await conn.scalar(sa.text("PRAGMA journal_mode")) == "wal"
    await db.close()
