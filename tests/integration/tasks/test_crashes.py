"""A crash at any point shows the old version or the new one, and the next worker finishes the work."""

import hashlib
import itertools
import os
from collections.abc import Callable

import pytest

from kosmos.domain.documents import DocumentStatus
from kosmos.domain.jobs import Job, JobStatus
from kosmos.doubles.model_server import Reply
from kosmos.tasks import pipeline
from kosmos.tasks.adding import Outcome
from kosmos.tasks.keeping import collect_garbage

from .fuses import Fuse, fused
from .pictures import seeing, shown, with_pictures
from .scene import Crash, HookedBlobs, HookedStore, Scene, crash

STRIDE = int(os.environ.get("CRASH_STRIDE", "7"))  # 1, when run by hand: really every step
ONE = "# Title\n\nFirst version of words.\n\n## Part\n\nMore words."
TWO = "# Title\n\nSecond version of words."


def _hooked(scene: Scene, point: str) -> Scene:
    store, blobs = scene.bench.store, scene.bench.blobs
    broken: dict[str, Callable[[], Scene]] = {
        "bytes stored": lambda: scene.using(blobs=HookedBlobs(blobs, put=crash)),
        "inside the transaction": lambda: scene.using(blobs=HookedBlobs(blobs, exists=crash)),
        "original read": lambda: scene.using(blobs=HookedBlobs(blobs, read=crash)),
        "rows indexed": lambda: scene.using(store=HookedStore(store, after_upsert=crash)),
        "old rows not yet deleted": lambda: scene.using(store=HookedStore(store, before_delete=crash)),
        "bytes just removed": lambda: scene.using(blobs=HookedBlobs(blobs, remove=crash)),
    }
    return broken[point]()


ADDING = ("bytes stored", "inside the transaction")
BEFORE = ("original read", "bytes stored", "inside the transaction", "rows indexed")
AFTER = ("old rows not yet deleted", "bytes just removed")


async def _statuses(scene: Scene, document_id: str) -> list[JobStatus]:
    return [job.status for job in await scene.jobs(document_id)]


@pytest.mark.parametrize("point", ADDING)
async def test_a_crash_while_adding_changes_nothing(scene: Scene, point: str) -> None:
    document, _ = await scene.add(ONE)
    with pytest.raises(Crash):
        await _hooked(scene, point).enter(TWO)
    await scene.work()
    assert await scene.documents() == [document]
    await scene.check_served(ONE)
    newer, outcome = await scene.add(TWO)
    assert (newer.id, newer.version, outcome) == (document.id, 2, Outcome.UPDATED)
    await scene.check_served(TWO)
    await scene.check_tidy()


@pytest.mark.parametrize("point", BEFORE)
async def test_a_crash_before_the_switch_serves_the_old_version(scene: Scene, point: str) -> None:
    document, _ = await scene.add(ONE)
    added = await scene.enter(TWO)
    with pytest.raises(Crash):
        await _hooked(scene, point).work()
    for _ in range(2):
        await scene.check_served(ONE)
        assert len(await scene.found("words")) == 2
        assert await scene.found("second") == []
        await scene.work()  # nobody takes the job while its lease may still be held

    scene.later()
    await scene.work()
    (newer,) = await scene.documents()
    assert (newer.id, newer.version, newer.live_generation) == (document.id, 2, 2)
    assert [job.id for job in (await scene.jobs(document.id))[3:]] == [job.id for job in added.jobs]
    assert set(await _statuses(scene, document.id)) == {JobStatus.COMPLETED}
    await scene.check_served(TWO)
    await scene.check_tidy()


@pytest.mark.parametrize("point", AFTER)
async def test_a_crash_after_the_switch_serves_the_new_version(scene: Scene, point: str) -> None:
    document, _ = await scene.add(ONE)
    await scene.enter(TWO)
    with pytest.raises(Crash):
        await _hooked(scene, point).work()
    await scene.check_served(TWO)
    assert await scene.found("first") == []
    assert await scene.found("second") == ["Second version of words."]

    same, outcome = await scene.add(TWO)
    assert (same.id, same.version, outcome) == (document.id, 2, Outcome.UNCHANGED)
    scene.later()
    await scene.work()
    assert set(await _statuses(scene, document.id)) == {JobStatus.COMPLETED}
    await collect_garbage(scene.bench)
    await scene.check_served(TWO)
    await scene.check_tidy()


