"""Several at once: exactly one wins, nobody loses bytes that somebody refers to."""

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.blobs.folder import FolderBlobs
from kosmos.db import Database, documents
from kosmos.db import jobs as job_table
from kosmos.domain.documents import DocumentStatus
from kosmos.domain.jobs import Job, JobStatus
from kosmos.errors import Conflict, NotFound
from kosmos.store.local import LocalStore
from kosmos.tasks.adding import Outcome
from kosmos.tasks.documents import read_lines, remove_document, remove_space
from kosmos.tasks.keeping import collect_garbage

from .pictures import shown, with_pictures
from .scene import Hook, HookedBlobs, HookedStore, Scene


async def _all(*works: Coroutine[Any, Any, Any]) -> list[Any]:
    return list(await asyncio.gather(*works, return_exceptions=True))


def _outcomes(results: list[Any]) -> list[object]:
    return [type(result) if isinstance(result, BaseException) else result.outcome for result in results]


def _once(act: Hook) -> Hook:
    """A hook that acts at the first call only."""
    done: list[bool] = []

    async def hook() -> None:
        if not done:
            done.append(True)
            await act()

    return hook


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
    results = await _all(*(scenes[number % 3].enter("# Same\n\nwords here") for number in range(9)))
    outcomes = _outcomes(results)
    assert outcomes.count(Outcome.ADDED) == 1
    assert set(outcomes) <= {Outcome.ADDED, Outcome.UNCHANGED, Conflict}
    await _all(*(scene.work() for scene in scenes))
    (document,) = await scenes[0].documents()
    jobs = await scenes[0].jobs(document.id)
    assert [job.status for job in jobs] == [JobStatus.COMPLETED] * 3
    for result in results:
        assert isinstance(result, Conflict) or [job.id for job in result.jobs] == [job.id for job in jobs]
    await scenes[0].check_served("# Same\n\nwords here")
    await scenes[0].check_tidy()


async def test_different_versions_at_once_leave_one_of_them_whole(scenes: list[Scene]) -> None:
    scene = scenes[0]
    document, _ = await scene.add("version zero")
    for step in range(3):
        texts = [f"# Head\n\nversion {step} of writer {number}" for number in range(6)]
        adding = [scenes[at % 3].enter(text) for at, text in enumerate(texts)]
        results = await _all(*adding, *(each.work() for each in scenes))
        outcomes = _outcomes(results[: len(texts)])
        assert set(outcomes) <= {Outcome.UPDATED, Conflict}
        assert results[len(texts) :] == [None] * 3
        await scene.work()
        (current,) = await scene.documents()
        assert current.id == document.id
        assert 1 <= current.version - document.version <= outcomes.count(Outcome.UPDATED)
        served = [text for text in texts if [text.split("\n\n")[1]] == (await scene.found(text))[:1]]
        assert len(served) == 1
        await scene.check_served(served[0])
        document = current
    await collect_garbage(scene.bench)
    await scene.check_tidy()
    await _check_only_superseded(scene, document.id)


async def _check_only_superseded(scene: Scene, document_id: str) -> None:
    """Every job has come to its end: done, or given up for a newer version."""
    for job in await scene.jobs(document_id):
        assert job.status in (JobStatus.COMPLETED, JobStatus.CANCELLED), job
        assert job.status is JobStatus.COMPLETED or job.reason == "A newer version was added."


@pytest.mark.parametrize("point", range(1, 3))
async def test_a_newer_version_ends_the_jobs_of_the_older_one(scene: Scene, point: int) -> None:
    document, _ = await scene.add("version zero")
    late = await scene.enter("version one")
    await scene.work(point)
    newer = await scene.enter("version two")
    jobs = {job.id: job for job in await scene.jobs(document.id)}
    ended = [jobs[job.id].status for job in late.jobs]
    assert ended == [JobStatus.COMPLETED] * point + [JobStatus.CANCELLED] * (3 - point)
    assert [jobs[job.id].status.ended for job in newer.jobs] == [False] * 3
    await scene.work()
    await _check_only_superseded(scene, document.id)
    await scene.check_served("version two")
    await scene.check_tidy()


@pytest.mark.parametrize("known", [False, True])
async def test_writers_that_pass_the_check_together(scene: Scene, known: bool) -> None:
    """The other one commits inside our transaction, after we looked and before we write."""
    if scene.bench.db.is_sqlite:
        pytest.skip("SQLite has one writer at a time")
    if known:
        await scene.add("old")

    async def overtake() -> None:
        await scene.add("the other one")

    with pytest.raises(Conflict) as caught:
        await scene.using(blobs=HookedBlobs(scene.bench.blobs, exists=_once(overtake))).enter("too late")
    assert caught.value.remedy
    await scene.check_served("the other one")
    await collect_garbage(scene.bench)
    await scene.check_tidy()


@pytest.mark.parametrize("what", ["finished", "overtaken"])
async def test_jobs_that_change_while_the_next_version_is_added(scene: Scene, what: str) -> None:
    """Between our looking at them and cancelling them they end, or others take their place."""
    if scene.bench.db.is_sqlite:
        pytest.skip("SQLite has one writer at a time")
    document, _ = await scene.add("one")
    await scene.enter("two")
    inner = job_table.open_jobs
    looked: list[bool] = []

    async def look_then_act(conn: AsyncConnection, document_id: str) -> list[Job]:
        found = await inner(conn, document_id)
        if not looked:
            looked.append(True)
            await (scene.work() if what == "finished" else scene.enter("in between"))
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(job_table, "open_jobs", look_then_act)
        await scene.enter("three")
    await scene.work()
    (now,) = await scene.documents()
    assert now.version == (3 if what == "finished" else 2)
    await _check_only_superseded(scene, document.id)
    await scene.check_served("three")
    await scene.check_tidy()


