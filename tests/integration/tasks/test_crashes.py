"""A crash at any point shows the old version or the new one, and adding again repairs the rest."""

from collections.abc import Callable

import pytest

from kosmos.errors import Conflict
from kosmos.tasks.adding import Outcome
from kosmos.tasks.keeping import collect_garbage

from .scene import Crash, HookedBlobs, HookedStore, Scene, crash

ONE = "# Title\n\nFirst version of words.\n\n## Part\n\nMore words."
TWO = "# Title\n\nSecond version of words."


def _hooked(scene: Scene, point: str) -> Scene:
    store, blobs = scene.bench.store, scene.bench.blobs
    broken: dict[str, Callable[[], Scene]] = {
        "bytes stored": lambda: scene.using(blobs=HookedBlobs(blobs, put=crash)),
        "rows indexed": lambda: scene.using(store=HookedStore(store, after_upsert=crash)),
        "inside the transaction": lambda: scene.using(blobs=HookedBlobs(blobs, exists=crash)),
        "old rows not yet deleted": lambda: scene.using(store=HookedStore(store, before_delete=crash)),
        "bytes just removed": lambda: scene.using(blobs=HookedBlobs(blobs, remove=crash)),
    }
    return broken[point]()


BEFORE = ("bytes stored", "rows indexed", "inside the transaction")
AFTER = ("old rows not yet deleted", "bytes just removed")


@pytest.mark.parametrize("point", BEFORE)
async def test_a_crash_before_the_switch_serves_the_old_version(scene: Scene, point: str) -> None:
    document, _ = await scene.add(ONE)
    with pytest.raises(Crash):
        await _hooked(scene, point).add(TWO)
    assert await scene.documents() == [document]
    await scene.check_served(ONE)
    assert len(await scene.found("words")) == 2
    assert await scene.found("second") == []

    newer, outcome = await scene.add(TWO)
    assert (newer.id, newer.version, outcome) == (document.id, 2, Outcome.UPDATED)
    await scene.check_served(TWO)
    await scene.check_tidy()


@pytest.mark.parametrize("point", AFTER)
async def test_a_crash_after_the_switch_serves_the_new_version(scene: Scene, point: str) -> None:
    document, _ = await scene.add(ONE)
    with pytest.raises(Crash):
        await _hooked(scene, point).add(TWO)
    await scene.check_served(TWO)
    assert await scene.found("first") == []
    assert await scene.found("second") == ["Second version of words."]

    same, outcome = await scene.add(TWO)
    assert (same.id, same.version, outcome) == (document.id, 2, Outcome.UNCHANGED)
    await scene.add(ONE)
    await scene.check_served(ONE)
    await collect_garbage(scene.bench)
    await scene.check_tidy()


@pytest.mark.parametrize("point", BEFORE)
async def test_a_crash_of_the_very_first_version_shows_nothing(scene: Scene, point: str) -> None:
    with pytest.raises(Crash):
        await _hooked(scene, point).add(ONE)
    assert await scene.documents() == []
    assert await scene.found("words") == []
    _, outcome = await scene.add(ONE)
    assert outcome is Outcome.ADDED
    await scene.check_served(ONE)
    assert len(await scene.found("words")) == 2


async def test_many_crashes_in_a_row_do_not_pile_up(scene: Scene) -> None:
    await scene.add(ONE)
    broken = _hooked(scene, "rows indexed")
    for number in range(5):
        with pytest.raises(Crash):
            await broken.add(f"{TWO}\n\nAttempt {number}.")
    await scene.check_served(ONE)
    await scene.add(TWO)
    await collect_garbage(scene.bench)
    await scene.check_tidy()


async def test_rows_left_by_crashes_do_not_crowd_out_the_living(scene: Scene) -> None:
    """Fifty dead rows that fit better than the one live row."""
    await scene.add("# Title\n\nSome words about whales and much else beside.")
    crowd = "\n\n".join(f"# Part {number}\n\nWhales." for number in range(50))
    with pytest.raises(Crash):
        await _hooked(scene, "rows indexed").add(crowd)
    assert await scene.found("whales") == ["Some words about whales and much else beside."]


async def test_a_refused_switch_takes_its_rows_back(scene: Scene) -> None:
    """Somebody else is faster: the loser is told so and leaves no rows behind."""
    await scene.add(ONE)

    async def overtake() -> None:
        await scene.add(TWO)

    slow = scene.using(store=HookedStore(scene.bench.store, after_upsert=overtake))
    with pytest.raises(Conflict) as caught:
        await slow.add(TWO + "\n\nToo late.")
    assert caught.value.remedy
    await scene.check_served(TWO)
    await collect_garbage(scene.bench)
    await scene.check_tidy()


async def test_tidying_up_never_takes_the_rows_of_the_next_version(scene: Scene) -> None:
    """The next version is indexed and goes live while the former one is about to delete stale rows."""
    await scene.add(ONE)
    third = "# Title\n\nThird version of words."

    async def next_version() -> None:
        await scene.add(third)

    slow = scene.using(store=HookedStore(scene.bench.store, before_delete=next_version))
    await slow.add(TWO)
    await scene.check_served(third)
    assert await scene.found("third") == ["Third version of words."]
    await scene.check_tidy()
