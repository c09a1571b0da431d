"""Every revision upgrades to the newest one: no row is lost, and the tables are those that are declared."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

import kosmos.db.tables_agents  # noqa: F401 - it declares more tables
from kosmos.db import Database
from kosmos.db.migrate import HEAD, current_revision, ensure_current, known_revisions, migrate
from kosmos.db.tables import metadata
from kosmos.db.types import UtcDateTime

NOW = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
SHA = "a" * 64
# Where a column allows only some words, or means another row.
WORDS = {
    "role": "owner",
    "workflow": "loop",
    "on_failure": "fail",
    "analysis_status": "DONE",
    "scope": "admin",
    "parent_id": None,
    "due_at": None,
    "layer": None,
}
OF_TABLE = {
    ("credential", "type"): "LLM",
    ("chunk", "type"): "content",
    ("chat_message", "type"): "USER",
    ("chat_message", "role"): "user",
    ("job", "status"): "COMPLETED",
    ("job_event", "status"): "COMPLETED",
    ("document", "status"): "READY",
    ("run", "status"): "COMPLETED",
    ("approval", "status"): "PENDING",
    ("chunk", "redaction"): {"redactions": []},
}
KINDS: tuple[tuple[Any, Any], ...] = (
    (UtcDateTime, NOW),
    (sa.JSON, {"键": [1, "二", None]}),
    (sa.LargeBinary, b"\x00\xff"),
    (sa.Boolean, True),
    (sa.Integer, 1),
    (sa.Float, 0.5),
    (sa.String, "x1"),
)
Rows = dict[str, list[dict[str, Any]]]


def _value(table: str, column: sa.Column[Any]) -> Any:
    """A value that the column takes; every row has the same id, so that references are right."""
    if (table, column.name) in OF_TABLE:
        return OF_TABLE[table, column.name]
    if column.name in WORDS:
        return WORDS[column.name]
    if column.name.endswith("sha256"):
        return SHA
    return next(value for kind, value in KINDS if isinstance(column.type, kind))


async def _present(db: Database) -> dict[str, set[str]]:
    """The columns of each table as they are now."""

    def look(conn: sa.Connection) -> dict[str, set[str]]:
        seen = sa.inspect(conn)
        return {name: {item["name"] for item in seen.get_columns(name)} for name in seen.get_table_names()}

    async with db.read() as conn:
        return await conn.run_sync(look)


async def _fill(db: Database) -> None:
    """A row in every table that there is."""
    present = await _present(db)
    async with db.write() as conn:
        for table in metadata.sorted_tables:
            if table.name not in present:
                continue
            columns = [column for column in table.c if column.name in present[table.name]]
            target = sa.table(table.name, *(sa.column(column.name, column.type) for column in columns))
            await conn.execute(sa.delete(target))  # triggers write events of jobs
            values = {column.name: _value(table.name, column) for column in columns}
            await conn.execute(sa.insert(target), [values])


async def _rows(db: Database, only: dict[str, set[str]]) -> Rows:
    """All rows of some tables and columns."""
    found: Rows = {}
    async with db.read() as conn:
        for table in metadata.sorted_tables:
            names = [column for column in table.c if column.name in only.get(table.name, set())]
            if names:
                rows = await conn.execute(sa.select(*names))
                found[table.name] = [dict(row._mapping) for row in rows]
    return found


def _difference(conn: sa.Connection) -> list[object]:
    # Alembic cannot read an index with a descending column back from SQLite.
    known = {"include_object": lambda _object, name, *_rest: name != "ix_job_due"}
    context = MigrationContext.configure(conn, opts={"compare_type": True, **known})
    return list(compare_metadata(context, metadata))


async def _upgrade(url: str, revision: str) -> None:
    db = Database(url)
    await migrate(db, revision)
    await _fill(db)
    columns = await _present(db)
    before = await _rows(db, columns)
    assert before
    assert all(len(rows) == 1 for rows in before.values())
    await ensure_current(db, upgrade=True)
    assert await current_revision(db) == HEAD
    after = await _rows(db, columns)
    assert after == before
    async with db.read() as conn:
        assert await conn.run_sync(_difference) == []
        if db.is_sqlite:
            assert (await conn.execute(sa.text("PRAGMA foreign_key_check"))).all() == []
    await db.close()


@pytest.mark.parametrize("revision", known_revisions())
async def test_sqlite_upgrades_from(tmp_path: Path, revision: str) -> None:
    await _upgrade(f"sqlite:///{tmp_path}/kosmos.db", revision)


@pytest.mark.parametrize("revision", ["0001", "0003", "0006", known_revisions()[-2]])
async def test_postgresql_upgrades_from(postgres_url: str, revision: str) -> None:
    await _upgrade(postgres_url, revision)


def test_the_newest_revision_is_the_last_one() -> None:
    assert known_revisions()[-1] == HEAD
    assert known_revisions()[0] == "0001"
