"""The one way to record work: rows, progress and money together, under the fence, and only forward."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.domain.jobs import JobStatus, Spent
from kosmos.errors import EngineUnavailable, InvalidInput, LeaseLost
from kosmos.jobs.run import MAX_PROGRESS, Run

from .stage import LEASE, Stage, lines, write_line


async def _run(stage: Stage) -> Run:
    await stage.make_one()
    (taken,) = await stage.claim()
    return stage.run_of(taken)


async def test_rows_progress_and_money_commit_together(stage: Stage) -> None:
    run = await _run(stage)
    stage.clock.advance(3)
    run.spend(Spent(10, 4, 2, 0.5))
    run.spend(Spent(1, 0, 1, 0.25))
    async with run.batch({"current_line": 5, "total_lines": 9}) as conn:
        await write_line(conn, "five")
    job = await stage.get(run.job.id)
    assert await lines(stage.db) == ["five"]
    assert job.progress == run.progress == {"current_line": 5, "total_lines": 9}
    assert job.spent == run.job.spent == Spent(11, 4, 3, 0.75)
    assert (job.attempts, job.due_at) == (0, stage.clock() + LEASE)
    assert run.unbooked() == Spent()


async def test_a_batch_that_fails_leaves_nothing_but_the_bill(stage: Stage) -> None:
    run = await _run(stage)
    run.spend(Spent(prompt_tokens=3))
    with pytest.raises(ValueError, match="boom"):
        async with run.batch({"current_line": 5}) as conn:
            await write_line(conn, "five")
            raise ValueError("boom")
    job = await stage.get(run.job.id)
    assert (await lines(stage.db), job.progress, run.progress) == ([], {}, {})
    assert (job.spent, run.unbooked()) == (Spent(), Spent(prompt_tokens=3))
    async with run.batch({"current_line": 2}) as conn:
        await write_line(conn, "two")
    assert await lines(stage.db) == ["two"]


@pytest.mark.parametrize("verb", ["cancel", "take over"])
async def test_a_claim_that_is_over_can_write_nothing(stage: Stage, verb: str) -> None:
    run = await _run(stage)
    if verb == "take over":
        stage.clock.advance(60)
        await stage.claim(name="bob")
    else:
        await stage.tell(verb, run.job.id)
    before = await stage.get(run.job.id)
    with pytest.raises(LeaseLost):
        async with run.batch({"current_line": 5}) as conn:
            await write_line(conn, "never")
    assert (await lines(stage.db), await stage.get(run.job.id)) == ([], before)
    assert run.lost.is_set()
    with pytest.raises(LeaseLost):
        run.check()


async def test_progress_does_not_go_back(stage: Stage) -> None:
    run = await _run(stage)
    progress = {"current_line": 4, "total_lines": 9}
    async with run.batch({"current_line": 5}):
        pass
    with pytest.raises(InvalidInput, match="backwards: current_line from 5"):
        async with run.batch(progress):
            pass
    assert (await stage.get(run.job.id)).progress == {"current_line": 5}
    async with run.restart(progress) as conn:
        await write_line(conn, "anew")
    assert (await stage.get(run.job.id)).progress == run.progress == progress


async def test_progress_that_cannot_be_stored_is_refused(stage: Stage) -> None:
    run = await _run(stage)
    run.spend(Spent(prompt_tokens=3))
    for value in ("x" * MAX_PROGRESS, float("inf"), "\x00"):
        with pytest.raises(InvalidInput):
            async with run.batch({"note": value}):
                pass
    job = await stage.get(run.job.id)
    assert (job.status, job.progress, run.unbooked()) == (JobStatus.RUNNING, {}, Spent(prompt_tokens=3))


async def test_only_a_step_forward_resets_the_attempts(stage: Stage) -> None:
    """Otherwise a handler that commits something and then kills its worker would do so for ever."""
    run = await _run(stage)
    async with run.batch():
        pass
    async with run.restart({"current_line": 0}):
        pass
    async with run.batch({"current_line": 0}):
        pass
    assert (await stage.get(run.job.id)).attempts == run.job.attempts == 1
    async with run.batch({"current_line": 1}):
        pass
    assert (await stage.get(run.job.id)).attempts == run.job.attempts == 0


async def test_after_a_commit_in_doubt_only_a_new_claim_goes_on(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit was done, but the answer was lost: doing the batch again would do it twice."""
    run = await _run(stage)
    write = run.db.write

    @asynccontextmanager
    async def lose_the_answer() -> AsyncIterator[AsyncConnection]:
        async with write() as conn:
            yield conn
        raise EngineUnavailable("No answer.")

    with monkeypatch.context() as patch:
        patch.setattr(run.db, "write", lose_the_answer)
        with pytest.raises(EngineUnavailable, match="No answer"):
            async with run.batch({"current_line": 5}) as conn:
                await write_line(conn, "five")
    with pytest.raises(EngineUnavailable, match="not known whether"):
        async with run.batch({"current_line": 5}) as conn:
            await write_line(conn, "five again")
    assert await lines(stage.db) == ["five"]
    stage.clock.advance(60)
    (again,) = await stage.claim()
    assert again.progress == {"current_line": 5}
