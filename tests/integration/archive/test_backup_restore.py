"""A backup holds everything, is taken under load, and restores on either engine; nothing else is accepted."""

import asyncio
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from kosmos.app import App, open_bench
from kosmos.archive import backup
from kosmos.archive.backup import back_up
from kosmos.archive.holding import held_snapshot, named_blobs
from kosmos.archive.manifest import BACKUP, KEY
from kosmos.archive.reading import open_archive
from kosmos.archive.restore import Restored, check_archive, finish, unpack
from kosmos.archive.secrets import check_secrets, keep_token, read_secrets, write_secrets
from kosmos.archive.tables import different
from kosmos.config import Settings
from kosmos.db import Database, documents
from kosmos.db.migrate import current_revision, ensure_current
from kosmos.errors import Conflict, InvalidInput, KosmosError
from kosmos.tasks.documents import remove_document
from kosmos.tasks.keeping import collect_garbage

from .instances import TEXTS, add, contents, default_space, filled, index_of, opened, settings_of


async def restore(settings: Settings, file: Path) -> Restored:
    """What the command does."""
    with open_archive(file, BACKUP, trusted=True) as reader:
        await check_archive(reader)
        secrets = check_secrets(settings, reader)

        async def fill(db: Any, blobs: Any) -> None:
            await unpack(reader, db, blobs)
            write_secrets(settings, secrets)

        async with open_bench(settings, fill=fill) as bench:
            restored = await finish(bench, reader)
            await keep_token(settings, bench)
            return restored


def _hidden(folder: Path) -> list[Path]:
    return sorted(folder.glob(".*"))


async def _blobs(app: App) -> set[str]:
    return {key async for key in app.bench.blobs.keys()}  # noqa: SIM118 - not a dictionary