@pytest.mark.parametrize("point", ["read", "put", "upsert"])
@pytest.mark.parametrize("known", [False, True])
async def test_a_document_removed_meanwhile_does_not_come_back(scene: Scene, point: str, known: bool) -> None:
    if known:
        await scene.add("old")
    added = await scene.enter("new")

    async def remove() -> None:
        await remove_document(scene.bench, scene.owner, added.document.id)

    if point == "upsert":
        slow = scene.using(store=HookedStore(scene.bench.store, after_upsert=remove))
    else:
        slow = scene.using(blobs=HookedBlobs(scene.bench.blobs, **{point: _once(remove)}))
    await slow.work()
    assert await scene.documents() == []
    await collect_garbage(scene.bench)
    await scene.check_tidy()


@pytest.mark.parametrize("what", ["document", "space"])
async def test_removing_while_a_batch_is_written(scene: Scene, what: str) -> None:
    """Both want the job and the document; neither may end up waiting for the other."""
    if scene.bench.db.is_sqlite:
        pytest.skip("SQLite has one writer at a time")
    added = await scene.enter("words")
    removing: list[asyncio.Task[None]] = []
    inner = documents.update_document

    async def update_slowly(*args: Any, **options: Any) -> bool:
        if not removing:
            act = remove_document if what == "document" else remove_space
            subject = added.document.id if what == "document" else scene.space_id
            removing.append(asyncio.create_task(act(scene.bench, scene.owner, subject)))
            await asyncio.sleep(0.1)
        return await inner(*args, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(documents, "update_document", update_slowly)
        await scene.work()
    await removing[0]
    assert await scene.documents() == []
    await collect_garbage(scene.bench)
    assert await scene.blobs() == set()


async def test_a_space_removed_meanwhile_takes_all_of_it_along(scene: Scene) -> None:
    async def remove() -> None:
        await remove_space(scene.bench, scene.owner, scene.space_id)

    await scene.enter("words")
    await scene.using(store=HookedStore(scene.bench.store, after_upsert=remove)).work()
    assert await scene.rows() == []
    await collect_garbage(scene.bench)
    assert await scene.blobs() == set()


@pytest.mark.parametrize("adding", [True, False])
async def test_bytes_collected_before_they_are_held_are_stored_again(scene: Scene, adding: bool) -> None:
    async def collect() -> None:
        assert await collect_garbage(scene.bench) == 1

    slow = scene.using(blobs=HookedBlobs(scene.bench.blobs, put=_once(collect)))
    await (slow if adding else scene).enter("words\r\n")
    await (scene if adding else slow).work()
    await scene.check_served("words")
    await scene.check_tidy()


async def test_bytes_that_are_held_cannot_be_collected(scene: Scene) -> None:
    """The collector starts while a transaction holds the bytes but has not written its reference yet."""
    collecting: list[asyncio.Task[int]] = []

    async def collect() -> None:
        collecting.append(asyncio.create_task(collect_garbage(scene.bench)))
        await asyncio.sleep(0.05)

    await scene.using(blobs=HookedBlobs(scene.bench.blobs, exists=collect)).add("words\r\n")
    assert await asyncio.gather(*collecting) == [0, 0]
    await scene.check_served("words")
    await scene.check_tidy()


async def test_a_collector_after_every_job_takes_nothing_that_is_needed(scene: Scene) -> None:
    """Drafts, figures and what is known about pages are referred to by no document yet."""
    sources = with_pictures(scene)
    for text in ("# A\n\n![Pump](pump)\n\nwords", "# A\n\n![Chart](chart)\n\nother words"):
        await sources.enter(text, "figures.pdf")
        await sources.enter(f"{text}\r\n\r\nLast.\r\n", "lines.md")
        for _ in range(6):
            assert await collect_garbage(scene.bench) == 0
            await sources.work(1)
        await scene.check_served(shown(text), "figures.pdf")
        await scene.check_tidy()


async def test_collectors_against_writers_of_the_same_bytes(scenes: list[Scene]) -> None:
    """Bytes are added, removed, shared and collected all at once; no document may ever miss its own."""
    one, two, three = scenes
    for step in range(8):
        text = f"shared words {step % 4}"
        results = await _all(
            one.enter(text, "one.md"),
            two.enter(text, f"two{step % 3}.md"),
            collect_garbage(three.bench),
            one.work(),
            collect_garbage(one.bench),
            _remove_first(three),
            two.work(),
            collect_garbage(two.bench),
        )
        for result in results:
            assert not isinstance(result, BaseException) or isinstance(result, Conflict | NotFound)
        await one.work()
        for document in await one.documents():
            assert document.status is DocumentStatus.READY
            assert (await read_lines(two.bench, two.owner, document.id)).lines[0].startswith("shared words")
            await one.bench.blobs.read(document.original_sha256)
            await _check_only_superseded(one, document.id)
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
