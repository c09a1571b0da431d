"""Several connections of one process to one SQLite file keep their locks whatever else is opened beside."""

import asyncio
import subprocess
import sys
from pathlib import Path

import sqlalchemy as sa

from kosmos.db import Database

_OPEN_AND_CLOSE = """
import sqlite3, sys
conn = sqlite3.connect(sys.argv[1])
conn.execute("SELECT count(*) FROM sqlite_master").fetchall()
conn.close()
"""


async def test_a_second_database_of_the_process_takes_no_locks_away(tmp_path: Path) -> None:
    path = tmp_path / "kosmos.db"
    first = Database(f"sqlite:///{path}")
    async with first.write() as conn:
        await conn.execute(sa.text("CREATE TABLE kept (number INTEGER)"))
    second = Database(f"sqlite:///{path}")
    # Whoever closes last removes the journal: another process must see that it is not the last.
    command = [sys.executable, "-c", _OPEN_AND_CLOSE, str(path)]
    await asyncio.to_thread(subprocess.run, command, check=True)
    assert path.with_name("kosmos.db-wal").exists()
    for database in (first, second):
        async with database.write() as conn:
            await conn.execute(sa.text("INSERT INTO kept VALUES (1)"))
    async with first.read() as conn:
        assert await conn.scalar(sa.text("SELECT count(*) FROM kept")) == 2
    await first.close()
    await second.close()
