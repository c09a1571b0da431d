"""Chunking with a model as a job: what it makes and costs, and that nothing is paid for twice."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kosmos.accounts.spaces import change_space
from kosmos.chunking.indexer_ladder import Reply as Answered
from kosmos.chunking.indexer_prompt import Question
from kosmos.chunking.rules import as_drafts, check_chunks
from kosmos.db import chunks, model_answers
from kosmos.db import jobs as table
from kosmos.domain.chunks import Chunk, ChunkType
from kosmos.domain.jobs import Job, JobStatus
from kosmos.domain.redactions import load_redactions
from kosmos.doubles.model_server import ModelServer, Reply, ToolCall
from kosmos.doubles.requests import Body
from kosmos.tasks.jobs import create_job
from kosmos.tasks.pointing_desk import Desk
from kosmos.tasks.preflight import JobRequest

from .pointers import Provider, add_model, asked, point
from .scene import Crash, Scene

PART = "The pump 泵 number {0} is blue and needs oil every {0} days, says the manual of the maker. " * 6
TEXT = "\n\n".join(f"## Part {n}\n\n{PART.format(n)}\n\n{PART.format(n + 100)}" for n in range(60))


@pytest.fixture
def provider() -> Provider:
    """Who answers."""
    return Provider()


@pytest.fixture
async def served(scene: Scene, provider: Provider, tmp_path: Path) -> AsyncIterator[ModelServer]:
    """A model server that the scene's jobs use."""
    async with ModelServer(provider.decide) as server:
        await add_model(scene, server.base_url, tmp_path)
        yield server


async def run_job(scene: Scene, document_id: str, **context: object) -> Job:
    """A chunking job, once it has ended or sleeps."""
    request = JobRequest("chunking", document_id, {"producer": "indexer", **context})
    made = await create_job(scene.bench, scene.owner, request)
    return await finish(scene, made.job.id)


async def finish(scene: Scene, job_id: str) -> Job:
    """The job after a worker has done what it can, or has died."""
    with suppress(Crash):
        await scene.work()
    async with scene.bench.db.read() as conn:
        job = await table.get_job(conn, job_id)
    assert job is not None
    return job


async def made_by(scene: Scene, job: Job) -> list[Chunk]:
    """The chunks that a job has made."""
    async with scene.bench.db.read() as conn:
        return await chunks.generation_chunks(conn, job.document_id or "", job.progress["generation"])


def shape(made: list[Chunk]) -> list[list[object]]:
    """What two runs on texts that differ by one word have in common."""
    names = ("type", "level", "start_line", "end_line", "from_split", "merged", "position", "redaction")
    parents = {chunk.id: chunk.position for chunk in made}
    return [
        [*(getattr(chunk, name) for name in names), parents.get(chunk.parent_id or ""),
         chunk.summary.replace("teal", "blue"), dict(chunk.metadata)]
        for chunk in made
    ]  # fmt: skip


async def test_a_document_is_chunked_by_a_model(
    scene: Scene, provider: Provider, served: ModelServer
) -> None:
    document, _ = await scene.add(TEXT)
    live = await scene.chunks(document.id)
    job = await run_job(scene, document.id)
    assert job.status is JobStatus.COMPLETED, job.reason
    made = await made_by(scene, job)
    assert check_chunks(TEXT, as_drafts(made)) == []
    assert await scene.chunks(document.id) == live  # readers see the old ones until the new are indexed
    assert provider.calls > 1
    assert job.result is not None
    assert job.result["calls"] == provider.calls
    assert job.result["fallbacks"] == job.result["sentinels"] == job.result["reasks"] == 0
    assert job.progress["current_line"] == job.progress["total_lines"] == len(TEXT.split("\n"))
    assert job.progress["current_chunk"] == len(made)
    assert job.spent.prompt_tokens > 0
    assert job.spent.cost > 0
    assert any(chunk.summary.startswith("About The pump") for chunk in made)
    by_model = [chunk for chunk in made if chunk.type is ChunkType.CONTENT]
    assert {chunk.parent_id for chunk in by_model} <= {c.id for c in made if c.type is ChunkType.HEADING}


