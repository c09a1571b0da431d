"""Brings the tables to the revision that this version of Kosmos needs."""

import asyncio
import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa

from kosmos.db.engine import Database
from kosmos.errors import ConfigError

HEAD = "0009"
_ADVISORY_LOCK = 0x6B6F736D6F73  # "kosmos"


async def current_revision(db: Database) -> str | None:
    """The revision of the tables, or None for an empty database."""
    async with db.read() as conn:
        if not await conn.run_sync(lambda sync: sa.inspect(sync).has_table("alembic_version")):
            return None
        revision: str | None = await conn.scalar(sa.text("SELECT version_num FROM alembic_version"))
        return revision


async def ensure_current(db: Database, *, upgrade: bool) -> None:
    """Check the revision; migrate when allowed to, explain when not."""
    revision = await current_revision(db)
    if revision == HEAD:
        return
    if revision is not None and revision not in known_revisions():
        raise ConfigError(
            f"The database is of revision {revision}, which is newer than this version of Kosmos knows.",
            remedy="Install a newer Kosmos, or restore a backup made before the upgrade.",
        )
    if not upgrade:
        raise ConfigError(
            f"The database is of revision {revision or 'none'}; revision {HEAD} is needed.",
            remedy="Make a backup, then run: kosmos db upgrade",
        )
    await migrate(db, HEAD)


async def migrate(db: Database, revision: str) -> None:
    """Go up or down to a revision ("base" is the empty database)."""
    await asyncio.to_thread(_migrate, db.url, revision)


def known_revisions() -> tuple[str, ...]:
    """All revisions, oldest first."""
    folder = Path(__file__).parent / "migrations" / "versions"
    return tuple(sorted(path.name.split("_")[0] for path in folder.glob("[0-9]*.py")))


def _migrate(url: sa.URL, revision: str) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    sync_url = url.set(drivername=url.drivername.replace("+aiosqlite", ""))
    engine = sa.create_engine(sync_url, poolclass=sa.pool.NullPool)
    if engine.dialect.name == "sqlite":
        sa.event.listen(engine, "connect", lambda raw, _: setattr(raw, "isolation_level", None))
        sa.event.listen(engine, "begin", lambda conn: conn.exec_driver_sql("BEGIN IMMEDIATE"))
    with _one_at_a_time(url), engine.begin() as conn:
        if engine.dialect.name == "postgresql":
            conn.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_LOCK})
        config.attributes["connection"] = conn
        known = known_revisions()
        present = command_present(conn)
        step = command.downgrade if _is_down(present, revision, known) else command.upgrade
        step(config, revision)
    engine.dispose()


def command_present(conn: sa.Connection) -> str | None:
    """The revision as this connection sees it."""
    if not sa.inspect(conn).has_table("alembic_version"):
        return None
    revision: str | None = conn.scalar(sa.text("SELECT version_num FROM alembic_version"))
    return revision


def _is_down(present: str | None, wanted: str, known: tuple[str, ...]) -> bool:
    if present is None:
        return False
    return wanted == "base" or known.index(wanted) < known.index(present)


@contextmanager
def _one_at_a_time(url: sa.URL) -> Iterator[None]:
    """Two processes that start on a new home at once must not both create the tables."""
    if not url.drivername.startswith("sqlite"):
        yield
        return
    with Path(f"{url.database}.migrating").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
