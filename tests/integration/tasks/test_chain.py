"""The chain of jobs that makes a version: how it stands, how it fails, how it is stopped and begun again."""

import asyncio

import pytest

from kosmos.accounts.spaces import remove_member
from kosmos.db import jobs as table
from kosmos.domain.accounts import Role
from kosmos.domain.documents import Document, DocumentStatus
from kosmos.domain.jobs import Job, JobStatus, OnFailure
from kosmos.errors import DataLost
from kosmos.tasks.adding import Outcome, Source, add_document
from kosmos.tasks.documents import read_lines, remove_document
from kosmos.tasks.following import Ended, follow_jobs
from kosmos.tasks.jobs import cancel_job, get_job, pause_job, resume_job, retry_job

from .scene import Scene

TEXT = "# Title\n\nWords of the text."
NEWER = "# Title\n\nNewer words of the text."
BAD = b"\x00\x01\x02 no text at all"
CHAIN = ["document_processing", "chunking", "indexing"]
COMPLETED, FAILED, CANCELLED = JobStatus.COMPLETED, JobStatus.FAILED, JobStatus.CANCELLED
PENDING, PAUSED = JobStatus.PENDING, JobStatus.PAUSED


async def _only(scene: Scene) -> Document:
    (document,) = await scene.documents()
    return document


async def _chain(scene: Scene, ids: list[str]) -> list[Job]:
    async with scene.bench.db.read() as conn:
        found = [await table.get_job(conn, job_id) for job_id in ids]
    return [job for job in found if job is not None]


async def _ends(scene: Scene, ids: list[str]) -> list[Ended]:
    async with asyncio.timeout(20):
        return [ended async for ended in follow_jobs(scene.bench, ids)]


async def test_a_chain_step_by_step(scene: Scene) -> None:
    added = await scene.enter(TEXT)
    assert [job.type for job in added.jobs] == CHAIN
    assert [job.status for job in added.jobs] == [PENDING, PAUSED, PAUSED]
    assert {job.reason for job in added.jobs[1:]} == {"Waiting for other jobs to end."}
    assert {job.initiator_id for job in added.jobs} == {scene.owner.user.id}
    for before, after in zip(added.jobs, added.jobs[1:], strict=False):
        ((first, choice),) = (await get_job(scene.bench, scene.owner, after.id)).waits_for
        assert (first.id, choice) == (before.id, OnFailure.FAIL)
    document = await _only(scene)
    assert (document.status, document.version, document.live_generation) == (DocumentStatus.PENDING, 0, 0)

    ids = [job.id for job in added.jobs]
    for done, status in enumerate(["PROCESSING", "PROCESSING", "READY"], start=1):
        await scene.work(1)
        assert [job.status for job in await _chain(scene, ids)][:done] == [COMPLETED] * done
        assert (await _only(scene)).status == status
    assert [job.result for job in await _chain(scene, ids)] == [
        {"lines": 3, "canonical_sha256": added.document.original_sha256, "figures": 0, "notes": []},
        {"generation": 1, "chunks": 2, "reused": 0},
        {"generation": 1, "chunks": 2},
    ]
    assert [ended.failure for ended in await _ends(scene, ids)] == [None] * 3
    await scene.check_served(TEXT)
    await scene.check_tidy()


async def test_a_first_version_that_cannot_be_read_says_why(scene: Scene) -> None:
    added = await scene.enter(BAD, "a.md")
    await scene.work()
    document = await _only(scene)
    assert (document.status, document.live_generation) == (DocumentStatus.FAILED, 0)
    assert "a.md is a binary file of an unknown kind" in (document.error or "")
    first, *others = await _chain(scene, [job.id for job in added.jobs])
    assert (first.status, first.reason) == (FAILED, document.error)
    assert [job.status for job in others] == [FAILED] * 2
    assert others[0].reason == f"The job {first.id} it waited for ended as FAILED."
    assert await _ends(scene, [others[-1].id]) == [Ended(others[-1].id, document.error)]
    with pytest.raises(DataLost) as caught:
        await read_lines(scene.bench, scene.owner, document.id)
    assert caught.value.remedy
    await scene.check_tidy()


