"""Migrations: up, down and up again with data, on both engines; the declarations agree with them."""

import asyncio
from datetime import UTC, datetime

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from kosmos.db import Database, blobs, tables
from kosmos.db.chunks import live_layers
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


async def test_previous_revision_upgrades_and_keeps_its_data(empty_url: str) -> None:
    db = Database(empty_url)
    await migrate(db, known_revisions()[-2])
    assert await current_revision(db) == known_revisions()[-2]
    await _fill_accounts(db)
    await ensure_current(db, upgrade=True)
    assert await current_revision(db) == HEAD
    await _accounts_are_intact(db)
    await db.close()


async def test_up_down_up_with_data(empty_url: str) -> None:
    db = Database(empty_url)
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


async def _fill_documents(db: Database) -> None:
    """A document of revision 0003: two chunks of the live generation, one of a draft."""
    moments = {"created_at": NOW, "updated_at": NOW}
    async with db.write() as conn:
        await conn.execute(tables.blob.insert().values(sha256="a" * 64, size=1, created_at=NOW))
        await conn.execute(
            tables.document.insert().values(
                id="d1",
                space_id="s1",
                origin="file:///a.md",
                source="a.md",
                filename="a.md",
                filetype="md",
                size=1,
                title="甲",
                original_sha256="a" * 64,
                canonical_sha256="a" * 64,
                line_count=3,
                status="READY",
                version=1,
                live_generation=1,
                draft_generation=2,
                metadata={},
                **moments,
            )
        )
        for name, generation, parent, position in (("h", 1, None, 0), ("c", 1, "h", 1), ("n", 2, None, 0)):
            values = {"id": name, "generation": generation, "parent_id": parent, "position": position}
            await conn.execute(tables.chunk.insert().values(**values, **_CHUNK, **moments))


_CHUNK = {
    "space_id": "s1",
    "document_id": "d1",
    "type": "content",
    "level": -1,
    "start_line": 1,
    "end_line": 1,
    "raw_content": "字",
    "summary": "",
    "token_count": 1,
    "from_split": False,
    "merged": False,
    "metadata": {"kind": "paragraph"},
}


async def _chunks(db: Database) -> set[tuple[str, int, str | None]]:
    columns = (tables.chunk.c.id, tables.chunk.c.generation, tables.chunk.c.parent_id)
    async with db.read() as conn:
        return {(row[0], row[1], row[2]) for row in await conn.execute(sa.select(*columns))}


async def test_chunks_keep_their_ids_over_generations_from_0004_on(empty_url: str) -> None:
    db = Database(empty_url)
    await migrate(db, "0003")
    await _fill_accounts(db)
    await _fill_documents(db)
    live = {("h", 1, None), ("c", 1, "h")}
    assert await _chunks(db) == live | {("n", 2, None)}
    await migrate(db, "0004")
    assert await _chunks(db) == live | {("n", 2, None)}
    moments = {"created_at": NOW, "updated_at": NOW}
    async with db.write() as conn:
        again = {"id": "h", "generation": 2, "parent_id": None, "position": 1}
        await conn.execute(tables.chunk.insert().values(**again, **_CHUNK, **moments))
    with pytest.raises(sa.exc.IntegrityError):
        async with db.write() as conn:
            await conn.execute(tables.chunk.insert().values(**(again | {"position": 2}), **_CHUNK, **moments))
    await migrate(db, "0003")  # one row of each id: the live ones
    assert await _chunks(db) == live
    async with db.write() as conn:
        draft = await conn.scalar(sa.select(tables.document.c.draft_generation))
        await conn.execute(tables.chunk.delete().where(tables.chunk.c.id == "h"))
    assert draft is None
    assert await _chunks(db) == set()  # children go with their parents again
    await migrate(db, HEAD)
    await db.close()


async def test_chunks_that_hide_nothing_say_so_by_null(empty_url: str) -> None:
    """Earlier releases stored the word null, which no index can leave out."""
    db = Database(empty_url)
    await migrate(db, "0004")
    await _fill_accounts(db)
    await _fill_documents(db)
    layer = '{"redactions": []}'
    async with db.write() as conn:
        for name, stored in (("h", "null"), ("c", layer)):
            words = sa.text("UPDATE chunk SET redaction = CAST(:stored AS JSONB) WHERE id = :name")
            if db.is_sqlite:
                words = sa.text("UPDATE chunk SET redaction = :stored WHERE id = :name")
            await conn.execute(words, {"stored": stored, "name": name})
    await migrate(db, HEAD)
    async with db.read() as conn:
        found = await conn.execute(sa.text("SELECT id FROM chunk WHERE redaction IS NOT NULL"))
        assert list(found.scalars()) == ["c"]
        assert (await live_layers(conn, ["d1"]))["d1"].redactions == ({"redactions": []},)
    await db.close()


async def test_what_a_document_refers_to_cannot_be_forgotten(db: Database) -> None:
    """Versions and assets hold their blobs, and go with their document."""
    await _fill_accounts(db)
    await _fill_documents(db)
    moments = {"created_at": NOW, "updated_at": NOW}
    parts = ("original_sha256", "canonical_sha256", "extract_sha256")
    version = {"generation": 2, "version": 2, "size": 1, "filetype": "", "converter": "", "line_count": 0}
    held = {part: name * 64 for part, name in zip(parts, "bcd", strict=True)}
    asset = {"kind": "figure", "media_type": "image/png", "size": 1, "line": 1, "caption": ""}
    async with db.write() as conn:
        for name in "bcdef":
            await conn.execute(tables.blob.insert().values(sha256=name * 64, size=1, created_at=NOW))
        more = {"title": "", "metadata": {}, "hints": {}, **moments}
        await conn.execute(
            tables.document_version.insert().values(document_id="d1", **version, **held, **more)
        )
        owner = {"id": "a1", "space_id": "s1", "document_id": "d1", "generation": 2, "sha256": "e" * 64}
        await conn.execute(
            tables.asset.insert().values(**owner, **asset, analysis_status="PENDING", **moments)
        )
        await conn.execute(tables.chunk_asset.insert().values(chunk_id="n", asset_id="a1"))
    every = [name * 64 for name in "abcdef"]
    async with db.read() as conn:
        assert await blobs.unreferenced(conn, every) == ["f" * 64]
        assert await blobs.unneeded(conn) == ["f" * 64]
    for sha256 in every[:-1]:
        async with db.write() as conn:
            assert not await blobs.release(conn, sha256, NOW)
        with pytest.raises(sa.exc.IntegrityError):
            async with db.write() as conn:
                await conn.execute(tables.blob.delete().where(tables.blob.c.sha256 == sha256))
    async with db.write() as conn:
        await conn.execute(tables.document.delete())
    async with db.read() as conn:
        for table in (tables.document_version, tables.asset, tables.chunk_asset, tables.chunk):
            assert await conn.scalar(sa.select(sa.func.count()).select_from(table)) == 0
        assert sorted(await blobs.unneeded(conn)) == every


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


async def test_without_permission_to_upgrade_the_command_is_named(empty_url: str) -> None:
    db = Database(empty_url)
    with pytest.raises(ConfigError) as caught:
        await ensure_current(db, upgrade=False)
    assert "kosmos db upgrade" in (caught.value.remedy or "")
    assert await current_revision(db) is None
    await db.close()


async def test_two_first_starts_at_once(empty_url: str) -> None:
    first, second = Database(empty_url), Database(empty_url)
    await asyncio.gather(ensure_current(first, upgrade=True), ensure_current(second, upgrade=True))
    assert await current_revision(first) == HEAD
    await first.close()
    await second.close()
