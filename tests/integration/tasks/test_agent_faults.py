"""Everything that can go wrong in a run, each leaving a session that can go on."""

from typing import Any

import pytest

from kosmos.domain.events import EventType
from kosmos.domain.sessions import MessageRole, RunStatus
from kosmos.doubles.model_server import ModelServer, Reply, ToolCall
from kosmos.errors import Conflict
from kosmos.tasks import agents, runs, sessions
from kosmos.tools import registry

from .scene import Scene
from .talks import (
    PUMP,
    Talk,
    call,
    final,
    numbers_in,
    payloads,
    said,
    search,
    talk_with,
    tool_texts,
    use_model,
)


def last_tool(body: dict[str, Any]) -> str:
    return str([item for item in body["messages"] if item["role"] == "tool"][-1]["content"])


async def check_goes_on(talk: Talk, server: ModelServer) -> None:
    """The next question is answered, and the talk that is sent is one that servers take."""
    events = await talk.ask("And now?")
    assert final(events)["answer"]
    body = server.requests[-1].body
    open_calls: set[str] = set()
    for message in body["messages"]:
        if message["role"] == "tool":
            assert message["tool_call_id"] in open_calls
            open_calls.discard(message["tool_call_id"])
        else:
            assert not open_calls, "a call without its result"
        open_calls |= {item["id"] for item in message.get("tool_calls") or ()}
    roles = [message.role for message in await talk.messages()]
    assert roles[-1] is MessageRole.ASSISTANT


async def test_malformed_calls_go_back_with_the_reason(scene: Scene) -> None:
    await scene.add(PUMP, "pump.md")
    script = [
        Reply(tool_calls=(ToolCall("search", "{broken"), ToolCall("search", {"q": 1}))),
        Reply(tool_calls=(ToolCall("delete_space", {}), ToolCall("search", {"query": "pump"}))),
        Reply(content="Done."),
    ]
    async with ModelServer(script) as server:
        await use_model(scene, server)
        talk = await talk_with(scene)
        events = await talk.ask("How often?")
        assert final(events)["answer"] == "Done."
        results = payloads(events, EventType.TOOL_RESULT)
        assert [item["ok"] for item in results] == [False, False, False, True]
        assert "no JSON object" in tool_texts(server.requests[1].body)
        assert "query" in tool_texts(server.requests[1].body)
        assert "There is no tool 'delete_space'" in tool_texts(server.requests[2].body)
        await check_goes_on(talk, server)


