"""What only a folder can suffer: crashes, full disks, wrong places, old leftovers."""

import asyncio
import errno
import hashlib
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.blobs.folder import FolderBlobs
from kosmos.errors import ConfigError, DataLost, EngineUnavailable, KosmosError

DATA = b"content " * 50_000
KEY = hashlib.sha256(DATA).hexdigest()

# Stops for ever at the moment when everything is written and nothing yet has its name.
STUCK = """
import asyncio, os, sys, time
from pathlib import Path
from kosmos.blobs.folder import FolderBlobs

def stuck(*_: object) -> None:
    print("stuck", flush=True)
    time.sleep(60)

os.link = stuck
asyncio.run(FolderBlobs(Path(sys.argv[1])).put(b"content " * 50_000))
"""


def _files(root: Path) -> list[Path]:
    return [path for path in root.rglob("*") if path.is_file()]


def _failing(code: int) -> object:
    def fail(*_: object, **__: object) -> NoReturn:
        raise OSError(code, os.strerror(code))

    return fail


async def _keys(blobs: FolderBlobs) -> list[str]:
    return [key async for key in blobs.keys()]  # noqa: SIM118 - not a dictionary


def _killed_put(root: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", STUCK, str(root)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"stuck\n"
        process.send_signal(signal.SIGKILL)


async def test_a_killed_put_leaves_nothing_visible(tmp_path: Path) -> None:
    blobs = FolderBlobs(tmp_path)
    await asyncio.to_thread(_killed_put, tmp_path)
    assert await _keys(blobs) == []
    assert not await blobs.exists(KEY)
    with pytest.raises(DataLost):
        await blobs.read(KEY)
    (leftover,) = _files(tmp_path)
    await blobs.check()
    assert leftover.exists(), "it could still be in use"
    assert await blobs.put(DATA) == KEY
    old = time.time() - 25 * 60 * 60
    os.utime(leftover, (old, old))
    assert await blobs.sweep() == 1
    assert await blobs.sweep() == 0
    assert _files(tmp_path) == [tmp_path / KEY[:2] / KEY[2:]]
    assert await blobs.read(KEY) == DATA


async def test_check_clears_old_leftovers(tmp_path: Path) -> None:
    blobs = FolderBlobs(tmp_path)
    await blobs.check()
    (tmp_path / ".incoming" / "old").write_bytes(b"half")
    os.utime(tmp_path / ".incoming" / "old", (0, 0))
    await blobs.check()
    assert _files(tmp_path) == []


@pytest.mark.parametrize("step", ["fsync", "link", "fdopen"])
@pytest.mark.parametrize(
    ("code", "kind", "word"),
    [
        (errno.ENOSPC, EngineUnavailable, "space"),
        (errno.EDQUOT, EngineUnavailable, "quota"),
        (errno.EIO, EngineUnavailable, "disk"),
        (errno.EROFS, ConfigError, "folder"),
    ],
)
async def test_a_failing_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, code: int, kind: type[KosmosError], word: str
) -> None:
    blobs = FolderBlobs(tmp_path)
    await blobs.check()
    with monkeypatch.context() as patch:
        patch.setattr(os, step, _failing(code))
        with pytest.raises(kind) as caught:
            await blobs.put(DATA)
    assert word in (caught.value.remedy or "")
    assert _files(tmp_path) == []
    assert await blobs.put(DATA) == KEY


async def test_a_source_that_fails_midway_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blobs = FolderBlobs(tmp_path / "blobs")
    (tmp_path / "source").write_bytes(DATA)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", _failing(errno.EIO))
        with pytest.raises(KosmosError, match="source cannot be read"):
            await blobs.put_file(tmp_path / "source")
    assert _files(tmp_path / "blobs") == []


async def test_a_file_in_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "source").write_bytes(DATA)
    for root in (tmp_path / "file", tmp_path / "file" / "below"):
        blobs = FolderBlobs(root)
        for attempt in (
            blobs.check(),
            blobs.put(DATA),
            blobs.put_file(tmp_path / "source"),
            blobs.read(KEY),
            blobs.exists(KEY),
            blobs.remove(KEY),
            _keys(blobs),
        ):
            with pytest.raises(ConfigError) as caught:
                await attempt
            assert str(root) in caught.value.message
            assert caught.value.remedy


async def test_only_the_owner_may_look(tmp_path: Path) -> None:
    root = tmp_path / "deep" / "blobs"
    before = os.umask(0)
    try:
        await FolderBlobs(root).put(DATA)
    finally:
        os.umask(before)
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (root, *root.rglob("*"))}
    assert {mode for path, mode in modes.items() if path.is_dir()} == {0o700}
    assert {mode for path, mode in modes.items() if path.is_file()} == {0o600}


async def test_what_is_stored_is_never_written_again(tmp_path: Path) -> None:
    blobs = FolderBlobs(tmp_path / "blobs")
    (tmp_path / "source").write_bytes(DATA)
    await blobs.put(DATA)
    path = tmp_path / "blobs" / KEY[:2] / KEY[2:]
    before = path.stat()
    await blobs.put(DATA)
    await blobs.put_file(tmp_path / "source")
    after = path.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


async def test_damage_of_equal_size_is_healed_by_putting_again(tmp_path: Path) -> None:
    blobs = FolderBlobs(tmp_path)
    await blobs.put(DATA)
    (tmp_path / KEY[:2] / KEY[2:]).write_bytes(DATA[::-1])
    await blobs.put(DATA)
    assert await blobs.read(KEY) == DATA


async def test_file_systems_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", _failing(errno.EPERM))
    blobs = FolderBlobs(tmp_path)
    assert set(await asyncio.gather(*(blobs.put(DATA) for _ in range(8)))) == {KEY}
    assert await blobs.read(KEY) == DATA
    assert _files(tmp_path) == [tmp_path / KEY[:2] / KEY[2:]]


async def test_a_cancelled_put_leaves_all_or_nothing(tmp_path: Path) -> None:
    blobs = FolderBlobs(tmp_path)
    task = asyncio.create_task(blobs.put(DATA))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    for _ in range(500):  # the thread finishes in its own time
        if await blobs.exists(KEY):
            break
        await asyncio.sleep(0.01)
    assert await blobs.read(KEY) == DATA


@settings(max_examples=60, deadline=None)
@given(contents=st.lists(st.binary(max_size=2000), max_size=5))
def test_any_content_comes_back(contents: list[bytes]) -> None:
    async def scenario(root: Path) -> None:
        blobs = FolderBlobs(root)
        keys = [await blobs.put(data) for data in contents]
        assert [await blobs.read(key) for key in keys] == contents
        assert await _keys(blobs) == sorted(set(keys))

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(scenario(Path(folder)))
