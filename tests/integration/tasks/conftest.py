"""The scene of every test of the tasks: real tables, real files, a real index."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kosmos.accounts.people import make_first_user
from kosmos.accounts.spaces import list_spaces
from kosmos.accounts.tokens import authenticate
from kosmos.blobs.folder import FolderBlobs
from kosmos.db import Database
from kosmos.doubles.clock import FixedClock
from kosmos.store.local import LocalStore
from kosmos.tasks.workbench import Workbench

from .scene import Scene


@pytest.fixture
async def bench(db: Database, tmp_path: Path) -> AsyncIterator[Workbench]:
    """Engines in an empty folder."""
    made = Workbench(
        db=db, blobs=FolderBlobs(tmp_path / "blobs"), store=LocalStore(tmp_path / "index"), clock=FixedClock()
    )
    yield made
    await made.runs.close()
    await made.checkpoints.close()
    await made.converter.close()
    await made.fetcher.close()


@pytest.fixture
async def scene(bench: Workbench) -> Scene:
    """An instance at its first start."""
    async with bench.db.write() as conn:
        token = await make_first_user(conn, name="ada", now=bench.clock())
        assert token is not None
        owner = await authenticate(conn, token, bench.clock())
        (view,) = await list_spaces(conn, owner)
    return Scene(bench, owner, view.space.id)
