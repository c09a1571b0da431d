"""The scenarios of the operations agent on the real graph, with a scripted model behind real HTTP."""

import json
from collections.abc import AsyncIterator

from kosmos.domain.events import EventType, StoredEvent
from kosmos.doubles.model_server import ModelServer, Reply, ToolCall
from kosmos.tasks import runs

from .reacting import (
    RUNBOOK,
    Cluster,
    Mind,
    analysis,
    answer,
    judge,
    kubectl,
    nodes,
    react_with,
    retrieve,
)
from .scene import Scene
from .talks import Talk, final, payloads, use_model


async def test_a_pending_pod_is_diagnosed(scene: Scene) -> None:
    await scene.add(RUNBOOK, "runbook.md")
    mind = Mind(
        plans=[kubectl("describe", "pod", "web"), retrieve("pod Pending memory")],
        judgements=[judge("PASS", "TO_PLANNING", "T1"), judge("PASS", "TO_EXPRESSION", "T1", "[1]")],
        words=["No node has enough memory [1] (T1)."],
    )
    cluster = Cluster({"describe": "0/3 nodes are available: 3 Insufficient memory."})
    async with ModelServer(mind) as server:
        await use_model(scene, server)
        talk = await react_with(scene, cluster)
        events = await talk.ask("Why is pod web pending?")
    found = final(events)
    assert found["strategy"] == "react"
    assert found["answer"] == "No node has enough memory [1] (T1)."
    assert found["citations"][0]["quote"] in RUNBOOK
    assert "memory" in found["citations"][0]["quote"]
    assert cluster.ran == [["describe", "pod", "web"]]
    assert nodes(events) == [
        *("sensory", "analysis", "planning", "tool_call", "regulation"),
        *("planning", "retrieval", "rerank", "regulation", "expression"),
    ]
    assert "Insufficient memory" in mind.asked("self_evaluation")[0]


async def test_a_question_of_knowledge_is_looked_up_whatever_is_planned(scene: Scene) -> None:
    await scene.add(RUNBOOK, "runbook.md")
    mind = Mind(
        analyses=[analysis("KNOWLEDGE_QA")],
        plans=[answer("From memory: no idea.")],
        judgements=[judge("PASS", "TO_EXPRESSION", "[1]")],
        words=["先确认副本数不少于 2 [1]。"],
    )
    async with ModelServer(mind) as server:
        await use_model(scene, server)
        events = await (await react_with(scene)).ask("重启 web 服务之前要确认什么？")
    assert "planning retrieval rerank regulation expression" in " ".join(nodes(events))
    assert "From memory" not in final(events)["answer"]
    assert "模式：强制检索" in mind.systems("execution_plan")[0]
    assert "你是 Kosmos 的运维智能体" in mind.systems("words")[0]


async def test_a_dangerous_operation_is_recognised_and_waits(scene: Scene) -> None:
    await scene.add(RUNBOOK, "runbook.md")
    mind = Mind(
        analyses=[analysis("RESOURCE_DELETION", "CRITICAL")],
        plans=[kubectl("delete", "pod", "web"), kubectl("delete", "pod", "web")],
        judgements=[judge("PASS", "TO_PLANNING", "[1]")],
    )
    cluster = Cluster()
    async with ModelServer(mind) as server:
        await use_model(scene, server)
        talk = await react_with(scene, cluster)
        run = await talk.start("Delete pod web.")
        stream = [event async for event in _until_waiting(talk, run.id)]
    asked = payloads(stream, EventType.APPROVAL_REQUEST)
    assert [item["argv"] for item in asked] == [["kubectl", "delete", "pod", "web"]]
    assert asked[0]["level"] == "CRITICAL"
    assert "retrieval" in nodes(stream)  # what is dangerous is looked up first
    assert cluster.changes == []
    assert "--dry-run=server" in asked[0]["preview"]


