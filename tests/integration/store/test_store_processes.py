"""Stores between processes: what one writes another sees; a killed one leaves a store that can be used."""

import asyncio
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import numpy as np
import pytest

from kosmos.errors import EngineUnavailable
from kosmos.store.contract import Store
from kosmos.store.filters import And
from kosmos.store.milvus import MilvusStore
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


@pytest.mark.parametrize("location", ["local", "postgres"], indirect=True)
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


async def test_milvus_lite_lets_no_second_process_in(tmp_path: Path) -> None:
    store = MilvusStore(str(tmp_path / "index.db"))
    await store.ensure("c")
    assert not store.capabilities().several_processes
    other = """
import asyncio, sys
from kosmos.errors import EngineUnavailable
from kosmos.store.milvus import MilvusStore
try:
    asyncio.run(MilvusStore(sys.argv[1]).collections())
except EngineUnavailable as error:
    print(error.remedy)
"""
    command = [sys.executable, "-c", other, str(tmp_path / "index.db")]
    told = await asyncio.to_thread(subprocess.run, command, check=True, capture_output=True)
    assert b"one process" in told.stdout
    await store.close()


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
