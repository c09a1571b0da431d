"""What every blob store promises, on a folder and on a real S3 server."""

import asyncio
import hashlib
import os
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest
from moto.server import ThreadedMotoServer

from kosmos.blobs import Blobs, open_blobs
from kosmos.errors import DataLost, InvalidInput

ABSENT = hashlib.sha256(b"never stored").hexdigest()
# The server only looks whether a request is signed at all.
SIGNED = {"Authorization": "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/s3/aws4_request"}
LARGE = 20 * 1024 * 1024

# Memory is measured in a process of its own, because the S3 server lives in this one.
MEASURED = """
import asyncio, sys, tracemalloc
from pathlib import Path
from kosmos.blobs import open_blobs

async def main() -> None:
    blobs = open_blobs(sys.argv[1], access_key="a", secret_key="b")
    await blobs.put(b"warm up")
    tracemalloc.start()
    key = await blobs.put_file(Path(sys.argv[2]))
    size = 0
    async for chunk in blobs.stream(key):
        size += len(chunk)
    print(key, size, tracemalloc.get_traced_memory()[1])
    await blobs.close()

asyncio.run(main())
"""


@dataclass(frozen=True)
class Store:
    """A store under test, and a way past it to the bytes it keeps."""

    blobs: Blobs
    url: str
    write: Callable[[str, bytes], None]  # name below the root or prefix


@pytest.fixture(scope="module")
def s3_endpoint() -> Iterator[str]:
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


def _s3(endpoint: str) -> tuple[str, Callable[[str, bytes], None]]:
    bucket = f"bucket-{uuid.uuid4().hex}"
    httpx2.put(f"{endpoint}/{bucket}", trust_env=False).raise_for_status()

    def write(name: str, data: bytes) -> None:
        flat = name.replace("/", "") if len(name) == 65 else name
        address = f"{endpoint}/{bucket}/some prefix/{flat}"
        httpx2.put(address, content=data, headers=SIGNED, trust_env=False).raise_for_status()

    return f"s3://{bucket}/some prefix?endpoint={endpoint}", write


def _folder(root: Path) -> tuple[str, Callable[[str, bytes], None]]:
    def write(name: str, data: bytes) -> None:
        (root / name).parent.mkdir(exist_ok=True, parents=True)
        (root / name).write_bytes(data)

    return f"file://{root}", write


@pytest.fixture(params=["folder", "s3"])
async def store(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Store]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    if request.param == "s3":
        url, write = _s3(request.getfixturevalue("s3_endpoint"))
    else:
        url, write = _folder(tmp_path / "blobs")
    blobs = open_blobs(url, access_key="a", secret_key="b")
    yield Store(blobs, url, write)
    await blobs.close()


async def _keys(blobs: Blobs) -> list[str]:
    return [key async for key in blobs.keys()]  # noqa: SIM118 - not a dictionary


def _spread(key: str) -> str:
    return f"{key[:2]}/{key[2:]}"


@pytest.mark.parametrize("data", [b"", b"\0", "知识".encode(), bytes(range(256)) * 4099], ids=len)
async def test_what_is_put_can_be_read(store: Store, data: bytes, tmp_path: Path) -> None:
    key = await store.blobs.put(data)
    assert key == hashlib.sha256(data).hexdigest()
    assert await store.blobs.read(key) == data
    assert b"".join([chunk async for chunk in store.blobs.stream(key)]) == data
    assert await store.blobs.exists(key)
    (tmp_path / "source").write_bytes(data)
    assert await store.blobs.put_file(tmp_path / "source") == key
    assert await _keys(store.blobs) == [key]
    (tmp_path / "source").write_bytes(data + b"!")
    assert await store.blobs.read(await store.blobs.put_file(tmp_path / "source")) == data + b"!"


async def test_large_files_pass_through_little_memory(store: Store, tmp_path: Path) -> None:
    source = tmp_path / "large"
    source.write_bytes(os.urandom(LARGE))
    command = [sys.executable, "-c", MEASURED, store.url, str(source)]
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    key, size, peak = done.stdout.split()
    assert int(size) == LARGE
    assert int(peak) < 6 * 1024 * 1024
    assert await store.blobs.exists(key)


