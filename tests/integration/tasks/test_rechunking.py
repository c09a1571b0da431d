"""Regions that failed are tried again one by one; whole documents are chunked as their space wants."""

from pathlib import Path

import pytest

from kosmos.chunking.rules import as_drafts, check_chunks
from kosmos.domain.accounts import Role
from kosmos.domain.chunks import ChunkType
from kosmos.domain.jobs import JobStatus
from kosmos.doubles.model_server import ModelServer, Reply
from kosmos.errors import Conflict, Forbidden, NoCredential, NotFound
from kosmos.tasks.adding import Source, add_document
from kosmos.tasks.rechunking import list_failed, rechunk, retry_chunk
from kosmos.tasks.verifying import verify_space

from .pointers import Provider, add_model, asked, point, set_space
from .scene import Scene
from .test_pointing_jobs import TEXT

SENTINELS = {"chunking": {"producer": "indexer", "fallback": "sentinel"}}


async def test_what_failed_is_listed_and_tried_again_alone(scene: Scene, tmp_path: Path) -> None:
    bad = {"number 10 is", "number 50 is"}
    provider = Provider(
        lambda body: Reply(content="no") if any(part in asked(body) for part in bad) else point(body)
    )
    await set_space(scene, SENTINELS)
    async with ModelServer(provider.decide) as server:
        await add_model(scene, server.base_url, tmp_path)
        document, _ = await scene.add(TEXT)
        made = await scene.chunks(document.id)
        one, two = await list_failed(scene.bench, scene.owner, scene.space_id)
        assert (one.source, one.chunk.type, one.chunk.level) == ("a.md", ChunkType.ERROR, -99)
        assert "Chunking failed after" in one.chunk.summary
        after = (one.chunk.document_id, one.chunk.position)
        assert await list_failed(scene.bench, scene.owner, scene.space_id, after=after, limit=1) == [two]
        assert (await verify_space(scene.bench, scene.owner, scene.space_id)).faults == ()

        bad.discard("number 10 is")
        calls = provider.calls
        started = await retry_chunk(scene.bench, scene.owner, one.chunk.id)
        with pytest.raises(Conflict, match="being worked on"):
            await retry_chunk(scene.bench, scene.owner, two.chunk.id)
        await scene.work()
        assert provider.calls == calls + 1
        assert {job.status for job in await scene.jobs(document.id)} == {JobStatus.COMPLETED}
        assert len(started.jobs) == 2
    (left,) = await list_failed(scene.bench, scene.owner, scene.space_id)
    assert (left.chunk.id, left.chunk.start_line) == (two.chunk.id, two.chunk.start_line)
    whole = await scene.chunks(document.id)
    assert check_chunks(TEXT, as_drafts(whole)) == []
    inside = range(one.chunk.start_line, one.chunk.end_line + 1)
    outside = {item.id for item in made if item.start_line not in inside}
    assert outside <= {item.id for item in whole}
    assert (await verify_space(scene.bench, scene.owner, scene.space_id)).faults == ()
    await scene.check_served(TEXT)
    await scene.check_tidy()


async def test_who_may_retry(scene: Scene) -> None:
    document, _ = await scene.add(TEXT)
    (first, *_) = await scene.chunks(document.id)
    eve = await scene.person("eve")
    for who, chunk_id in ((eve, first.id), (scene.owner, "nothing"), (scene.owner, "x\x00")):
        with pytest.raises(NotFound, match="There is no chunk"):
            await retry_chunk(scene.bench, who, chunk_id)
    with pytest.raises(NotFound):
        await list_failed(scene.bench, eve, scene.space_id)
    await scene.invite("eve", Role.VIEWER)
    assert await list_failed(scene.bench, eve, scene.space_id) == []
    with pytest.raises(Forbidden):
        await retry_chunk(scene.bench, eve, first.id)
    with pytest.raises(NoCredential):
        await retry_chunk(scene.bench, scene.owner, first.id)


async def test_the_space_chooses_the_producer(scene: Scene, tmp_path: Path) -> None:
    provider = Provider()
    async with ModelServer(provider.decide) as server:
        await add_model(scene, server.base_url, tmp_path, max_concurrency=3)
        document, _ = await scene.add(TEXT)
        assert provider.calls == 0
        await set_space(
            scene, {"chunking": {"producer": "indexer", "batch_lines": 20, "parallel_batches": 1}}
        )
        await rechunk(scene.bench, scene.owner, document.id, {})
        await scene.work()
        assert any(item.summary.startswith("About The pump") for item in await scene.chunks(document.id))
        assert server.peak == 1
        small = provider.calls
        await set_space(scene, {"chunking": {"batch_lines": None}})
        await scene.add(TEXT.replace("blue", "teal"))
        assert 0 < provider.calls - small < small  # batches of 200 lines are fewer
        (job,) = [job for job in await scene.jobs(document.id) if job.context.get("generation") == 3][1:2]
        assert (job.type, job.context["producer"], job.lane_limit) == ("chunking", "indexer", 3)
        calls = provider.calls
        await rechunk(scene.bench, scene.owner, document.id, {"producer": "structure"})
        await scene.work()
        source = Source("file:///x/b.md", "b.md", TEXT.encode(), producer="structure")
        await add_document(scene.bench, scene.owner, scene.space_id, source)
        await scene.work()
        assert provider.calls == calls
    assert (await verify_space(scene.bench, scene.owner, scene.space_id)).verified == 2


async def test_without_a_model_the_indexer_is_refused_before_anything_is_stored(scene: Scene) -> None:
    await set_space(scene, {"chunking": {"producer": "indexer"}})
    with pytest.raises(NoCredential, match="SLM or LLM") as caught:
        await scene.enter(TEXT)
    assert "producer=structure" in (caught.value.remedy or "")
    assert (await scene.documents(), await scene.blobs()) == ([], set())
    source = Source("file:///x/b.md", "b.md", TEXT.encode(), producer="structure")
    assert (await add_document(scene.bench, scene.owner, scene.space_id, source)).jobs