async def test_a_later_version_that_cannot_be_read_leaves_the_old_one(scene: Scene) -> None:
    document, _ = await scene.add(TEXT)
    added = await scene.enter(BAD)
    assert added.outcome is Outcome.UPDATED
    await scene.work()
    assert [job.status for job in await _chain(scene, [job.id for job in added.jobs])] == [FAILED] * 3
    now = await _only(scene)
    assert (now.status, now.error, now.version) == (DocumentStatus.READY, None, document.version)
    await scene.check_served(TEXT)
    assert await scene.found("words") == ["Words of the text."]
    await scene.check_tidy()


@pytest.mark.parametrize("good", [TEXT, NEWER])
async def test_a_good_version_after_a_bad_one(scene: Scene, good: str) -> None:
    await scene.add(TEXT)
    await scene.enter(BAD)
    await scene.work()
    document, outcome = await scene.add(good)
    assert (outcome, document.draft_generation) == (Outcome.UPDATED, None)
    await scene.check_served(good)
    await scene.check_tidy()


async def test_adding_again_after_a_failure(scene: Scene) -> None:
    first = await scene.enter(BAD)
    await scene.work()
    again = await scene.enter(BAD)
    assert again.outcome is Outcome.ADDED
    assert not {job.id for job in again.jobs} & {job.id for job in first.jobs}
    document = await _only(scene)
    assert (document.status, document.error) == (DocumentStatus.PENDING, None)
    await scene.work()
    assert (await _only(scene)).status is DocumentStatus.FAILED
    healed, outcome = await scene.add(TEXT)
    assert (outcome, healed.id, healed.version) == (Outcome.ADDED, document.id, 1)
    await scene.check_served(TEXT)
    await scene.check_tidy()


async def test_adding_again_before_the_failure_has_reached_the_whole_chain(scene: Scene) -> None:
    """What waits for something that has failed will never be done: it must not pass for work on its way."""
    await scene.enter(BAD)
    await scene.work(1)
    again = await scene.enter(BAD)
    assert (again.outcome, [job.status for job in again.jobs]) == (Outcome.ADDED, [PENDING, PAUSED, PAUSED])


@pytest.mark.parametrize("live", [False, True])
async def test_the_same_bytes_while_they_are_worked_on(scene: Scene, live: bool) -> None:
    if live:
        await scene.add(TEXT)
    added = await scene.enter(NEWER)
    ids = [job.id for job in added.jobs]
    for done in range(3):
        again = await scene.enter(NEWER)
        assert again.outcome is Outcome.UNCHANGED
        assert [job.id for job in again.jobs] == ids[done:]
        await scene.work(1)
    assert (await scene.enter(NEWER)).jobs == ()
    await scene.check_served(NEWER)


async def test_going_back_while_the_newer_version_is_worked_on(scene: Scene) -> None:
    await scene.add(TEXT)
    newer = await scene.enter(NEWER)
    await scene.work(2)
    document, outcome = await scene.add(TEXT)
    assert (outcome, document.version) == (Outcome.UPDATED, 2)
    assert (await _chain(scene, [newer.jobs[-1].id]))[0].status is CANCELLED
    await scene.check_served(TEXT)
    await scene.check_tidy()


@pytest.mark.parametrize("position", range(3))
async def test_cancelling_the_first_version(scene: Scene, position: int) -> None:
    added = await scene.enter(TEXT)
    await scene.work(position)
    await cancel_job(scene.bench, scene.owner, added.jobs[position].id)
    document = await _only(scene)
    assert (document.status, document.error) == (DocumentStatus.FAILED, "Cancelled by hand.")
    await scene.work()
    expected = [COMPLETED] * position + [CANCELLED] + [FAILED] * (2 - position)
    assert [job.status for job in await _chain(scene, [job.id for job in added.jobs])] == expected
    assert (await _ends(scene, [added.jobs[-1].id]))[0].failure == "Cancelled by hand."
    assert await scene.found("words") == []
    _, outcome = await scene.add(TEXT)
    assert outcome is Outcome.ADDED
    await scene.check_served(TEXT)
    await scene.check_tidy()