async def test_the_same_text_is_not_paid_for_again(
    scene: Scene, provider: Provider, served: ModelServer
) -> None:
    document, _ = await scene.add(TEXT)
    made = await made_by(scene, await run_job(scene, document.id))
    calls = provider.calls
    again = await run_job(scene, document.id)
    assert provider.calls == calls
    assert again.spent.prompt_tokens == 0
    assert again.result is not None
    assert again.result["cached_answers"] == calls
    assert shape(await made_by(scene, again)) == shape(made)
    # A line more at the top moves everything: what is asked about is the same, so the answers are.
    moved, _ = await scene.add("Moved.\n\n" + TEXT, name="moved.md")
    job = await run_job(scene, moved.id)
    assert job.result is not None
    assert job.result["cached_answers"] >= calls - 1
    assert served.active == 0


def _die_now_and_then(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Crash inside transactions: at every second answer and region that is written, for a while."""
    deaths: list[str] = []
    for module, name in ((model_answers, "put_answer"), (chunks, "insert_chunks")):
        inner, times = getattr(module, name), iter(range(1000))

        async def die(
            *args: Any, name: str = name, inner: Any = inner, times: Any = times, **more: Any
        ) -> None:
            await inner(*args, **more)
            if next(times) % 2 == 0 and deaths.count(name) < 3:
                deaths.append(name)
                raise Crash

        monkeypatch.setattr(module, name, die)
    return deaths


@pytest.mark.parametrize("parallel", [1, 4])
async def test_a_job_that_is_killed_goes_on_and_ends_the_same(
    scene: Scene, provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parallel: int
) -> None:
    """Killed between a call and its record, and between an answer and its commit."""
    async with ModelServer(provider.decide) as server:
        await add_model(scene, server.base_url, tmp_path, parallel_batches=parallel)
        document, _ = await scene.add(TEXT)
        whole = await made_by(scene, await run_job(scene, document.id))
        undisturbed = provider.calls
        other, _ = await scene.add(TEXT.replace("blue", "teal"), name="b.md")
        request = JobRequest("chunking", other.id, {"producer": "indexer"})
        job_id = (await create_job(scene.bench, scene.owner, request)).job.id
        deaths = _die_now_and_then(monkeypatch)
        for _ in range(40):
            job = await finish(scene, job_id)
            if job.status.ended:
                break
            scene.bench.clock.advance(600)  # type: ignore[attr-defined]
        assert job.status is JobStatus.COMPLETED, job.reason
        assert len(deaths) >= 4
        made = await made_by(scene, job)
    assert shape(made) == shape(whole)
    lost = deaths.count("put_answer") if parallel == 1 else parallel * len(deaths)
    assert provider.calls - undisturbed <= undisturbed + lost  # no more than was being asked


async def test_the_order_of_answers_does_not_matter(
    scene: Scene, served: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second time the first question is answered after all others."""
    document, _ = await scene.add(TEXT)
    made = await made_by(scene, await run_job(scene, document.id))
    inner, order, others = Desk.ask, [0], asyncio.Event()

    async def ask(self: Desk, question: Question) -> Answered:
        number = order[0] = order[0] + 1
        if number == 1:
            async with asyncio.timeout(20):
                await others.wait()
        reply = await inner(self, question)
        if number == 3:
            others.set()
        return reply

    monkeypatch.setattr(Desk, "ask", ask)
    other, _ = await scene.add(TEXT.replace("blue", "teal"), name="b.md")
    job = await run_job(scene, other.id)
    assert others.is_set()
    assert shape(await made_by(scene, job)) == shape(made)
    assert served.active == 0


async def test_a_busy_provider_pauses_the_job(scene: Scene, provider: Provider, served: ModelServer) -> None:
    document, _ = await scene.add(TEXT)
    refused = 0

    def busy(body: Body) -> Reply:
        nonlocal refused
        if "## Part 30\n" in asked(body) and refused < 2:
            refused += 1
            return Reply(status=429, retry_after=5)
        return point(body)

    provider.answer = busy
    job = await run_job(scene, document.id)
    assert job.status is JobStatus.PAUSED
    assert "slow down" in (job.reason or "")
    assert job.due_at is not None
    for _ in range(3):
        scene.bench.clock.advance(60)  # type: ignore[attr-defined]
        job = await finish(scene, job.id)
    assert job.status is JobStatus.COMPLETED, job.reason
    assert refused == 2
    answered = [count for asked_once, count in provider.counts.items() if "## Part 30\\n" not in asked_once]
    assert set(answered) == {1}  # what was answered before the pause is not asked again
    assert check_chunks(TEXT, as_drafts(await made_by(scene, job))) == []


async def test_what_a_model_cannot_do_is_done_by_structure(
    scene: Scene, provider: Provider, served: ModelServer
) -> None:
    document, _ = await scene.add(TEXT)
    no = Reply(content="I would rather not.")
    provider.answer = lambda body: no if "## Part 30\n" in asked(body) else point(body)
    job = await run_job(scene, document.id)
    assert job.status is JobStatus.COMPLETED
    assert job.result is not None
    assert job.result["fallbacks"] > 0
    assert job.result["halvings"] > 0
    assert check_chunks(TEXT, as_drafts(await made_by(scene, job))) == []
    provider.answer = point
    better = await run_job(scene, document.id)
    assert better.result is not None
    assert better.result["fallbacks"] == 0  # an answer that was of no use is not taken from the store
    assert better.result["calls"] > 0


async def test_a_sentinel_stands_for_what_failed_and_can_be_retried_alone(
    scene: Scene, provider: Provider, served: ModelServer
) -> None:
    async with scene.bench.db.write() as conn:
        settings = {"chunking": {"fallback": "sentinel"}}
        await change_space(
            conn, scene.owner, scene.space_id, changes={"settings": settings}, now=scene.bench.clock()
        )
    document, _ = await scene.add(TEXT)
    lie = Reply(
        tool_calls=(ToolCall("generate_content_summary", {"units": [{"line": 9999, "summary": "x"}]}),)
    )
    provider.answer = lambda body: lie if "## Part 30\n" in asked(body) else point(body)
    job = await run_job(scene, document.id)
    assert job.result is not None
    assert job.result["sentinels"] == 1
    made = await made_by(scene, job)
    assert check_chunks(TEXT, as_drafts(made)) == []
    (failed,) = [chunk for chunk in made if chunk.type is ChunkType.ERROR]
    assert failed.level == -99
    assert failed.summary.startswith("Chunking failed after 5 retries. Last error: ")
    assert "there is no line 9999" in failed.summary
    await create_job(scene.bench, scene.owner, JobRequest("indexing", document.id))
    await scene.work()
    provider.answer = point
    calls = provider.calls
    retried = await run_job(scene, document.id, region=[failed.start_line, failed.end_line])
    assert retried.status is JobStatus.COMPLETED, retried.reason
    assert provider.calls == calls + 1
    whole = await made_by(scene, retried)
    assert check_chunks(TEXT, as_drafts(whole)) == []
    assert not [chunk for chunk in whole if chunk.type is ChunkType.ERROR]
    kept = {chunk.id for chunk in made} & {chunk.id for chunk in whole}
    assert len(kept) > len(made) // 2
    wrong = await run_job(scene, document.id, region=[2, 3])
    assert wrong.status is JobStatus.FAILED


async def test_what_is_private_is_hidden_and_not_sent(
    scene: Scene, provider: Provider, served: ModelServer
) -> None:
    text = TEXT.replace("pump 泵 number 7 ", "pump of jane.doe@example.com number 7 ")
    document, _ = await scene.add(text)

    def redact(body: Body) -> Reply:
        reply = point(body)
        hide = {"start_line": 3, "end_line": 3, "kind": "private", "reason": "a person's illness"}
        return replace(reply, tool_calls=(*reply.tool_calls, ToolCall("redact_lines", {"ranges": [hide]})))

    provider.answer = redact
    job = await run_job(scene, document.id)
    made = await made_by(scene, job)
    assert check_chunks(text, as_drafts(made)) == []
    assert not any("jane.doe@example.com" in question for question in provider.counts)
    assert not any("jane.doe" in chunk.summary for chunk in made)
    kinds = {str(item.kind) for chunk in made for item in load_redactions(chunk.redaction)}
    assert kinds >= {"email", "private"}
    first = next(chunk for chunk in made if chunk.start_line == 3)
    assert "number 0 " in first.raw_content
    assert "number 0 " not in first.summary
