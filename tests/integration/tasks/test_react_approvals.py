"""Approvals: bound to one call, used once, expiring; runs that go on after a word and after a crash."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from kosmos.db import approvals as table
from kosmos.db import runs as run_table
from kosmos.domain.accounts import Scope
from kosmos.domain.approvals import ApprovalStatus
from kosmos.domain.events import EventType, StoredEvent
from kosmos.domain.sessions import RunStatus
from kosmos.doubles.model_server import ModelServer
from kosmos.errors import Conflict, Forbidden
from kosmos.tasks import approvals, runs
from kosmos.tasks.approvals import RunApprovals
from kosmos.tasks.run_hall import RunHall
from kosmos.tasks.run_resuming import decide, resume_decided, revive_dead, tend_runs

from .reacting import Cluster, Mind, analysis, answer, judge, kubectl, react_with
from .scene import Scene
from .talks import Talk, final, payloads, use_model


def deleting(**more: Any) -> Mind:
    """A model that wants to delete a pod."""
    given: dict[str, Any] = {
        "analyses": [analysis("RESOURCE_DELETION", "MEDIUM")],
        "plans": [kubectl("delete", "pod", "web"), answer("It was not to be.")],
        "judgements": [judge("PASS", "TO_EXPRESSION", "T1")],
        "words": ["Pod web is deleted (T1)."],
    }
    return Mind(**{**given, **more})


@asynccontextmanager
async def waiting(scene: Scene, mind: Mind | None = None) -> AsyncIterator[tuple[Talk, Cluster, Any]]:
    """A run that waits for a word on deleting a pod."""
    cluster = Cluster({"delete": "pod web deleted"})
    async with ModelServer(mind or deleting()) as server:
        await use_model(scene, server)
        talk = await react_with(scene, cluster)
        run = await talk.start("Delete pod web.")
        await until(talk, run.id, patient=False)
        (asked,) = await approvals.list_approvals(scene.bench, scene.owner)
        assert asked.run_id == run.id
        yield talk, cluster, asked


async def until(talk: Talk, run_id: str, *, patient: bool = True) -> list[StoredEvent]:
    """The events of a run until it ends, or waits."""
    bench, who = talk.scene.bench, talk.scene.owner
    stream = runs.follow_run(bench, who, talk.session.id, run_id, patient=patient)
    return [event async for event in stream if event is not None]


async def test_an_approved_call_is_made_once_and_the_stream_goes_on(scene: Scene) -> None:
    async with waiting(scene) as (talk, cluster, asked):
        assert cluster.changes == []
        following = asyncio.create_task(until(talk, asked.run_id))
        await asyncio.sleep(0)
        decided = await decide(talk.scene.bench, scene.owner, asked.id, approved=True)
        events = await following
    assert decided.status is ApprovalStatus.APPROVED
    assert cluster.changes == [["delete", "pod", "web"]]
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    assert payloads(events, EventType.APPROVAL_RESULT)[0]["approved"] is True
    assert final(events)["answer"] == "Pod web is deleted (T1)."
    after = await approvals.get_approval(scene.bench, scene.owner, asked.id)
    assert after.status is ApprovalStatus.USED
    with pytest.raises(Conflict):
        await decide(talk.scene.bench, scene.owner, asked.id, approved=True)


async def test_a_refusal_goes_back_to_planning(scene: Scene) -> None:
    mind = deleting()
    async with waiting(scene, mind) as (talk, cluster, asked):
        await decide(talk.scene.bench, scene.owner, asked.id, approved=False, reason="Not today.")
        events = await until(talk, asked.run_id)
    assert cluster.changes == []
    assert final(events)["answer"] == "It was not to be."
    assert "Not today." in mind.asked("execution_plan")[1]


async def test_too_late_a_word_is_a_no(scene: Scene) -> None:
    async with waiting(scene) as (talk, cluster, asked):
        scene.later(approvals.ASKED_FOR.total_seconds() + 1)
        decided = await decide(talk.scene.bench, scene.owner, asked.id, approved=True)
        await until(talk, asked.run_id)
    assert decided.status is ApprovalStatus.EXPIRED
    assert cluster.changes == []


async def test_a_word_that_was_only_stored_is_heard_of(scene: Scene) -> None:
    async with waiting(scene) as (talk, cluster, asked):
        assert await resume_decided(talk.scene.bench) == 0
        await approvals.record_decision(scene.bench, scene.owner, asked.id, approved=True)
        assert await resume_decided(talk.scene.bench) == 1
        assert await resume_decided(talk.scene.bench) == 0
        await until(talk, asked.run_id)
    assert cluster.changes == [["delete", "pod", "web"]]


async def test_what_nobody_decides_goes_on_without(scene: Scene) -> None:
    async with waiting(scene) as (talk, cluster, asked):
        scene.later(approvals.ASKED_FOR.total_seconds() + 1)
        assert await resume_decided(talk.scene.bench) == 1
        events = await until(talk, asked.run_id)
    assert cluster.changes == []
    assert final(events)["answer"] == "It was not to be."


async def test_what_waits_can_be_stopped(scene: Scene) -> None:
    async with waiting(scene) as (talk, cluster, asked):
        with pytest.raises(Conflict, match="waits for your approval"):
            await runs.collect_run(talk.scene.bench, scene.owner, talk.session.id, asked.run_id)
        stopped = await runs.stop_run(talk.scene.bench, scene.owner, talk.session.id, asked.run_id)
        assert stopped.status is RunStatus.STOPPED
        with pytest.raises(Conflict):
            await decide(talk.scene.bench, scene.owner, asked.id, approved=True)
    assert cluster.changes == []


async def test_a_token_that_may_only_write_decides_nothing(scene: Scene) -> None:
    async with waiting(scene) as (talk, cluster, asked):
        writer = replace(scene.owner, scope=Scope.WRITE)
        with pytest.raises(Forbidden):
            await decide(talk.scene.bench, writer, asked.id, approved=True)
    assert cluster.changes == []


async def test_an_approval_holds_for_one_call_of_one_run(scene: Scene) -> None:
    async with waiting(scene) as (talk, _, asked):
        await approvals.record_decision(scene.bench, scene.owner, asked.id, approved=True)
        mine, other = RunApprovals(scene.bench, asked.run_id), RunApprovals(scene.bench, talk.session.id)
        assert "another call" in str(await mine.use(asked.id, "0" * 64))
        assert "another call" in str(await other.use(asked.id, asked.digest))
        got = await asyncio.gather(*(mine.use(asked.id, asked.digest) for _ in range(5)))
        assert sorted(item is None for item in got) == [False, False, False, False, True]
        assert all("started before" in str(item) for item in got if item is not None)


async def test_an_approval_that_nobody_used_in_time_is_worth_nothing(scene: Scene) -> None:
    async with waiting(scene) as (_, _, asked):
        await approvals.record_decision(scene.bench, scene.owner, asked.id, approved=True)
        scene.later(approvals.GOOD_FOR.total_seconds() + 1)
        said = await RunApprovals(scene.bench, asked.run_id).use(asked.id, asked.digest)
    assert "expired" in str(said)


async def test_a_run_goes_on_in_another_process_after_the_word(scene: Scene) -> None:
    async with waiting(scene) as (talk, cluster, asked):
        elsewhere = replace(talk.scene.bench, runs=RunHall())
        elsewhere.runs.worker = "elsewhere:1:abc"
        await decide(elsewhere, scene.owner, asked.id, approved=True)
        stream = runs.follow_run(elsewhere, scene.owner, talk.session.id, asked.run_id)
        events = [event async for event in stream if event is not None]
        await elsewhere.runs.close()
    assert cluster.changes == [["delete", "pod", "web"]]
    assert final(events)["answer"] == "Pod web is deleted (T1)."


async def test_a_word_that_is_only_stored_is_heard_by_whoever_tends_runs(scene: Scene) -> None:
    async with waiting(scene) as (talk, cluster, asked):
        tending = asyncio.create_task(tend_runs(talk.scene.bench, every=600))
        await asyncio.sleep(0)
        await approvals.record_decision(talk.scene.bench, scene.owner, asked.id, approved=True)
        async with asyncio.timeout(60):
            events = await until(talk, asked.run_id)
        tending.cancel()
        await asyncio.gather(tending, return_exceptions=True)
    assert cluster.changes == [["delete", "pod", "web"]]
    assert final(events)["answer"] == "Pod web is deleted (T1)."


@pytest.mark.parametrize("used", [False, True], ids=["approved", "started"])
async def test_a_run_whose_process_died_after_the_word_is_taken_up(scene: Scene, used: bool) -> None:
    mind = deleting(judgements=[judge("PASS", "TO_EXPRESSION", "T1")])
    async with waiting(scene, mind) as (talk, cluster, asked):
        await approvals.record_decision(scene.bench, scene.owner, asked.id, approved=True)
        bench, now = talk.scene.bench, scene.bench.clock()
        async with bench.db.write() as conn:
            run = await run_table.get_run(conn, asked.run_id)
            assert run is not None
            assert await run_table.claim_run(
                conn, run.id, RunStatus.WAITING, before=run.worker, worker="gone:1:abc", now=now
            )
            if used:
                assert await table.use(conn, asked.id, run_id=run.id, digest=asked.digest, now=now)
        scene.later(120)
        await revive_dead(bench)
        events = await until(talk, asked.run_id)
    assert cluster.changes == ([] if used else [["delete", "pod", "web"]])
    errors = [item.get("error", "") for item in payloads(events, EventType.TOOL_RESULT)]
    assert any("started before" in text for text in errors) is used
    assert events[-1].type is EventType.RUN_END


async def test_without_the_extra_the_run_says_what_to_install(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    for name in ("langgraph", "langgraph.graph", "langgraph.checkpoint.serde.jsonplus"):
        monkeypatch.setitem(sys.modules, name, None)
    async with ModelServer(deleting()) as server:
        await use_model(scene, server)
        events = await (await react_with(scene)).ask("Delete pod web.")
    (error,) = payloads(events, EventType.ERROR)
    assert "kosmos[ops]" in error["remedy"]
