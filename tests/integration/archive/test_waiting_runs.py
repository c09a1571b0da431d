"""Runs that wait are carried with where they stand, unless they went on while the backup was made."""

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from kosmos.agents.react.checkpoints import Checkpoints
from kosmos.app import open_bench
from kosmos.archive.backup import back_up
from kosmos.archive.manifest import BACKUP
from kosmos.archive.reading import open_archive
from kosmos.archive.restore import check_archive, finish, unpack
from kosmos.archive.waiting import waiting_runs
from kosmos.errors import InvalidInput

from .instances import filled, settings_of

WRONG = b"\x90"  # an empty list, packed: no checkpoint


@pytest.mark.parametrize("goes_on", [False, True])
async def test_only_what_has_waited_all_along_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, goes_on: bool
) -> None:
    async with filled(settings_of(tmp_path / "home")) as app:

        async def pack(_: Checkpoints, run_id: str) -> tuple[str, bytes]:
            if goes_on:
                async with app.bench.db.write() as conn:
                    await conn.execute(sa.text("UPDATE run SET status = 'RUNNING'"))
            return "msgpack", run_id.encode()

        monkeypatch.setattr(Checkpoints, "pack", pack)
        made = await back_up(app.bench, tmp_path / "b.zip")
    assert made.waiting == (not goes_on)


async def test_a_run_that_cannot_be_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def pack(_: Checkpoints, run_id: str) -> tuple[str, bytes]:
        return "msgpack", WRONG

    async with filled(settings_of(tmp_path / "home")) as app:
        monkeypatch.setattr(Checkpoints, "pack", pack)
        await back_up(app.bench, tmp_path / "b.zip")
    with open_archive(tmp_path / "b.zip", BACKUP, trusted=True) as reader:
        await check_archive(reader)

        async def fill(db: Any, blobs: Any) -> None:
            await unpack(reader, db, blobs)

        async with open_bench(settings_of(tmp_path / "other"), fill=fill) as bench:
            async with bench.db.read() as conn:
                assert len(await waiting_runs(conn)) == 1
            with pytest.raises(InvalidInput, match="cannot be read"):
                await finish(bench, reader)
