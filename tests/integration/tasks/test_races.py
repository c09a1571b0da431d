"""Several at once: exactly one wins, nobody loses bytes that somebody refers to."""

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from kosmos.blobs.folder import FolderBlobs
from kosmos.db import Database
from kosmos.errors import Conflict, NotFound
from kosmos.store.local import LocalStore
from kosmos.tasks.adding import Outcome
from kosmos.tasks.documents import read_lines, remove_document, remove_space
from kosmos.tasks.keeping import collect_garbage

from .scene import HookedBlobs, HookedStore, Scene


async def _all(*works: Coroutine[Any, Any, Any]) -> list[Any]:
    return list(await asyncio.gather(*works, return_exceptions=True))


def _outcomes(results: list[Any]) -> list[object]:
    return [type(result) if isinstance(result, BaseException) else result[1] for result in results]


@pytest.fixture
async def scenes(scene: Scene, database_url: str, tmp_path: Path) -> Any:
    """The same instance from three processes, as far as engines can tell."""
    others = [Database(database_url) for _ in range(2)]
    yield [
        scene,
        *(
            scene.using(db=db, blobs=FolderBlobs(tmp_path / "blobs"), store=LocalStore(tmp_path / "index"))
            for db in others
        ),
    ]
    for db in others:
        await db.close()


async def test_the_same_new_file_added_by_many_is_added_once(scenes: list[Scene]) -> None:
    results = await _all(*(scenes[number % 3].add("# Same\n\nwords here") for number in range(9)))
    outcomes = _outcomes(results)
    assert outcomes.count(Outcome.ADDED) == 1
    assert set(outcomes) <= {Outcome.ADDED, Outcome.UNCHANGED, Conflict}
    await scenes[0].check_served("# Same\n\nwords here")
    await scenes[0].check_tidy()


async def test_different_versions_at_once_leave_one_of_them_whole(scenes: list[Scene]) -> None:
    scene = scenes[0]
    document, _ = await scene.add("version zero")
    for step in range(3):
        texts = [f"# Head\n\nversion {step} of writer {number}" for number in range(6)]
        results = await _all(*(scenes[at % 3].add(text) for at, text in enumerate(texts)))
        outcomes = _outcomes(results)
        assert set(outcomes) <= {Outcome.UPDATED, Conflict}
        (current,) = await scene.documents()
        assert current.id == document.id
        assert (
            current.version == current.live_generation == document.version + outcomes.count(Outcome.UPDATED)
        )
        served = [text for text in texts if [text.split("\n\n")[1]] == (await scene.found(text))[:1]]
        assert len(served) == 1
        await scene.check_served(served[0])
        document = current
    await collect_garbage(scene.bench)
    await scene.check_tidy()


@pytest.mark.parametrize("known", [False, True])
async def test_writers_that_pass_the_check_together(scene: Scene, known: bool) -> None:
    """The other one commits inside our transaction, after we looked and before we write."""
    if scene.bench.db.is_sqlite:
        pytest.skip("SQLite has one writer at a time")
    if known:
        await scene.add("old")

    async def overtake() -> None:
        if not known or (await scene.documents())[0].version == 1:
            await scene.add("the other one")

    with pytest.raises(Conflict) as caught:
        await scene.using(blobs=HookedBlobs(scene.bench.blobs, exists=overtake)).add("too late")
    assert caught.value.remedy
    await scene.check_served("the other one")
    await collect_garbage(scene.bench)
    await scene.check_tidy()


async def test_a_document_removed_meanwhile_does_not_come_back(scene: Scene) -> None:
    document, _ = await scene.add("old")

    async def remove() -> None:
        await remove_document(scene.bench, scene.owner, document.id)

    slow = scene.using(store=HookedStore(scene.bench.store, after_upsert=remove))
    with pytest.raises(Conflict):
        await slow.add("new")
    assert await scene.documents() == []
    await collect_garbage(scene.bench)
    await scene.check_tidy()


async def test_a_space_removed_meanwhile_is_a_conflict(scene: Scene) -> None:
    async def remove() -> None:
        await remove_space(scene.bench, scene.owner, scene.space_id)

    slow = scene.using(store=HookedStore(scene.bench.store, after_upsert=remove))
    with pytest.raises(Conflict):
        await slow.add("words")
    await collect_garbage(scene.bench)
    assert await scene.blobs() == set()


async def test_bytes_collected_before_they_are_held_are_noticed(scene: Scene) -> None:
    async def collect() -> None:
        assert await collect_garbage(scene.bench) == 1

    slow = scene.using(store=HookedStore(scene.bench.store, after_upsert=collect))
    with pytest.raises(Conflict) as caught:
        await slow.add("words")
    assert caught.value.remedy == "Add it again."
    await scene.check_tidy()
    await scene.add("words")
    await scene.check_served("words")


async def test_bytes_that_are_held_cannot_be_collected(scene: Scene) -> None:
    """The collector starts while a transaction holds the bytes but has not written its reference yet."""
    collecting: list[asyncio.Task[int]] = []

    async def collect() -> None:
        collecting.append(asyncio.create_task(collect_garbage(scene.bench)))
        await asyncio.sleep(0.05)

    await scene.using(blobs=HookedBlobs(scene.bench.blobs, exists=collect)).add("words")
    assert await asyncio.gather(*collecting) == [0, 0]
    await scene.check_served("words")
    await scene.check_tidy()


async def test_collectors_against_writers_of_the_same_bytes(scenes: list[Scene]) -> None:
    """Bytes are added, removed, shared and collected all at once; no document may ever miss its own."""
    one, two, three = scenes
    for step in range(12):
        text = f"shared words {step % 4}"
        results = await _all(
            one.add(text, "one.md"),
            two.add(text, f"two{step % 3}.md"),
            collect_garbage(three.bench),
            collect_garbage(one.bench),
            _remove_first(three),
            collect_garbage(two.bench),
        )
        for result in results:
            assert not isinstance(result, BaseException) or isinstance(result, Conflict | NotFound)
        for document in await one.documents():
            assert (await read_lines(two.bench, two.owner, document.id)).lines[0].startswith("shared words")
            await one.bench.blobs.read(document.original_sha256)
    await collect_garbage(one.bench)
    await one.check_tidy()


async def _remove_first(scene: Scene) -> None:
    present = await scene.documents()
    if present:
        await remove_document(scene.bench, scene.owner, present[0].id)


async def test_two_collectors_of_the_same_orphans(scenes: list[Scene]) -> None:
    for number in range(20):
        await scenes[0].bench.blobs.put(f"orphan {number}".encode())
    await scenes[0].add("kept")
    removed = await asyncio.gather(*(collect_garbage(each.bench) for each in scenes))
    assert sum(removed) >= 20
    await scenes[0].check_tidy()


async def test_a_reader_is_never_told_of_lost_data_by_a_new_version(scene: Scene) -> None:
    """The old bytes go between looking the document up and reading them."""
    document, _ = await scene.add("old")

    class Slow(HookedBlobs):
        async def read(self, sha256: str) -> bytes:
            if sha256 == document.original_sha256:
                await scene.add("new")
            return await scene.bench.blobs.read(sha256)

    found = await read_lines(scene.using(blobs=Slow(scene.bench.blobs)).bench, scene.owner, document.id)
    assert (found.lines, found.document.version) == (("new",), 2)
