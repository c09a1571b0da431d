"""Figures: where they stand, who looks at them, and that nothing waits for those that nobody can describe."""

import pytest
import sqlalchemy as sa

from kosmos.db import assets as asset_table
from kosmos.db import versions
from kosmos.db.tables import chunk_asset, model_answer
from kosmos.domain.assets import AnalysisStatus
from kosmos.domain.documents import DocumentStatus
from kosmos.domain.jobs import Job, JobStatus, OnFailure
from kosmos.doubles.model_server import ModelServer, Reply
from kosmos.tasks.documents import remove_document
from kosmos.tasks.jobs import cancel_job, create_job, estimate_job, get_job
from kosmos.tasks.keeping import collect_garbage
from kosmos.tasks.preflight import JobRequest

from .pictures import picture, seeing, sha256_of, shown, with_pictures
from .scene import Crash, Scene

TEXT = "# Pumps\n\nWords.\n\n![A blue pump](pump)\n\n## Charts\n\n"
TEXT += "<!--\nhidden\n-->\nBefore.\n![Load](load)\nAfter."
DONE = [JobStatus.COMPLETED]


async def _jobs(scene: Scene, document_id: str, kind: str = "asset_analysis") -> list[Job]:
    return [job for job in await scene.jobs(document_id) if job.type == kind]


def _say(text: str) -> list[Reply]:
    return [Reply(content=text, repeat=True)]


def _asked(server: ModelServer) -> list[str]:
    """The prompts that came with a picture."""
    return [request.body["messages"][0]["content"][0]["text"] for request in server.requests]


async def test_figures_without_anybody_who_can_look_at_them(scene: Scene) -> None:
    document, _ = await with_pictures(scene).add(TEXT, "a.pdf")
    assert await _jobs(scene, document.id) == []
    pump, load = await scene.assets(document)
    assert (pump.line, pump.caption, pump.media_type) == (5, "A blue pump", "image/png")
    assert (load.line, load.caption, load.kind) == (13, "Load", "figure")
    assert {item.analysis_status for item in (pump, load)} == {AnalysisStatus.NOT_ANALYSED}
    assert (pump.description, pump.sha256, pump.size) == (None, sha256_of("pump"), len(picture("pump")))
    assert await scene.bench.blobs.read(load.sha256) == picture("load")
    for item, words in ((pump, "A blue pump"), (load, "Before.")):
        async with scene.bench.db.read() as conn:
            query = sa.select(chunk_asset.c.chunk_id).where(chunk_asset.c.asset_id == item.id)
            (chunk_id,) = (await conn.execute(query)).scalars()
            assert await asset_table.assets_of_chunk(conn, chunk_id) == [item]
        (chunk,) = [chunk for chunk in await scene.chunks(document.id) if chunk.id == chunk_id]
        assert words in chunk.raw_content
    await scene.check_served(shown(TEXT), "a.pdf")
    await scene.check_tidy()


async def test_a_model_describes_figures_before_the_text_is_chunked(scene: Scene) -> None:
    scene = with_pictures(scene)
    async with seeing(scene, _say("A  blue\npump\x00."), max_concurrency=3) as server:
        added = await scene.enter(TEXT, "a.pdf")
        await scene.work(1)
        looking = await _jobs(scene, added.document.id)
        assert [(job.status, job.lane_limit) for job in looking] == [(JobStatus.PENDING, 3)] * 2
        waits = (await get_job(scene.bench, scene.owner, added.jobs[1].id)).waits_for
        assert {job.id: choice for job, choice in waits} == {
            added.jobs[0].id: OnFailure.FAIL,
            **{job.id: OnFailure.CONTINUE for job in looking},
        }
        await scene.work()
        prompts = _asked(server)
    assert len(prompts) == 2
    assert [job.status for job in await scene.jobs(added.document.id)] == DONE * 5
    (document,) = await scene.documents()
    found = await scene.assets(document)
    assert [(item.analysis_status, item.description) for item in found] == [
        (AnalysisStatus.DONE, "A blue pump.")
    ] * 2
    load = next(prompt for prompt in prompts if "Caption: Load" in prompt)
    assert "Before.\n>>>" in load
    assert "<<<\nAfter." in load
    assert "hidden" not in load
    assert "English" in load
    spent = [job.spent for job in await _jobs(scene, document.id)]
    assert all(each.prompt_tokens > 0 for each in spent)
    await scene.check_served(shown(TEXT), "a.pdf")
    await scene.check_tidy()