async def test_a_hanging_tool_is_reported(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run(self: registry.Toolbox, name: str, arguments: Any) -> Any:
        raise registry.ToolFailed("search took longer than 30 s and was stopped.")

    monkeypatch.setattr(registry.Toolbox, "run", run)
    async with ModelServer([search(), Reply(content="I could not look it up.")]) as server:
        await use_model(scene, server)
        talk = await talk_with(scene)
        events = await talk.ask("How often?")
        assert final(events)["answer"] == "I could not look it up."
        assert "took longer" in last_tool(server.requests[1].body)
        await check_goes_on(talk, server)


async def test_the_step_limit_ends_in_an_answer_that_says_so(scene: Scene) -> None:
    await scene.add(PUMP, "pump.md")

    def decide(body: dict[str, Any]) -> Reply:
        if body.get("tools"):
            return call("search", query=f"pump {len(body['messages'])}")
        return Reply(content=f"Every 40 days [{numbers_in(body)[0]}].")

    async with ModelServer(decide) as server:
        await use_model(scene, server)
        talk = await talk_with(scene, step_limit=3)
        events = await talk.ask("How often?")
        answer = final(events)
        assert len(server.requests) == 3
        assert "step limit" in answer["answer"]
        assert answer["citations"]
        assert said(events) == answer["answer"]
        assert "No more tools" in str(server.requests[2].body["messages"][-1]["content"])
        chinese = final(await talk.ask("多久加一次油？"))
        assert "步数上限" in chinese["answer"]
        await check_goes_on(talk, server)


async def test_the_same_call_twice_is_stopped(scene: Scene) -> None:
    await scene.add(PUMP, "pump.md")
    script = [search("pump"), search("pump"), search("pump"), Reply(content="Enough.")]
    async with ModelServer(script) as server:
        await use_model(scene, server)
        talk = await talk_with(scene)
        events = await talk.ask("How often?")
        assert final(events)["answer"] == "Enough."
        assert [item["ok"] for item in payloads(events, EventType.TOOL_RESULT)] == [True, False, False]
        assert "this very call" in last_tool(server.requests[2].body)
        assert "tools" not in server.requests[3].body
        await check_goes_on(talk, server)


async def test_a_model_that_does_not_look_is_made_to(scene: Scene) -> None:
    await scene.add(PUMP, "pump.md")
    async with ModelServer([Reply(content="From memory."), Reply(content="Looked up.")]) as server:
        await use_model(scene, server)
        talk = await talk_with(scene)
        events = await talk.ask("How often is the pump oiled?")
        assert final(events)["answer"] == "Looked up."
        assert payloads(events, EventType.ANSWER_RETRACTED)
        assert "oiled every 40 days" in tool_texts(server.requests[1].body)


async def test_an_empty_reply_is_asked_for_again(scene: Scene) -> None:
    async with ModelServer([search(), Reply(content=""), Reply(content="Now.")]) as server:
        await use_model(scene, server)
        talk = await talk_with(scene)
        assert (await talk.answer("How often?"))["answer"] == "Now."
        assert "empty" in str(server.requests[2].body["messages"][-1]["content"])


async def test_a_provider_that_breaks_off_for_good(scene: Scene) -> None:
    script = [search(), *[Reply(content="It begins well and then", truncate_after=4)] * 3]
    async with ModelServer(script, default=Reply(content="Fine again.", repeat=True)) as server:
        await use_model(scene, server)
        talk = await talk_with(scene)
        talk.scene = scene.using(provider_seconds=5.0)
        run = await talk.start("How often?")
        events = await talk.follow(run.id)
        assert events[-1].payload["status"] == "FAILED"
        (error,) = payloads(events, EventType.ERROR)
        assert error["retryable"]
        assert error["remedy"]
        assert said(events) == ""
        ended = await runs.require_run(scene.bench, scene.owner, talk.session.id, run.id)
        assert (ended.status, ended.error) == (RunStatus.FAILED, error["message"])
        await check_goes_on(talk, server)


async def test_a_provider_that_breaks_off_once(scene: Scene) -> None:
    script = [search(), Reply(content="It begins well", truncate_after=3), Reply(content="Every 40 days.")]
    async with ModelServer(script) as server:
        await use_model(scene, server)
        talk = await talk_with(scene)
        events = await talk.ask("How often?")
        assert said(events) == final(events)["answer"] == "Every 40 days."


async def test_a_run_can_be_stopped(scene: Scene) -> None:
    slow = Reply(content="word " * 400, pace=0.02)
    async with ModelServer([search(), slow], default=Reply(content="Fine.", repeat=True)) as server:
        await use_model(scene, server)
        talk = await talk_with(scene)
        run = await talk.start("How often?")
        async for event in runs.follow_run(scene.bench, scene.owner, talk.session.id, run.id):
            if event is not None and event.type is EventType.ANSWER_CHUNK:
                break
        ended = await runs.stop_run(scene.bench, scene.owner, talk.session.id, run.id)
        assert ended.status is RunStatus.STOPPED
        events = await talk.follow(run.id)
        assert events[-1].payload["status"] == "STOPPED"
        await server.until_active(0)
        messages = await talk.messages()
        assert messages[-1].content.startswith("word")
        assert messages[-1].metadata["status"] == "STOPPED"
        again = await runs.stop_run(scene.bench, scene.owner, talk.session.id, run.id)
        assert again.status is RunStatus.STOPPED
        await check_goes_on(talk, server)


async def test_one_answer_at_a_time(scene: Scene) -> None:
    async with ModelServer([search(), Reply(content="slow", delay=0.3)]) as server:
        await use_model(scene, server)
        talk = await talk_with(scene)
        run = await talk.start("How often?")
        with pytest.raises(Conflict):
            await talk.start("And?")
        assert final(await talk.follow(run.id))["answer"] == "slow"


async def test_an_agent_that_is_deleted_during_its_run(scene: Scene) -> None:
    await scene.add(PUMP, "pump.md")
    async with ModelServer([search(), Reply(content="Still here.", delay=0.2)]) as server:
        await use_model(scene, server)
        talk = await talk_with(scene)
        run = await talk.start("How often?")
        await agents.remove_agent(scene.bench, scene.owner, talk.agent.id)
        assert final(await talk.follow(run.id))["answer"] == "Still here."
        session = await sessions.get_session(scene.bench, scene.owner, talk.session.id)
        assert session.agent_id is None
        await check_goes_on(talk, server)


async def test_a_session_that_is_deleted_during_its_run_harms_no_other(scene: Scene) -> None:
    script = [Reply(content="word " * 100, pace=0.01, repeat=True)]
    async with ModelServer(script) as server:
        await use_model(scene, server)
        gone, stays = (
            await talk_with(scene, allowed_tools=[]),
            await talk_with(scene, name="b", allowed_tools=[]),
        )
        lost, kept = await gone.start("q"), await stays.start("q")
        await server.until_active(2)
        await sessions.remove_session(scene.bench, scene.owner, gone.session.id)
        assert final(await stays.follow(kept.id))["answer"].startswith("word")
        assert scene.bench.runs.live(lost.id) is None
