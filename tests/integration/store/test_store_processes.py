"""Stores between processes: what one writes another sees; a killed one leaves a store that can be used."""

import asyncio
import fcntl
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import numpy as np
import pytest

from kosmos.errors import ConfigError, EngineUnavailable
from kosmos.store.contract import Store
from kosmos.store.filters import And
from kosmos.store.milvus import MilvusStore
from kosmos.store.milvus_lite import LiteFile
from kosmos.store.opening import open_store
from kosmos.store.rows import IndexRow

# Writes rows one by one, each with a vector, and says so after each.
WRITER = """
import asyncio, sys
import numpy as np
from kosmos.store.opening import open_store
from kosmos.store.rows import IndexRow

async def main() -> None:
    store = open_store(sys.argv[1])
    name, count = sys.argv[2], int(sys.argv[3])
    await store.ensure(name, {"vector": 4})
    for at in range(count):
        vector = np.full(4, 0.5, np.float32)
        row = IndexRow(f"{at:05}", {"text": "词" * 50}, {"sparse_vector": {7: 1.0}}, {"vector": vector})
        await store.upsert(name, [row])
        print(at, flush=True)
    await store.close()

asyncio.run(main())
"""
ONES = np.full(4, 0.5, np.float32)


def _start(location: str, collection: str, count: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", WRITER, location, collection, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


def _kill_after(location: str, collection: str, rows: int) -> None:
    with _start(location, collection, 100_000) as process:
        assert process.stdout is not None
        for at in range(rows):
            assert process.stdout.readline() == f"{at}\n".encode()
        process.send_signal(signal.SIGKILL)


async def _check(store: Store, collection: str, least: int) -> int:
    """All rows are whole, whatever way they are looked at."""
    rows = await store.scan(collection, limit=10_000)
    assert [row.pk for row in rows] == [f"{at:05}" for at in range(len(rows))]
    assert len(rows) >= least
    assert all(np.array_equal(row.dense["vector"], ONES) for row in rows)
    for route, query in (("vector", ONES), ("sparse_vector", {7: 1.0})):
        hits = await store.search(collection, route, query, k=10_000)
        assert [(hit.pk, hit.score) for hit in hits] == [(row.pk, 1.0) for row in rows]
    return len(rows)


@pytest.fixture(params=["local", "milvus", "postgres"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        url: str = request.getfixturevalue("postgres_server")
        return url
    return str(tmp_path / "index") if request.param == "local" else f"milvus://{tmp_path}/index.db"


async def test_a_killed_writer_leaves_whole_rows(location: str) -> None:
    collection = f"killed_{uuid.uuid4().hex}"
    await asyncio.to_thread(_kill_after, location, collection, 5)
    store = open_store(location)
    count = await _check(store, collection, 5)
    await store.upsert(
        collection, [IndexRow(f"{count:05}", {}, {"sparse_vector": {7: 1.0}}, {"vector": ONES})]
    )
    assert await _check(store, collection, count + 1) == count + 1
    await store.close()


async def test_a_second_process_is_seen(location: str) -> None:
    collection = f"second_{uuid.uuid4().hex}"
    store = open_store(location)
    await store.ensure(collection, {"vector": 4})
    assert await store.search(collection, "vector", ONES, k=9) == []
    with await asyncio.to_thread(_start, location, collection, 3) as process:
        await asyncio.to_thread(process.wait)
    assert await _check(store, collection, 3) == 3
    assert await store.delete(collection, And(())) == 3
    await store.close()


async def test_when_the_host_of_milvus_lite_is_killed_another_takes_its_place(tmp_path: Path) -> None:
    """What this process has asked meanwhile goes on there."""
    location = f"milvus://{tmp_path}/index.db"
    with _start(location, "hosted", 100_000) as host:
        assert host.stdout is not None
        for at in range(3):
            assert host.stdout.readline() == f"{at}\n".encode()
        store = open_store(location)
        assert await store.count("hosted") >= 3
        host.send_signal(signal.SIGKILL)
        await asyncio.to_thread(host.wait)
    count = await _check(store, "hosted", 3)
    await store.upsert("hosted", [IndexRow(f"{count:05}", {}, {"sparse_vector": {7: 1.0}}, {"vector": ONES})])
    with _start(location, "another", 2) as guest:
        assert await asyncio.to_thread(guest.wait) == 0
    assert await _check(store, "hosted", count + 1) == count + 1
    assert await _check(store, "another", 2) == 2
    await store.close()


async def test_two_stores_on_one_file_see_each_others_routes(tmp_path: Path) -> None:
    """As a server and its worker do: one may have looked before the other gave a collection its vectors."""
    stores = [MilvusStore(str(tmp_path / "index.db")) for _ in range(2)]
    rows = [IndexRow(f"{at:05}", {}, {"sparse_vector": {7: 1.0}}) for at in range(30)]
    await stores[0].upsert("c", rows)
    assert len(await stores[1].search("c", "sparse_vector", {7: 1.0}, k=5)) == 5
    later = [IndexRow(f"{at:05}", {}, {"sparse_vector": {7: 1.0}}) for at in range(30, 60)]
    await asyncio.gather(
        stores[0].ensure("c", {"vector": 4}), *(stores[1].upsert("c", [row]) for row in later)
    )
    assert await stores[1].fill("c", {row.pk: {"vector": ONES} for row in [*rows, *later]}) == 60
    for store in stores:
        assert len(await store.search("c", "vector", ONES, k=100)) == 60
        assert (await store.stats("c")).filled == {"vector": 60}
        await store.close()


async def test_a_file_that_a_stranger_holds_is_named_with_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kosmos.store.milvus_lite.PATIENCE_SECONDS", 0.2)
    (tmp_path / "index.db").mkdir()
    with (tmp_path / "index.db" / "LOCK").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        store = MilvusStore(str(tmp_path / "index.db"))
        with pytest.raises(EngineUnavailable) as caught:
            await store.collections()
    assert "lets no other in" in caught.value.message
    assert caught.value.remedy
    assert await store.collections() == []
    await store.close()


def test_a_long_path_has_its_socket_in_a_private_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = tmp_path / "s"
    short.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(short))
    file = LiteFile(tmp_path / ("long" * 30) / "index.db")
    folder = next(short.iterdir())
    assert file.address.startswith(f"unix:{folder}/")
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o755)
    with pytest.raises(ConfigError, match="private"):
        LiteFile(tmp_path / ("long" * 30) / "index.db")


@pytest.mark.parametrize(
    "place",
    ["postgresql://nobody@127.0.0.1:1/none", "milvus://127.0.0.1:1", "/dev/null/index", "file:///proc/index"],
)
async def test_a_store_that_is_down_is_named_with_a_remedy(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kosmos.store.milvus_connection.SECONDS", 1.0)
    store = open_store(place)
    for attempt in (
        store.ensure("c"),
        store.upsert("c", [IndexRow("a", {})]),
    ):
        with pytest.raises(EngineUnavailable) as caught:
            await attempt
        assert caught.value.retryable
        assert caught.value.remedy
    await store.close()