async def test_putting_again_changes_nothing(store: Store) -> None:
    first = await store.blobs.put(b"same")
    assert await store.blobs.put(b"same") == first
    assert await _keys(store.blobs) == [first]


async def test_many_put_the_same_at_once(store: Store) -> None:
    data = os.urandom(300_000)
    keys = await asyncio.gather(*(store.blobs.put(data) for _ in range(16)))
    assert set(keys) == set(await _keys(store.blobs)) == {hashlib.sha256(data).hexdigest()}
    assert await store.blobs.read(keys[0]) == data


async def test_damage_is_found(store: Store) -> None:
    data = os.urandom(1_000_000)
    key = await store.blobs.put(data)
    store.write(_spread(key), data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(DataLost) as caught:
        await store.blobs.read(key)
    assert "damaged" in caught.value.message
    assert caught.value.remedy
    received = b""
    with pytest.raises(DataLost):
        async for chunk in store.blobs.stream(key):
            received += chunk
    assert len(received) < len(data)


@pytest.mark.parametrize("rest", [b"", b"cut of", b"cut off and more"])
async def test_putting_again_heals_what_was_cut(store: Store, rest: bytes) -> None:
    key = await store.blobs.put(b"cut off")
    store.write(_spread(key), rest)
    with pytest.raises(DataLost):
        await store.blobs.read(key)
    await store.blobs.put(b"cut off")
    assert await store.blobs.read(key) == b"cut off"


async def test_what_is_missing(store: Store) -> None:
    assert not await store.blobs.exists(ABSENT)
    assert await _keys(store.blobs) == []
    with pytest.raises(DataLost) as caught:
        await store.blobs.read(ABSENT)
    assert "missing" in caught.value.message
    assert caught.value.remedy
    with pytest.raises(DataLost):
        await anext(aiter(store.blobs.stream(ABSENT)))


@pytest.mark.parametrize(
    "key",
    [
        *("", "..", "../../etc/passwd", "/etc/passwd", "../" + "a" * 61, "ab/" + "c" * 61, "a" * 63 + "/"),
        *("A" * 64, "g" * 64, "a" * 63, "a" * 65, "a" * 64 + "\n", "a" * 63 + "\0", "٣" * 64),
    ],
)
async def test_malformed_keys_go_nowhere(store: Store, key: str) -> None:
    with pytest.raises(InvalidInput):
        await store.blobs.read(key)
    with pytest.raises(InvalidInput):
        store.blobs.stream(key)
    with pytest.raises(InvalidInput):
        await store.blobs.exists(key)
    with pytest.raises(InvalidInput) as caught:
        await store.blobs.remove(key)
    assert caught.value.remedy


async def test_remove(store: Store) -> None:
    gone, kept = await store.blobs.put(b"gone"), await store.blobs.put(b"kept")
    await store.blobs.remove(gone)
    await store.blobs.remove(gone)
    await store.blobs.remove(ABSENT)
    assert not await store.blobs.exists(gone)
    assert await _keys(store.blobs) == [kept]


async def test_check_and_foreign_things_leave_no_keys(store: Store) -> None:
    await store.blobs.check()
    for name in ("README", "ab/readme", "zz/" + "a" * 62, "x" + "a" * 63, "deeper/" + "a" * 64):
        store.write(name, b"not ours")
    key = await store.blobs.put(b"ours")
    await store.blobs.check()
    assert await _keys(store.blobs) == [key]


async def test_sources_that_cannot_be_read(store: Store, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "absent", tmp_path, tmp_path / "pipe"):
        with pytest.raises(InvalidInput) as caught:
            await store.blobs.put_file(path)
        assert caught.value.remedy
    assert await _keys(store.blobs) == []


async def test_a_stream_may_be_left_early(store: Store) -> None:
    data = os.urandom(2_000_000)
    key = await store.blobs.put(data)
    async for chunk in store.blobs.stream(key):
        assert data.startswith(chunk)
        break
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await store.blobs.read(key)
    assert await store.blobs.read(key) == data