async def test_adding_again_what_lost_its_last_job(scene: Scene) -> None:
    """The jobs before it still run, but nothing would come of them."""
    added = await scene.enter(TEXT)
    await cancel_job(scene.bench, scene.owner, added.jobs[-1].id)
    again = await scene.enter(TEXT)
    assert [job.type for job in again.jobs] == [job.type for job in added.jobs]
    await scene.work()
    document = await _only(scene)
    assert (document.status, document.version) == (DocumentStatus.READY, 1)
    await scene.check_served(TEXT)
    await scene.check_tidy()


@pytest.mark.parametrize("position", range(3))
async def test_a_cancelled_version_can_be_taken_up_again(scene: Scene, position: int) -> None:
    await scene.add(TEXT)
    added = await scene.enter(NEWER)
    await scene.work(position)
    await cancel_job(scene.bench, scene.owner, added.jobs[position].id)
    await scene.work()
    await scene.check_served(TEXT)
    await retry_job(scene.bench, scene.owner, added.jobs[position].id)  # those that wait for it go on, too
    await scene.work()
    await scene.check_served(NEWER)
    await scene.check_tidy()


async def test_a_first_version_that_failed_and_is_retried(scene: Scene) -> None:
    added = await scene.enter(TEXT)
    original = await scene.bench.blobs.read(added.document.original_sha256)
    await scene.bench.blobs.remove(added.document.original_sha256)
    await scene.work()
    assert (await _only(scene)).status is DocumentStatus.FAILED
    await scene.bench.blobs.put(original)
    await retry_job(scene.bench, scene.owner, added.jobs[0].id)
    await scene.work(1)
    document = await _only(scene)
    assert (document.status, document.error) == (DocumentStatus.PROCESSING, None)
    await scene.work()
    await scene.check_served(TEXT)
    await scene.check_tidy()


async def test_a_job_of_an_older_version_says_nothing_about_the_newer(scene: Scene) -> None:
    older = await scene.enter(TEXT)
    await scene.enter(NEWER)
    await scene.work(1)
    await retry_job(scene.bench, scene.owner, older.jobs[0].id)
    await scene.work(only=older.jobs[0].id)
    (job,) = await _chain(scene, [older.jobs[0].id])
    assert (job.status, (job.reason or "")[:24]) == (FAILED, "a.md has a newer version")
    document = await _only(scene)
    assert (document.status, document.error) == (DocumentStatus.PROCESSING, None)
    await scene.work()
    await scene.check_served(NEWER)


async def test_a_chain_that_is_paused_waits_and_goes_on(scene: Scene) -> None:
    added = await scene.enter(TEXT)
    await scene.work(1)
    await pause_job(scene.bench, scene.owner, added.jobs[1].id)
    await scene.work()
    assert [job.status for job in await _chain(scene, [job.id for job in added.jobs])][1:] == [PAUSED] * 2
    assert (await scene.enter(TEXT)).outcome is Outcome.UNCHANGED
    await resume_job(scene.bench, scene.owner, added.jobs[1].id)
    await scene.work()
    await scene.check_served(TEXT)


async def test_whoever_loses_the_right_meanwhile_adds_nothing(scene: Scene) -> None:
    eve = await scene.person("eve")
    await scene.invite("eve", Role.EDITOR)
    source = Source("file:///x/a.md", "a.md", TEXT.encode())
    added = await add_document(scene.bench, eve, scene.space_id, source)
    async with scene.bench.db.write() as conn:
        await remove_member(conn, scene.owner, scene.space_id, eve.user.id)
    await scene.work()
    assert [job.status for job in await _chain(scene, [job.id for job in added.jobs])] == [FAILED] * 3
    document = await _only(scene)
    assert document.status is DocumentStatus.FAILED
    assert "There is no space" in (document.error or "")


async def test_a_document_that_is_removed_is_not_followed_forever(scene: Scene) -> None:
    added = await scene.enter(TEXT)
    following = asyncio.create_task(_ends(scene, [added.jobs[-1].id]))
    await asyncio.sleep(0)
    await remove_document(scene.bench, scene.owner, added.document.id)
    assert await following == [Ended(added.jobs[-1].id, "It was removed meanwhile.")]
    await scene.check_tidy()
