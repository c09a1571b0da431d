"""What a provider refuses costs one region; a model that is of no use at all is given up soon."""

from pathlib import Path

import pytest

from kosmos.chunking.rules import as_drafts, check_chunks
from kosmos.db import ledger
from kosmos.db.ledger import About
from kosmos.domain.chunks import ChunkType
from kosmos.domain.jobs import JobStatus
from kosmos.doubles.model_server import ModelServer, Reply
from kosmos.tasks.jobs import retry_job
from kosmos.tasks.pointing_desk import MOST_USELESS

from .pointers import Provider, add_model, asked, point, set_space
from .scene import Scene
from .test_pointing_jobs import TEXT, finish, made_by, run_job


async def test_a_question_that_is_refused_costs_its_lines_only(scene: Scene, tmp_path: Path) -> None:
    await set_space(scene, {"chunking": {"fallback": "sentinel"}})
    provider = Provider(lambda body: Reply(status=400) if "## Part 30\n" in asked(body) else point(body))
    async with ModelServer(provider.decide) as server:
        await add_model(scene, server.base_url, tmp_path)
        document, _ = await scene.add(TEXT)
        job = await run_job(scene, document.id)
    assert job.status is JobStatus.COMPLETED, job.reason
    made = await made_by(scene, job)
    assert check_chunks(TEXT, as_drafts(made)) == []
    (failed,) = [chunk for chunk in made if chunk.type is ChunkType.ERROR]
    assert "## Part 30\n" in failed.raw_content
    assert failed.end_line - failed.start_line < len(TEXT.split("\n")) / 4
    assert failed.summary.startswith(
        "Chunking failed after 2 retries. Last error: pointer (scripted) refused"
    )
    assert job.result is not None
    assert job.result["answered"] > 1


@pytest.mark.parametrize("status", [401, 404])
async def test_a_key_that_is_refused_ends_the_job_at_once(scene: Scene, tmp_path: Path, status: int) -> None:
    provider = Provider(lambda _body: Reply(status=status))
    async with ModelServer(provider.decide) as server:
        await add_model(scene, server.base_url, tmp_path, parallel_batches=1)
        document, _ = await scene.add(TEXT)
        job = await run_job(scene, document.id)
    assert (job.status, provider.calls) == (JobStatus.FAILED, 1)
    assert "refused" in (job.reason or "")


@pytest.mark.parametrize("parallel", [1, 4])
async def test_a_model_of_no_use_is_given_up_and_another_one_starts_afresh(
    scene: Scene, tmp_path: Path, parallel: int
) -> None:
    provider = Provider(lambda _body: Reply(content="I would rather not."))
    text = "\n\n".join([TEXT.replace("Part", f"Part {n}.") for n in range(3)])
    async with ModelServer(provider.decide) as server:
        await add_model(scene, server.base_url, tmp_path, parallel_batches=parallel)
        document, _ = await scene.add(text)
        job = await run_job(scene, document.id)
        assert job.status is JobStatus.FAILED
        assert "None of the first 24 answers of pointer (scripted) could be used" in (job.reason or "")
        assert "producer=structure" in (job.reason or "")
        assert MOST_USELESS <= provider.calls < MOST_USELESS + parallel
        assert await made_by(scene, job) == []
        async with scene.bench.db.read() as conn:
            (line,) = await ledger.sum_charges(conn, About(job_id=job.id))
        booked, spent = line.sum.spent, job.spent
        assert (line.sum.calls, booked.prompt_tokens) == (provider.calls, spent.prompt_tokens)
        assert booked.cost == pytest.approx(spent.cost)
        provider.answer, calls = point, provider.calls
        await retry_job(scene.bench, scene.owner, job.id)
        better = await finish(scene, job.id)
    assert better.status is JobStatus.COMPLETED, better.reason
    assert provider.calls > calls
    assert better.result is not None
    assert better.result["fallbacks"] == 0
    assert check_chunks(text, as_drafts(await made_by(scene, better))) == []
    await scene.check_tidy()