async def test_chinese_documents_are_described_in_chinese(scene: Scene) -> None:
    scene = with_pictures(scene)
    async with seeing(scene, _say("一台泵。")) as server:
        document, _ = await scene.add("# 水泵\n\n每四十天给水泵加一次油。\n\n![蓝色的泵](pump)", "a.pdf")
        (prompt,) = _asked(server)
    assert "Chinese" in prompt
    assert [item.description for item in await scene.assets(document)] == ["一台泵。"]


async def test_the_same_figure_is_looked_at_once(scene: Scene) -> None:
    """In another document, in a later version, after it was removed: by what it shows, not by its name."""
    scene = with_pictures(scene)
    async with seeing(scene, _say("A pump.")) as server:
        first, _ = await scene.add("words\n\n![A pump](pump)", "a.pdf")
        second, _ = await scene.add("other words\n\n![Another caption](pump)", "b.pdf")
        newer, _ = await scene.add("newer words\n\nand lines\n\n![A pump](pump)", "a.pdf")
        await remove_document(scene.bench, scene.owner, first.id)
        again, _ = await scene.add("words\n\n![A pump](pump)", "a.pdf")
        assert len(server.requests) == 1
    for document in (second, again):
        (item,) = await scene.assets(document)
        assert (item.analysis_status, item.description) == (AnalysisStatus.DONE, "A pump.")
    assert newer.live_generation == 2
    assert await scene.bench.blobs.exists(sha256_of("pump"))
    await scene.check_tidy()
    await remove_document(scene.bench, scene.owner, second.id)
    await remove_document(scene.bench, scene.owner, again.id)
    assert await scene.blobs() == set()


async def test_a_busy_provider_pauses_figures_and_fails_nothing(scene: Scene) -> None:
    scene = with_pictures(scene)
    async with seeing(scene, [Reply(status=429, retry_after=5), *_say("A pump.")]):
        added = await scene.enter("words\n\n![A pump](pump)", "a.pdf")
        await scene.work()
        (looking,) = await _jobs(scene, added.document.id)
        assert (looking.status, looking.attempts) == (JobStatus.PAUSED, 0)
        assert "asks to slow down" in (looking.reason or "")
        request = JobRequest("chunking", added.document.id, {"producer": "structure"}, after=(looking.id,))
        _, hints = await estimate_job(scene.bench, scene.owner, request)
        assert hints == ("1 figures are still being analysed (1 paused); chunking waits for them.",)
        assert (await scene.documents())[0].status is DocumentStatus.PROCESSING
        scene.later(60)
        await scene.work()
    (document,) = await scene.documents()
    assert [item.description for item in await scene.assets(document)] == ["A pump."]
    assert [job.status for job in await scene.jobs(document.id)] == DONE * 4


@pytest.mark.parametrize("how", ["refused", "unviewable", "cancelled"])
async def test_a_figure_that_cannot_be_described_holds_up_nothing(scene: Scene, how: str) -> None:
    scene = with_pictures(scene, media_type="image/x-emf" if how == "unviewable" else "image/png")
    async with seeing(scene, [Reply(status=400, repeat=True)]):
        added = await scene.enter(TEXT, "a.pdf")
        await scene.work(1)
        if how == "cancelled":
            for job in await _jobs(scene, added.document.id):
                await cancel_job(scene.bench, scene.owner, job.id)
        await scene.work()
    (document,) = await scene.documents()
    assert (document.status, document.error) == (DocumentStatus.READY, None)
    looking = await _jobs(scene, document.id)
    failed = JobStatus.CANCELLED if how == "cancelled" else JobStatus.FAILED
    assert [job.status for job in looking] == [failed] * 2
    found = await scene.assets(document)
    assert {item.analysis_status for item in found} == {AnalysisStatus.FAILED}
    assert {item.error for item in found} == {job.reason for job in looking}
    await scene.check_served(shown(TEXT), "a.pdf")
    await scene.check_tidy()


async def test_a_crash_after_the_figures_were_handed_out(scene: Scene) -> None:
    """The next worker hands them out again: the same jobs, waited for once."""
    scene = with_pictures(scene)
    async with seeing(scene, _say("A pump.")) as server:
        added = await scene.enter(TEXT, "a.pdf")
        broken = scene.using(waker=_Broken())
        with pytest.raises(Crash):
            await broken.work()
        before = {job.id for job in await _jobs(scene, added.document.id)}
        assert len(before) == 2
        scene.later()
        await scene.work(only=added.jobs[0].id)
        await scene.work()
        assert {job.id for job in await _jobs(scene, added.document.id)} == before
        assert len(server.requests) == 2
    assert [job.status for job in await scene.jobs(added.document.id)] == DONE * 5
    await scene.check_tidy()