async def test_a_question_back_and_its_answer(scene: Scene) -> None:
    question = "Which namespace is the shop in?"
    mind = Mind(
        analyses=[analysis(clarification_question=question), analysis("RESOURCE_INQUIRY")],
        plans=[kubectl("get", "pods", "-n", "shop")],
        judgements=[judge("PASS", "TO_EXPRESSION", "T1")],
        words=["Pod web is pending (T1)."],
    )
    cluster = Cluster()
    async with ModelServer(mind) as server:
        await use_model(scene, server)
        talk = await react_with(scene, cluster)
        first = await talk.ask("How are the pods of the shop?")
        second = await talk.ask("It is called shop.")
    assert final(first)["answer"] == question
    assert nodes(first) == ["sensory", "analysis", "expression"]
    assert cluster.ran == [["get", "pods", "-n", "shop"]]
    assert final(second)["answer"] == "Pod web is pending (T1)."
    assert "assistant: Which namespace is the shop in?" in mind.asked("problem_analysis")[1]


async def test_a_failed_call_is_repaired(scene: Scene) -> None:
    mind = Mind(
        plans=[kubectl("get", "pod", "wbe"), kubectl("get", "pod", "web")],
        judgements=[judge("FAIL", "TO_PLANNING", feedback="misspelt"), judge("PASS", "TO_EXPRESSION", "T2")],
    )
    cluster = Cluster({"wbe": 'error: pods "wbe" not found'})
    async with ModelServer(mind) as server:
        await use_model(scene, server)
        events = await (await react_with(scene, cluster)).ask("State of pod wbe?")
    assert cluster.ran == [["get", "pod", "wbe"], ["get", "pod", "web"]]
    assert "Mode: free" in mind.systems("execution_plan")[0]
    assert "Mode: repair" in mind.systems("execution_plan")[1]
    assert "not found" in mind.asked("execution_plan")[1]
    assert final(events)["answer"] == "That is all."


async def test_answers_that_are_no_forms_are_asked_for_again(scene: Scene) -> None:
    mind = Mind(
        analyses=[
            Reply(content="Let me think about it."),
            Reply(tool_calls=(ToolCall("problem_analysis", '{"reasoning": "bro'),)),
            Reply(content='```json\n{"reasoning": "r", "target_operation": "other", '
                  '"technical_summary": "s", "risk_level": "low"}\n```'),
        ],
        plans=[answer("Hello.")],
    )  # fmt: skip
    async with ModelServer(mind) as server:
        await use_model(scene, server)
        events = await (await react_with(scene)).ask("Hello there?")
    assert final(events)["answer"] == "Hello."
    assert "This cannot be used" in mind.asked("problem_analysis")[1]


async def test_a_model_that_cannot_fill_in_forms_ends_the_run(scene: Scene) -> None:
    mind = Mind(analyses=[Reply(content="I would rather not.")])
    async with ModelServer(mind) as server:
        await use_model(scene, server)
        events = await (await react_with(scene)).ask("Hello there?")
    (error,) = payloads(events, EventType.ERROR)
    assert error["error"] == "ModelUnfit"
    assert "structured: json_schema" in error["remedy"]


async def test_forms_by_json_schema(scene: Scene) -> None:
    seen: list[dict[str, object]] = []

    def decide(body: dict[str, object]) -> Reply:
        seen.append(body)
        form = body.get("response_format")
        if form is None:
            return Reply(content="Hello.")
        name = form["json_schema"]["name"]  # type: ignore[index]
        given = {"problem_analysis": analysis("OTHER"), "execution_plan": answer()}[name]
        return Reply(content=json.dumps(given))

    async with ModelServer(decide) as server:
        await use_model(scene, server)
        talk = await react_with(scene, chat_options={"structured": "json_schema"})
        assert final(await talk.ask("Hello there?"))["answer"] == "Hello."
    assert not any(body.get("tools") for body in seen)


async def _until_waiting(talk: Talk, run_id: str) -> AsyncIterator[StoredEvent]:
    bench, who = talk.scene.bench, talk.scene.owner
    async for event in runs.follow_run(bench, who, talk.session.id, run_id, patient=False):
        if event is not None:
            yield event