@pytest.fixture(params=["sqlite", "postgres"])
def other(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """An empty instance on each engine."""
    if request.param == "sqlite":
        return settings_of(tmp_path / "other")
    url: str = request.getfixturevalue("postgres_url")
    return settings_of(tmp_path / "other", KOSMOS_DATABASE_URL=url, KOSMOS_INDEX_URL=url)


async def test_everything_comes_back(tmp_path: Path, other: Settings) -> None:
    file = tmp_path / "b.zip"
    async with filled(settings_of(tmp_path / "home")) as app:
        made = await back_up(app.bench, file, secrets=read_secrets(app.settings))
        before, blobs = await contents(app), await _blobs(app)
        space = await default_space(app)
        index = await index_of(app, space)
        assert made.rows == sum(content.rows for content in before.values())
        assert (made.blobs, made.missing) == (len(blobs), ())
    assert (file.stat().st_mode & 0o777, _hidden(tmp_path)) == (0o600, [])
    restored = await restore(other, file)
    assert restored.verified.faults == ()
    assert (restored.verified.verified, restored.verified.documents) == (len(TEXTS), len(TEXTS))
    assert restored.index.vectors > 0
    assert (restored.verified.citations, restored.verified.gone) == (2, 2)
    async with opened(other) as app:
        assert (await app.local_user()).user.is_admin  # the token came along
        assert different(before, await contents(app)) == []
        assert await _blobs(app) == blobs
        assert await index_of(app, space) == index
        async with app.bench.db.read() as conn:
            sealed = await conn.scalar(sa.text("SELECT encrypted_key FROM credential"))
        assert app.box.open(bytes(sealed)) == "sk-secret"


async def test_without_the_key_there_is_a_new_token(tmp_path: Path) -> None:
    file = tmp_path / "b.zip"
    async with filled(settings_of(tmp_path / "home")) as app:
        await back_up(app.bench, file)
    assert KEY not in zipfile.ZipFile(file).namelist()
    await restore(settings_of(tmp_path / "other"), file)
    async with opened(settings_of(tmp_path / "other")) as app:
        assert (await app.local_user()).user.is_admin


async def _environ(engine: str, request: pytest.FixtureRequest) -> dict[str, str]:
    if engine == "sqlite":
        return {}
    db = Database(request.getfixturevalue("postgres_url"))
    await ensure_current(db, upgrade=True)
    await db.close()
    return {"KOSMOS_DATABASE_URL": request.getfixturevalue("postgres_url")}


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
async def test_bytes_that_come_late_are_copied_and_stay_until_they_are(
    tmp_path: Path, engine: str, request: pytest.FixtureRequest
) -> None:
    copied: list[str] = []
    tasks: list[asyncio.Task[None]] = []
    async with opened(settings_of(tmp_path / "home", **await _environ(engine, request))) as app:
        who, space = await app.local_user(), await default_space(app)
        await add(app, TEXTS)
        known = await _blobs(app)

        async def remove_late() -> None:
            async with app.bench.db.read() as conn:
                found = await documents.list_documents(conn, space)
            for document in found:
                await remove_document(app.bench, who, document.id)
            await collect_garbage(app.bench)

        async def copy(sha256: str) -> None:
            if not copied:
                await add(app, {"late.md": "# Late\n\nAdded meanwhile.\n"})
            if len(copied) == len(known):  # all that were known before: from here on nobody may take any
                tasks.append(asyncio.create_task(remove_late()))
                await asyncio.sleep(0.3)
            assert await app.bench.blobs.exists(sha256)
            copied.append(sha256)

        async with held_snapshot(app.bench.db, copy) as conn:
            await asyncio.gather(*tasks)
            assert await _blobs(app) == set()
            named = await named_blobs(conn)
    assert set(named) > known
    assert set(named) <= set(copied)


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
async def test_a_backup_under_load_is_whole(
    tmp_path: Path, engine: str, request: pytest.FixtureRequest
) -> None:
    environ = await _environ(engine, request)
    stop, moved = asyncio.Event(), asyncio.Event()
    rounds = 0
    async with opened(settings_of(tmp_path / "home", **environ)) as app:
        who = await app.local_user()
        await add(app, TEXTS)

        async def churn() -> None:
            nonlocal rounds
            while not stop.is_set():
                await add(app, {f"{rounds % 3}.md": f"# {rounds}\n\nText of round {rounds}.\n"})
                async with app.bench.db.read() as conn:
                    found = await documents.list_documents(conn, await default_space(app))
                victims = [document for document in found if document.source == f"{(rounds + 1) % 3}.md"]
                for document in victims:
                    await remove_document(app.bench, who, document.id)
                await collect_garbage(app.bench)
                rounds += 1
                moved.set()

        load = asyncio.create_task(churn())
        made = []
        for number in range(4):
            moved.clear()
            await moved.wait()
            made.append(await back_up(app.bench, tmp_path / f"{number}.zip"))
        stop.set()
        await load
    assert rounds > 3
    for number, one in enumerate(made):
        assert one.missing == ()
        restored = await restore(settings_of(tmp_path / f"r{number}"), Path(one.file))
        assert restored.verified.faults == ()
        assert restored.verified.documents >= len(TEXTS)


async def test_bytes_that_go_during_a_backup_are_in_it(tmp_path: Path) -> None:
    """The document is removed, and its bytes collected, as soon as the rows are about to be read."""
    file = tmp_path / "b.zip"
    async with opened(settings_of(tmp_path / "home")) as app:
        await add(app, TEXTS)
        who = await app.local_user()
        packed = backup._pack_tables

        async def late(*arguments: Any) -> Any:
            async with app.bench.db.read() as conn:
                found = await documents.list_documents(conn, await default_space(app))
            for document in found:
                await remove_document(app.bench, who, document.id)
            await collect_garbage(app.bench)
            assert await _blobs(app) == set()
            return await packed(*arguments)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(backup, "_pack_tables", late)
            await back_up(app.bench, file)
    restored = await restore(settings_of(tmp_path / "other"), file)
    assert (restored.verified.verified, restored.verified.faults) == (len(TEXTS), ())


async def test_what_is_not_empty_is_refused_and_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "b.zip"
    async with opened(settings_of(tmp_path / "home")) as app:
        await back_up(app.bench, file)
        before = await contents(app)
    with pytest.raises(Conflict, match="not empty"):
        await restore(settings_of(tmp_path / "home"), file)
    async with opened(settings_of(tmp_path / "home")) as app:
        assert await contents(app) == before
    with pytest.raises(Conflict, match="there already"):
        async with opened(settings_of(tmp_path / "home")) as app:
            await back_up(app.bench, file)


async def test_another_key_is_refused(tmp_path: Path) -> None:
    file, other = tmp_path / "b.zip", settings_of(tmp_path / "other")
    async with opened(settings_of(tmp_path / "home")) as app:
        await back_up(app.bench, file, secrets=read_secrets(app.settings))
    other.home.mkdir()
    other.key_file.write_text("another")
    with pytest.raises(Conflict, match="another"):
        await restore(other, file)
    assert not (other.home / "kosmos.db").exists()


def _rewrite(file: Path, name: str, change: Any) -> None:
    with zipfile.ZipFile(file) as archive:
        parts = {info.filename: archive.read(info) for info in archive.infolist()}
    parts[name] = change(parts[name])
    with zipfile.ZipFile(file, "w") as archive:
        for each, data in parts.items():
            archive.writestr(each, data)


async def test_whatever_was_changed_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    whole, other = tmp_path / "b.zip", settings_of(tmp_path / "other")
    async with opened(settings_of(tmp_path / "home")) as app:
        await add(app, TEXTS)
        await back_up(app.bench, whole)
    names = zipfile.ZipFile(whole).namelist()
    for name in names:
        broken = tmp_path / "broken.zip"
        broken.write_bytes(whole.read_bytes())
        _rewrite(broken, name, lambda data: bytes([data[0] ^ 1]) + data[1:] if data else b"x")
        with pytest.raises(InvalidInput):
            await restore(other, broken)
    for length in range(0, whole.stat().st_size, whole.stat().st_size // 20):
        broken.write_bytes(whole.read_bytes()[:length])
        with pytest.raises(InvalidInput):
            await restore(other, broken)
    assert not other.home.exists()


async def test_a_newer_revision_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "b.zip"
    async with opened(settings_of(tmp_path / "home")) as app:
        await back_up(app.bench, file)
    _rewrite(
        file, "manifest.json", lambda data: json.dumps({**json.loads(data), "revision": "9999"}).encode()
    )
    with pytest.raises(InvalidInput, match="9999"):
        await restore(settings_of(tmp_path / "other"), file)


async def test_an_older_revision_is_upgraded(tmp_path: Path) -> None:
    """A backup of the revision before approvals lacks their table."""
    file = tmp_path / "b.zip"
    async with opened(settings_of(tmp_path / "home")) as app:
        await add(app, TEXTS)
        await back_up(app.bench, file)

    def older(data: bytes) -> bytes:
        body = json.loads(data)
        del body["tables"]["approval"], body["parts"]["tables/approval.jsonl"]
        return json.dumps({**body, "revision": "0008"}).encode()

    with zipfile.ZipFile(file) as archive:
        parts = {info.filename: archive.read(info) for info in archive.infolist()}
    del parts["tables/approval.jsonl"]
    parts["manifest.json"] = older(parts["manifest.json"])
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    restored = await restore(settings_of(tmp_path / "other"), file)
    assert (restored.verified.verified, restored.verified.faults) == (len(TEXTS), ())
    async with opened(settings_of(tmp_path / "other")) as app:
        assert await current_revision(app.bench.db) == "0009"


KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from kosmos.app import open_app
from kosmos.archive.backup import back_up
from kosmos.config import load_settings

async def main():
    left = int(sys.argv[2])
    def step(*_):
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
    async with open_app(load_settings()) as app:
        await back_up(app.bench, Path(sys.argv[1]), step=step)

asyncio.run(main())
"""


@pytest.mark.parametrize("steps", [1, 5, 20, 30])
async def test_a_killed_backup_leaves_nothing_that_is_accepted(tmp_path: Path, steps: int) -> None:
    settings = settings_of(tmp_path / "home")
    async with opened(settings) as app:
        await add(app, TEXTS)
    environ = {**os.environ, "KOSMOS_HOME": str(settings.home), "KOSMOS_ENCODER": "none"}
    command = [sys.executable, "-c", KILLED, str(tmp_path / "b.zip"), str(steps)]
    done = await asyncio.to_thread(subprocess.run, command, env=environ, check=False)
    assert done.returncode == -9
    assert not (tmp_path / "b.zip").exists()
    for left in _hidden(tmp_path):
        with pytest.raises(InvalidInput):
            await restore(settings_of(tmp_path / "other"), left)
    async with opened(settings) as app:  # and the next one works
        await back_up(app.bench, tmp_path / "b.zip")


async def test_a_cancelled_backup_leaves_no_file(tmp_path: Path) -> None:
    async with opened(settings_of(tmp_path / "home")) as app:
        await add(app, TEXTS)

        def step(*_: Any) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            await back_up(app.bench, tmp_path / "b.zip", step=step)
    assert _hidden(tmp_path) == []
    assert not (tmp_path / "b.zip").exists()


async def test_lost_bytes_are_named(tmp_path: Path) -> None:
    async with opened(settings_of(tmp_path / "home")) as app:
        await add(app, TEXTS)
        lost = min(await _blobs(app))
        await app.bench.blobs.remove(lost)
        made = await back_up(app.bench, tmp_path / "b.zip")
    assert made.missing == (lost,)
    restored = await restore(settings_of(tmp_path / "other"), tmp_path / "b.zip")
    assert restored.verified.documents == len(TEXTS)


def test_errors_have_remedies(tmp_path: Path) -> None:
    with pytest.raises(KosmosError) as caught, open_archive(tmp_path / "nothing.zip", BACKUP):
        pass
    assert caught.value.remedy
