"""Migrations: up, down and up again with data, on both engines; the declarations agree with them."""

import asyncio
from datetime import UTC, datetime

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from kosmos.db import Database, tables
from kosmos.db.migrate import HEAD, current_revision, ensure_current, known_revisions, migrate
from kosmos.errors import ConfigError

NOW = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)


async def _fill_accounts(db: Database) -> None:
    async with db.write() as conn:
        await conn.execute(
            tables.user.insert().values(id="u1", name="甲", name_key="甲", is_admin=True, created_at=NOW)
        )
        await conn.execute(
            tables.knowledge_space.insert().values(
                id="s1",
                owner_id="u1",
                name="空间",
                name_key="空间",
                description="",
                metadata={"k": [1, "二"]},
                settings={},
                created_at=NOW,
                updated_at=NOW,
            )
        )


async def _accounts_are_intact(db: Database) -> None:
    async with db.read() as conn:
        row = (await conn.execute(sa.select(tables.knowledge_space))).one()
        assert (row.name, row.metadata, row.created_at) == ("空间", {"k": [1, "二"]}, NOW)
        assert await conn.scalar(sa.select(tables.user.c.name)) == "甲"


async def test_previous_revision_upgrades_and_keeps_its_data(database_url: str) -> None:
    db = Database(database_url)
    await migrate(db, known_revisions()[-2])
    assert await current_revision(db) == known_revisions()[-2]
    await _fill_accounts(db)
    await ensure_current(db, upgrade=True)
    assert await current_revision(db) == HEAD
    await _accounts_are_intact(db)
    await db.close()


async def test_up_down_up_with_data(database_url: str) -> None:
    db = Database(database_url)
    await migrate(db, HEAD)
    await _fill_accounts(db)
    for revision in reversed(known_revisions()[:-1]):
        await migrate(db, revision)
        await _accounts_are_intact(db)
    await migrate(db, HEAD)
    await _accounts_are_intact(db)
    await migrate(db, "base")
    await migrate(db, HEAD)
    assert await current_revision(db) == HEAD == known_revisions()[-1]
    await db.close()


async def test_declared_tables_equal_migrated_tables(db: Database) -> None:
    def difference(conn: sa.Connection) -> list[object]:
        # Alembic cannot read an index with a descending column back from SQLite.
        known = {"include_object": lambda _object, name, *_rest: name != "ix_job_due"}
        context = MigrationContext.configure(conn, opts={"compare_type": True, **known})
        return list(compare_metadata(context, tables.metadata))

    async with db.read() as conn:
        assert await conn.run_sync(difference) == []


async def test_newer_database_is_refused_with_a_remedy(db: Database) -> None:
    async with db.write() as conn:
        await conn.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(ConfigError) as caught:
        await ensure_current(db, upgrade=True)
    assert "9999" in caught.value.message
    assert "newer Kosmos" in (caught.value.remedy or "")


async def test_without_permission_to_upgrade_the_command_is_named(database_url: str) -> None:
    db = Database(database_url)
    with pytest.raises(ConfigError) as caught:
        await ensure_current(db, upgrade=False)
    assert "kosmos db upgrade" in (caught.value.remedy or "")
    assert await current_revision(db) is None
    await db.close()


async def test_two_first_starts_at_once(database_url: str) -> None:
    first, second = Database(database_url), Database(database_url)
    await asyncio.gather(ensure_current(first, upgrade=True), ensure_current(second, upgrade=True))
    assert await current_revision(first) == HEAD
    await first.close()
    await second.close()