class _Broken:
    """A machine that stops when it wants to wake others."""

    def wake(self, _ids: object) -> None:
        """Stop."""
        raise Crash


async def test_an_answer_that_was_paid_for_is_not_asked_for_again(scene: Scene) -> None:
    """The machine stops after the answer came, and before anybody could note what became of the job."""
    scene = with_pictures(scene)
    async with seeing(scene, _say("A pump.")) as server:
        await scene.enter("![A pump](pump)", "a.pdf")
        await scene.work(1)
        with pytest.MonkeyPatch.context() as patch, pytest.raises(Crash):
            patch.setattr("kosmos.tasks.analysing.assets.update_asset", _crash)
            await scene.work(1)
        scene.later()
        await scene.work()
        assert len(server.requests) == 1
    (document,) = await scene.documents()
    assert [item.description for item in await scene.assets(document)] == ["A pump."]
    (job,) = await _jobs(scene, document.id)
    assert job.spent.prompt_tokens > 0
    async with scene.bench.db.read() as conn:
        answers = list(await conn.execute(sa.select(model_answer.c.kind, model_answer.c.answer)))
    assert [tuple(row) for row in answers] == [("asset_analysis", "A pump.")]


async def _crash(*_: object) -> None:
    raise Crash


async def test_figures_of_a_version_that_is_superseded_go_with_it(scene: Scene) -> None:
    scene = with_pictures(scene)
    async with seeing(scene, _say("A pump.")):
        document, _ = await scene.add("![A pump](pump)", "a.pdf")
        await scene.enter("![Old chart](old)\n\n![A pump](pump)", "a.pdf")
        await scene.work(1)
        await scene.enter("![New chart](new)\n\n![A pump](pump)", "a.pdf")
        await scene.work()
    assert await scene.blobs() & {sha256_of("old"), sha256_of("new")} == {sha256_of("new")}
    (now,) = await scene.documents()
    assert now.id == document.id
    assert [item.caption for item in await scene.assets(now)] == ["New chart", "A pump"]
    await scene.check_tidy()


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_more_figures_than_fit_on_a_page_of_jobs(scene: Scene) -> None:
    """All that works on the older version is ended, however much that is; the same again is still known."""
    scene = with_pictures(scene)
    text = "\n\n".join(f"![Figure {number}](figure{number})" for number in range(110))
    async with seeing(scene, _say("A figure.")):
        first = await scene.enter(text, "a.pdf")
        await scene.work(1)
        again = await scene.enter(text, "a.pdf")
        assert [job.id for job in again.jobs] == [job.id for job in first.jobs[1:]]
        second = await scene.enter("words", "a.pdf")
        assert not {job.id for job in second.jobs} & {job.id for job in first.jobs}
        await scene.work()
    cancelled = [job for job in await scene.jobs(first.document.id) if job.status is JobStatus.CANCELLED]
    assert len(cancelled) == 112
    await scene.check_served("words", "a.pdf")
    await scene.check_tidy()


async def test_what_is_known_of_figures_outlives_chunking_again(scene: Scene) -> None:
    scene = with_pictures(scene)
    async with seeing(scene, _say("A pump.")):
        document, _ = await scene.add(TEXT, "a.pdf")
    before = await scene.assets(document)
    for kind, context in (("chunking", {"producer": "structure"}), ("indexing", {})):
        await create_job(scene.bench, scene.owner, JobRequest(kind, document.id, context))
        await scene.work()
        assert await collect_garbage(scene.bench) == 0
    (now,) = await scene.documents()
    assert now.live_generation == 2
    after = await scene.assets(now)
    known = [(item.sha256, item.line, item.caption, item.description) for item in after]
    assert known == [(item.sha256, item.line, item.caption, item.description) for item in before]
    assert {item.description for item in after} == {"A pump."}
    async with scene.bench.db.read() as conn:
        shown_by = set((await conn.execute(sa.select(chunk_asset.c.asset_id))).scalars())
    assert shown_by == {item.id for item in after}
    await scene.check_tidy()


async def test_processing_again_replaces_what_was_found_before(scene: Scene) -> None:
    document, _ = await with_pictures(scene).add(TEXT, "a.pdf")
    await create_job(scene.bench, scene.owner, JobRequest("document_processing", document.id))
    await with_pictures(scene).work()
    async with scene.bench.db.read() as conn:
        assert len(await asset_table.list_assets(conn, document.id, 2)) == 2
        draft = await versions.get_version(conn, document.id, 2)
    assert draft is not None
    assert draft.canonical_sha256 == document.canonical_sha256
    await scene.check_tidy()