@pytest.mark.parametrize("point", BEFORE)
async def test_a_crash_of_the_very_first_version_shows_nothing(scene: Scene, point: str) -> None:
    added = await scene.enter(ONE)
    with pytest.raises(Crash):
        await _hooked(scene, point).work()
    (document,) = await scene.documents()
    assert document.status in (DocumentStatus.PENDING, DocumentStatus.PROCESSING)
    assert (document.live_generation, document.error) == (0, None)
    assert await scene.chunks(document.id) == []
    assert await scene.found("words") == []

    again = await scene.enter(ONE)
    assert again.outcome is Outcome.UNCHANGED
    assert {job.id for job in again.jobs} <= {job.id for job in added.jobs}
    scene.later()
    await scene.work()
    await scene.check_served(ONE)
    assert len(await scene.found("words")) == 2
    await scene.check_tidy()


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_any_step_may_be_the_last(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Version after version, each killed a bit later than the one before, until one gets through."""
    monkeypatch.setattr(pipeline, "CHUNKS_PER_BATCH", 2)
    scene = with_pictures(scene)
    async with seeing(scene, [Reply(content="A pump.", repeat=True)]) as server:
        before = "# Kept\n\nwords\n\n![A pump](pump)\n\n![Chart](chart)"
        await scene.add(before)
        for steps in itertools.count(0, STRIDE):
            text = f"# Kept\n\nwords\n\n![A pump](pump)\n\n# Part {steps}\n\n![Chart](chart)"
            fuse = Fuse(steps)
            try:
                await fused(scene, fuse).add(text)
            except Crash:
                await _survived(scene, before, text)
                before = text
            else:
                break
        assert steps > 40
        assert len(server.requests) == 2  # nothing is asked again, whatever was lost
    await scene.check_served(shown(text))


async def _survived(scene: Scene, before: str, text: str) -> None:
    """One of the versions is served whole; then the work is finished, by whoever comes next."""
    (document,) = await scene.documents()
    switched = document.canonical_sha256 == hashlib.sha256(shown(text).encode()).hexdigest()
    await scene.check_served(shown(text if switched else before))
    scene.later()
    await scene.work()
    if not switched and document.draft_generation is None:
        await scene.add(text)  # it stopped before anything was promised
    await scene.check_served(shown(text))
    await collect_garbage(scene.bench)
    await scene.check_tidy()
    assert {job.status for job in await scene.jobs(document.id)} == {JobStatus.COMPLETED}
    found = await scene.assets((await scene.documents())[0])
    assert [item.description for item in found] == ["A pump.", "A pump."]


async def test_many_crashes_in_a_row_do_not_pile_up(scene: Scene) -> None:
    await scene.add(ONE)
    broken = _hooked(scene, "rows indexed")
    for number in range(4):
        await scene.enter(f"{TWO}\n\nAttempt {number}.")
        with pytest.raises(Crash):
            await broken.work()
    await scene.check_served(ONE)
    await scene.add(TWO)
    await scene.check_served(TWO)
    await scene.check_tidy()


async def test_what_kills_every_worker_is_given_up_and_says_so(scene: Scene) -> None:
    document, _ = await scene.add(ONE)
    await scene.enter(TWO)
    broken = _hooked(scene, "rows indexed")
    for _ in range(3):
        with pytest.raises(Crash):
            await broken.work()
        scene.later()
    await broken.work()
    last: Job = (await scene.jobs(document.id))[-1]
    assert last.status is JobStatus.FAILED
    assert "3 attempts in a row" in (last.reason or "")
    await scene.check_served(ONE)
    _, outcome = await scene.add(TWO)
    assert outcome is Outcome.UPDATED
    await scene.check_served(TWO)
    await scene.check_tidy()


async def test_rows_left_by_crashes_do_not_crowd_out_the_living(scene: Scene) -> None:
    """Fifty dead rows that fit better than the one live row."""
    await scene.add("# Title\n\nSome words about whales and much else beside.")
    await scene.enter("\n\n".join(f"# Part {number}\n\nWhales." for number in range(50)))
    with pytest.raises(Crash):
        await _hooked(scene, "rows indexed").work()
    assert await scene.found("whales") == ["Some words about whales and much else beside."]


async def test_a_refused_switch_takes_its_rows_back(scene: Scene) -> None:
    """Somebody else is faster: the loser ends as superseded and leaves no rows behind."""
    document, _ = await scene.add(ONE)
    live = await scene.rows()

    async def overtake() -> None:
        await scene.enter(TWO)

    late = await scene.enter(TWO + "\n\nToo late.")
    slow = scene.using(store=HookedStore(scene.bench.store, after_upsert=overtake))
    await slow.work(3)
    jobs = {job.id: job for job in await scene.jobs(document.id)}
    ended = jobs[late.jobs[-1].id]
    assert (ended.status, ended.reason) == (JobStatus.CANCELLED, "A newer version was added.")
    assert {row.pk for row in await scene.rows()} == {row.pk for row in live}
    await scene.check_served(ONE)
    await scene.work()
    await scene.check_served(TWO)
    await scene.check_tidy()


async def test_tidying_up_never_takes_the_rows_of_the_next_version(scene: Scene) -> None:
    """The next version is indexed and goes live while the former one is about to delete stale rows."""
    await scene.add(ONE)
    third = "# Title\n\nThird version of words."

    async def next_version() -> None:
        await scene.add(third)

    await scene.enter(TWO)
    await scene.using(store=HookedStore(scene.bench.store, before_delete=next_version)).work()
    await scene.check_served(third)
    assert await scene.found("third") == ["Third version of words."]
    await collect_garbage(scene.bench)
    await scene.check_tidy()
