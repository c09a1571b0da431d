"""The database that every simulated world starts from: real tables and rules, and a book of what happens."""

import asyncio
import functools
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kosmos.db import Database
from kosmos.db.migrate import ensure_current

# `sim_line` is the work of the simulated handlers; `sim_book` has one row for every change of a job, with
# what else held at that moment. Nothing in `sim_line` is unique: doing a line twice must show.
_BOOK = """
CREATE TABLE sim_line (
    job_id TEXT, line INTEGER, epoch INTEGER, tokens INTEGER, status_then TEXT, epoch_then INTEGER
);
CREATE TABLE sim_book (
    step INTEGER PRIMARY KEY AUTOINCREMENT, writer TEXT, job_id TEXT, type TEXT,
    old_status TEXT, status TEXT, old_epoch INTEGER, epoch INTEGER, old_due TEXT, due TEXT, now TEXT,
    old_worker TEXT, worker TEXT, attempts INTEGER, old_progress TEXT, progress TEXT,
    old_tokens INTEGER, tokens INTEGER, reason TEXT,
    of_type INTEGER, in_lane INTEGER, lane_limit INTEGER, waits INTEGER, blocked INTEGER
);
CREATE TRIGGER sim_note AFTER UPDATE ON job BEGIN
    INSERT INTO sim_book SELECT
        NULL, sim_node(), NEW.id, NEW.type,
        OLD.status, NEW.status, OLD.epoch, NEW.epoch, OLD.due_at, NEW.due_at, NEW.updated_at,
        OLD.worker, NEW.worker, NEW.attempts, OLD.progress, NEW.progress,
        OLD.prompt_tokens, NEW.prompt_tokens, NEW.reason,
        (SELECT count(*) FROM job WHERE status = 'RUNNING' AND type = NEW.type),
        (SELECT count(*) FROM job WHERE status = 'RUNNING' AND lane = NEW.lane),
        NEW.lane_limit,
        (SELECT count(*) FROM job_dependency JOIN job AS first ON first.id = depends_on_id
            WHERE job_id = NEW.id AND first.status IN ('PENDING', 'RUNNING', 'PAUSED')),
        (SELECT count(*) FROM job_dependency JOIN job AS first ON first.id = depends_on_id
            WHERE job_id = NEW.id AND on_failure = 'fail' AND first.status IN ('FAILED', 'CANCELLED'));
END;
"""


@contextmanager
def fresh_database() -> Iterator[Path]:
    """A file with the tables of today, in memory where the system has such a place."""
    with tempfile.TemporaryDirectory(prefix="kosmos-sim-", dir=_fast_place()) as folder:
        path = Path(folder) / "world.db"
        path.write_bytes(_template())
        yield path


def _fast_place() -> str | None:
    memory = Path("/dev/shm")
    return str(memory) if memory.is_dir() and shutil.disk_usage(memory).free > 1 << 28 else None


@functools.cache
def _template() -> bytes:
    with tempfile.TemporaryDirectory(prefix="kosmos-sim-") as folder:
        path = Path(folder) / "template.db"
        asyncio.run(_migrate(path))
        with sqlite3.connect(path) as conn:
            conn.create_function("sim_node", 0, lambda: "")
            conn.executescript(_BOOK)
            conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        conn.close()
        return path.read_bytes()


async def _migrate(path: Path) -> None:
    db = Database(f"sqlite:///{path}")
    await ensure_current(db, upgrade=True)
    await db.close()
