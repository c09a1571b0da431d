"""Runs seen from another process, which never looks by itself: only rings wake it."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from kosmos.db import runs as table
from kosmos.domain.sessions import Run, RunStatus
from kosmos.doubles.model_server import ModelServer, Reply
from kosmos.tasks import run_dead, run_hall, runs
from kosmos.tasks.run_hall import RunHall
from kosmos.tasks.workbench import Workbench

from .scene import Scene
from .talks import Talk, said, talk_with, use_model

NEVER = 600.0
STALLED = Reply(content="so on " * 40, pace=0.01, truncate_after=20, hang=True)


@pytest.fixture(autouse=True)
def _blindly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "POLL_SECONDS", NEVER)
    monkeypatch.setattr(run_hall, "BEAT_SECONDS", NEVER)


def another(bench: Workbench) -> Workbench:
    """The same engines in another process, as far as anybody can tell."""
    elsewhere = replace(bench, runs=RunHall(bench.bell))
    elsewhere.runs.worker = "elsewhere:1:abc"
    return elsewhere


async def _ready(scene: Scene, server: ModelServer) -> Talk:
    await use_model(scene, server)
    return await talk_with(scene, allowed_tools=[])


async def test_events_wake_those_who_follow(scene: Scene) -> None:
    async with ModelServer([Reply(content="word " * 20, pace=0.02)]) as server:
        talk = await _ready(scene, server)
        run = await talk.start("Tell me.")
        stream = runs.follow_run(another(scene.bench), scene.owner, talk.session.id, run.id)
        async with asyncio.timeout(60):
            events = [event async for event in stream if event is not None]
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    assert said(events).strip() == ("word " * 20).strip()


async def test_a_stop_is_heard_at_once(scene: Scene) -> None:
    async with ModelServer([STALLED]) as server:
        talk = await _ready(scene, server)
        run = await talk.start("Tell me.")
        elsewhere = another(scene.bench)
        following = asyncio.create_task(talk.follow(run.id))
        await asyncio.sleep(0.1)
        await runs.stop_run(elsewhere, scene.owner, talk.session.id, run.id)
        async with asyncio.timeout(60):
            events = await following
    assert events[-1].payload["status"] == "STOPPED"


async def test_of_many_who_see_a_dead_run_one_ends_it_and_nobody_one_that_was_taken(scene: Scene) -> None:
    async with ModelServer([Reply(hang=True)]) as server:
        talk = await _ready(scene, server)
        elsewhere = another(scene.bench)
        begun = await talk.start("Tell me.")
        await server.until_active(1, within=30)
        await scene.bench.runs.flush(begun.id)  # it says nothing more by itself
        async with scene.bench.db.write() as conn:
            assert await table.claim_run(
                conn,
                begun.id,
                RunStatus.RUNNING,
                before=begun.worker,
                worker="somebody:1:x",
                now=scene.bench.clock(),
            )
        await run_dead.bury(elsewhere, begun)  # as it was when it was found dead
        assert (await _get(scene, begun.id)).status is RunStatus.RUNNING
        now = await _get(scene, begun.id)
        await asyncio.gather(*(run_dead.bury(bench, now) for bench in (elsewhere, scene.bench)))
        assert (await _get(scene, begun.id)).status is RunStatus.INTERRUPTED
        stream = runs.follow_run(elsewhere, scene.owner, talk.session.id, begun.id)
        ends = [event async for event in stream if event is not None and event.type == "run_end"]
        assert len(ends) == 1


async def _get(scene: Scene, run_id: str) -> Run:
    async with scene.bench.db.read() as conn:
        found = await table.get_run(conn, run_id)
    assert found is not None
    return found


async def test_a_run_that_was_let_go_is_dead_for_everybody(scene: Scene) -> None:
    async with ModelServer([Reply(hang=True)]) as server:
        talk = await _ready(scene, server)
        run = await talk.start("Tell me.")
        await server.until_active(1, within=30)
        await scene.bench.runs.flush(run.id)
        elsewhere = another(scene.bench)
        assert await run_dead.dead_runs(elsewhere) == []
        async with scene.bench.db.write() as conn:
            await table.let_go(conn, run.id, scene.bench.clock())
        (dead,) = await run_dead.dead_runs(elsewhere)
        assert dead.id == run.id
        assert dead.seen_at < scene.bench.clock() - timedelta(seconds=run_hall.DEAD_SECONDS)
