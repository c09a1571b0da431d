"""The ledger: every call is in it, sums agree with the jobs, and what was paid stays paid."""

from pathlib import Path
from typing import Any

import pytest

from kosmos.domain.jobs import JobStatus
from kosmos.domain.ledger import Line, Sum
from kosmos.doubles.model_server import ModelServer
from kosmos.errors import InvalidInput, NotFound
from kosmos.jobs import control
from kosmos.llm import chat
from kosmos.tasks import pointing_desk
from kosmos.tasks.costing import (
    document_cost,
    foresee_document,
    foresee_space,
    list_calls,
    space_cost,
)
from kosmos.tasks.documents import remove_document
from kosmos.tasks.jobs import create_job
from kosmos.tasks.overview import view_document
from kosmos.tasks.preflight import Estimate, JobRequest

from .pointers import Provider, add_model, set_space
from .scene import Scene
from .test_pointing_jobs import TEXT, finish, run_job


async def test_every_call_is_booked_with_its_lines(scene: Scene, tmp_path: Path) -> None:
    provider = Provider()
    async with ModelServer(provider.decide) as server:
        model = await add_model(scene, server.base_url, tmp_path)
        document, _ = await scene.add(TEXT)
        assert (await document_cost(scene.bench, scene.owner, document.id)).sum == Sum()
        job = await run_job(scene, document.id)
    assert job.status is JobStatus.COMPLETED
    calls = await list_calls(scene.bench, scene.owner, document.id)
    assert len(calls) == provider.calls
    assert {(call.job_id, call.credential_id, call.purpose) for call in calls} == {
        (job.id, model.id, "chunking")
    }
    last = len(TEXT.split("\n"))
    lines = sorted((call.start_line or 0, call.end_line or 0) for call in calls)
    assert all(1 <= start <= end <= last for start, end in lines)
    assert len(set(lines)) == len(lines)
    first = await list_calls(scene.bench, scene.owner, document.id, limit=1)
    assert await list_calls(scene.bench, scene.owner, document.id, after=first[0].id) == calls[1:]
    cost = await document_cost(scene.bench, scene.owner, document.id)
    spent = (await view_document(scene.bench, scene.owner, document.id)).spent
    assert cost.sum.spent.prompt_tokens == spent.prompt_tokens == sum(call.prompt_tokens for call in calls)
    assert cost.sum.spent.output_tokens == spent.output_tokens
    assert cost.sum.spent.cost == pytest.approx(spent.cost)
    assert cost.lines == (Line("chunking", "scripted", cost.sum),)
    again = await run_job(scene, document.id)  # from the store, for nothing
    assert again.spent.prompt_tokens == 0
    assert (await document_cost(scene.bench, scene.owner, document.id)).sum == cost.sum


async def test_a_space_pays_for_documents_that_are_gone(scene: Scene, tmp_path: Path) -> None:
    provider = Provider()
    async with ModelServer(provider.decide) as server:
        await add_model(scene, server.base_url, tmp_path)
        one, _ = await scene.add(TEXT)
        two, _ = await scene.add(TEXT.replace("blue", "teal"), "b.md")
        for document in (one, two):
            await run_job(scene, document.id)
    before = await space_cost(scene.bench, scene.owner, scene.space_id)
    assert {item.source for item in before.documents} == {"a.md", "b.md"}
    together = sum((item.sum for item in before.documents), start=Sum())
    assert together.calls == before.sum.calls == provider.calls
    await remove_document(scene.bench, scene.owner, one.id)
    after = await space_cost(scene.bench, scene.owner, scene.space_id)
    assert after.sum.calls == before.sum.calls
    assert after.sum.spent.cost == pytest.approx(before.sum.spent.cost)
    assert {item.source for item in after.documents} == {None, "b.md"}
    with pytest.raises(NotFound):
        await space_cost(scene.bench, await scene.person("eve"), scene.space_id)
    with pytest.raises(NotFound):
        await list_calls(scene.bench, await scene.person("mallory"), two.id)


async def test_calls_without_a_price_are_counted_as_such(scene: Scene, tmp_path: Path) -> None:
    async with ModelServer(Provider().decide) as server:
        await add_model(scene, server.base_url, tmp_path, prompt_price=None)
        document, _ = await scene.add(TEXT)
        await run_job(scene, document.id)
    total = (await document_cost(scene.bench, scene.owner, document.id)).sum
    assert (total.unpriced, total.spent.cost) == (total.calls, 0.0)
    assert total.spent.prompt_tokens > 0


async def test_what_a_job_paid_that_was_taken_away_is_booked(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is cancelled while a model answers: nothing comes of the answer, but it has its price."""
    provider, ids = Provider(), list[str]()

    async def complete(*args: Any, **options: Any) -> Any:
        answer = await chat.complete(*args, **options)
        async with scene.bench.db.write() as conn:
            await control.cancel(conn, ids[0], scene.bench.clock())
        return answer

    monkeypatch.setattr(pointing_desk, "complete", complete)
    async with ModelServer(provider.decide) as server:
        await add_model(scene, server.base_url, tmp_path, parallel_batches=1)
        document, _ = await scene.add(TEXT)
        request = JobRequest("chunking", document.id, {"producer": "indexer"})
        ids.append((await create_job(scene.bench, scene.owner, request)).job.id)
        job = await finish(scene, ids[0])
    assert (job.status, provider.calls) == (JobStatus.CANCELLED, 1)
    total = (await document_cost(scene.bench, scene.owner, document.id)).sum
    assert (total.calls, total.spent.prompt_tokens) == (1, job.spent.prompt_tokens)
    assert job.spent.prompt_tokens > 0


async def test_what_it_would_take(scene: Scene, tmp_path: Path) -> None:
    document, _ = await scene.add(TEXT)
    await scene.add("too short to be asked about", "b.md")
    bench, owner, space = scene.bench, scene.owner, scene.space_id
    nothing = await foresee_space(bench, owner, space)
    assert (nothing.producer, nothing.documents, nothing.asked) == ("structure", 2, 0)
    assert nothing.estimate == Estimate()
    unknown = await foresee_space(bench, owner, space, producer="indexer")
    assert (unknown.documents, unknown.asked, unknown.estimate.cost) == (2, 1, None)
    provider = Provider()
    async with ModelServer(provider.decide) as server:
        await add_model(scene, server.base_url, tmp_path)
        await set_space(scene, {"chunking": {"producer": "indexer"}})
        one = await foresee_document(bench, owner, document.id)
        assert one.estimate == (await foresee_space(bench, owner, space)).estimate
        assert one.estimate.credential == "pointer"
        job = await run_job(scene, document.id)
    assert one.estimate.cost is not None
    assert 0.5 < one.estimate.prompt_tokens / job.spent.prompt_tokens < 2
    assert 0.3 < one.estimate.cost / job.spent.cost < 3
    with pytest.raises(InvalidInput, match="no producer"):
        await foresee_document(bench, owner, document.id, producer="magic")
