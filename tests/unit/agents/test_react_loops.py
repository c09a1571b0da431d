"""Every loop and every breaker of the graph, and each node alone."""

from typing import Any

import pytest

from kosmos.agents.react.expression import express
from kosmos.agents.react.graph import NODES, compile_graph
from kosmos.agents.react.kit import ReactLimits
from kosmos.agents.react.modes import Mode, mode_of
from kosmos.agents.react.regulation import settle
from kosmos.agents.react.retrieval import rerank, retrieve
from kosmos.agents.react.schemas import (
    EvaluatedStatus,
    ExecutionPlan,
    NextStep,
    PlanAction,
    ProblemAnalysis,
    RiskLevel,
    SelfEvaluation,
)
from kosmos.agents.react.sensory import sense
from kosmos.agents.react.state import AgentState
from kosmos.agents.react.structured import find_object, plain_schema
from kosmos.tools.contract import Passage, ToolOutput

from .graphs import Allowing, Shell, make_kit, passage, play, scripted

GET = {"reasoning": "", "action": "TOOL_USE", "tool_name": "kubectl", "tool_args": {"argv": ["get", "pods"]}}
DELETE = {**GET, "tool_args": {"argv": ["delete", "pod", "web"]}}
LOOK = {"reasoning": "", "action": "RETRIEVE", "search_queries": ["web down"]}
ANSWER = {"reasoning": "", "action": "DIRECT_ANSWER", "final_answer": "Here."}


def judged(status: str, step: str, *evidence: str, feedback: str = "") -> dict[str, Any]:
    return {
        "reasoning": "",
        "status": status,
        "next_step": step,
        "evidence": list(evidence),
        "feedback": feedback,
    }


def test_the_edges() -> None:
    drawn = compile_graph(make_kit()).get_graph()
    edges = {(edge.source, edge.target) for edge in drawn.edges}
    back = {
        ("regulation", target) for target in ("analysis", "planning", "retrieval", "tool_call", "expression")
    }
    assert edges == {
        *(("__start__", "sensory"), ("sensory", "analysis")),
        *(("analysis", "expression"), ("analysis", "planning")),
        *(("planning", "retrieval"), ("planning", "tool_call"), ("planning", "expression")),
        *(("retrieval", "rerank"), ("rerank", "regulation"), ("tool_call", "regulation")),
        *back,
        ("expression", "__end__"),
    }
    assert len(NODES) == 8


async def test_back_to_analysis() -> None:
    shell = Shell()
    decide = scripted(
        execution_plan=[GET, ANSWER], self_evaluation=[judged("FAIL", "TO_ANALYSIS", feedback="wrong thing")]
    )
    played = await play(make_kit([shell.tool()]), decide, "Why?")
    assert played.nodes.count("analysis") == 2
    assert played.run.partial == "Here."


async def test_back_to_retrieval_looks_deeper() -> None:
    depths: list[int] = []

    async def look(_: str, depth: int) -> list[Passage]:
        depths.append(depth)
        return [passage("Web is down when the disk is full.")]

    decide = scripted(
        execution_plan=[LOOK],
        self_evaluation=[judged("NEEDS_REFINEMENT", "TO_RETRIEVAL"), judged("PASS", "TO_EXPRESSION", "[1]")],
    )
    played = await play(make_kit(retrieve=look), decide, "Why?")
    assert played.nodes.count("planning") == 1
    assert played.nodes.count("retrieval") == 2
    assert depths[0] < depths[-1]


async def test_back_to_the_tool() -> None:
    shell = Shell()
    decide = scripted(
        execution_plan=[GET],
        self_evaluation=[judged("NEEDS_REFINEMENT", "TO_TOOL"), judged("PASS", "TO_EXPRESSION", "T2")],
    )
    played = await play(make_kit([shell.tool()]), decide, "Why?")
    assert shell.ran == [("get", "pods")] * 2
    assert played.nodes.count("planning") == 1


async def test_the_breaker_of_retrieval() -> None:
    decide = scripted(execution_plan=[LOOK], self_evaluation=[judged("NEEDS_REFINEMENT", "TO_PLANNING")])
    kit = make_kit(documents=["Nothing of use."], limits=ReactLimits(steps=40, retrievals=3))
    played = await play(kit, decide, "Why?")
    assert played.nodes.count("retrieval") == 3
    assert played.nodes[-1] == "expression"
    assert played.run.partial == "Done."


async def test_the_breaker_of_tools() -> None:
    shell = Shell(lambda _: ToolOutput(data="error: refused", failed=True))
    calls = [{**GET, "tool_args": {"argv": ["get", f"pod{n}"]}} for n in range(9)]
    decide = scripted(execution_plan=calls, self_evaluation=[judged("FAIL", "TO_PLANNING")])
    played = await play(make_kit([shell.tool()], limits=ReactLimits(steps=40, failures=3)), decide, "Why?")
    assert len(shell.ran) == 3
    assert played.nodes[-1] == "expression"


async def test_the_same_failing_call_is_made_twice_at_most() -> None:
    shell = Shell(lambda _: ToolOutput(data="error", failed=True))
    decide = scripted(execution_plan=[GET], self_evaluation=[judged("FAIL", "TO_TOOL")])
    await play(make_kit([shell.tool()], limits=ReactLimits(steps=8)), decide, "Why?")
    assert len(shell.ran) == 2


async def test_the_budget_of_steps() -> None:
    shell = Shell()
    decide = scripted(execution_plan=[GET], self_evaluation=[judged("NEEDS_REFINEMENT", "TO_PLANNING")])
    played = await play(make_kit([shell.tool()], limits=ReactLimits(steps=6)), decide, "Why?")
    steps = [event for event in played.events if event.type == "usage"]
    assert len(steps) == 6 + 1  # the answer comes on top
    assert "step limit" in played.run.partial


async def test_a_judgement_without_evidence_does_not_count() -> None:
    shell = Shell()
    decide = scripted(
        execution_plan=[GET, GET, ANSWER],
        self_evaluation=[judged("PASS", "TO_EXPRESSION"), judged("PASS", "TO_EXPRESSION", "T9", "[4]")],
    )
    played = await play(make_kit([shell.tool()]), decide, "Why?")
    told = [event.payload for event in played.events if event.payload.get("node") == "regulation"]
    assert [item["status"] for item in told] == ["NEEDS_REFINEMENT", "NEEDS_REFINEMENT"]
    assert played.run.partial == "Here."


async def test_a_refusal_goes_back_to_planning() -> None:
    shell, seen = Shell(), list[str]()
    script = scripted(execution_plan=[DELETE, ANSWER])

    def decide(name: str, sent: str) -> Any:
        if name == "execution_plan":
            seen.append(sent)
        return script(name, sent)

    kit = make_kit([shell.tool()], approvals=Allowing())
    played = await play(kit, decide, "Delete it.", {"approved": False, "reason": "Not on Fridays."})
    assert shell.ran == []
    assert "Not on Fridays." in seen[1]
    assert "A person refused this call" in seen[1]
    assert played.nodes[-3:] == ["regulation", "planning", "expression"]


async def test_an_approved_call_is_made_once() -> None:
    shell, approvals = Shell(), Allowing()
    decide = scripted(execution_plan=[DELETE], self_evaluation=[judged("PASS", "TO_EXPRESSION", "T1")])
    played = await play(
        make_kit([shell.tool()], approvals=approvals), decide, "Delete it.", {"approved": True}
    )
    assert shell.ran == [("delete", "pod", "web")]
    assert len(approvals.used) == 1
    assert played.run.partial == "Done."


async def test_the_model_may_only_raise_a_risk() -> None:
    shell = Shell()
    raised = {**GET, "risk_level": "HIGH"}
    lowered = {**DELETE, "risk_level": "LOW"}
    for plan, level in ((raised, "HIGH"), (lowered, "CRITICAL")):
        played = await play(make_kit([shell.tool()]), scripted(execution_plan=[plan]), "Do it.")
        assert played.run.waiting is not None
        assert played.run.waiting["level"] == level
    assert shell.ran == []


async def test_secrets_reach_nobody() -> None:
    secret = "hunter2-Zx81-opensesame"
    shell = Shell(
        lambda _: ToolOutput(data=f"DB_PASSWORD={secret}\nkind: Secret\ndata:\n  key: c2VjcmV0Cg==\n")
    )
    seen: list[str] = []
    script = scripted(execution_plan=[GET], self_evaluation=[judged("PASS", "TO_EXPRESSION", "T1")])

    def decide(name: str, sent: str) -> Any:
        seen.append(sent)
        return script(name, sent)

    played = await play(make_kit([shell.tool()]), decide, "Why?")
    everything = "\n".join([*seen, str(played.events), str(played.run.state), str(played.run.messages)])
    assert secret not in everything
    assert "c2VjcmV0Cg" not in everything
    assert "⟦secret⟧" in everything


async def test_sensory_puts_the_environment_in_once() -> None:
    from langchain_core.messages import HumanMessage

    state = AgentState(messages=[HumanMessage(content="Why?")])
    first = await sense(state, make_kit(environment={"workspace": "/srv"}))
    assert "workspace: /srv" in first["messages"][0].content
    again = await sense({**state, "metadata": first["metadata"]}, make_kit())
    assert "messages" not in again


def test_modes() -> None:
    kit = make_kit(documents=["x"])

    def state(operation: str, risk: str, **more: Any) -> AgentState:
        form = {"reasoning": "", "target_operation": operation, "technical_summary": "", "risk_level": risk}
        return {"analysis": ProblemAnalysis.model_validate(form), **more}  # type: ignore[typeddict-item]

    assert mode_of(state("KNOWLEDGE_QA", "LOW"), kit) is Mode.RETRIEVE
    assert mode_of(state("RESTART", "HIGH"), kit) is Mode.RETRIEVE
    assert mode_of(state("RESTART", "HIGH", retrieval_attempts=1), kit) is Mode.STANDARD
    assert mode_of(state("DIAGNOSIS", "LOW"), kit) is Mode.STANDARD
    failed = {
        "id": "T1",
        "name": "k",
        "arguments": {},
        "ok": False,
        "text": "",
        "refused": False,
        "digest": "",
    }
    plan = ExecutionPlan(reasoning="", action=PlanAction.TOOL_USE)
    broken = state("DIAGNOSIS", "LOW", plan=plan, metadata={"calls": [failed], "failures": 1})
    assert mode_of(broken, kit) is Mode.REPAIR
    refused = state("DIAGNOSIS", "LOW", plan=plan, metadata={"calls": [{**failed, "refused": True}]})
    assert mode_of(refused, kit) is Mode.STANDARD


async def test_retrieval_gives_each_passage_once_and_rerank_the_best_first() -> None:
    texts = [f"Text {n}." for n in range(9)]

    async def backwards(_: str, found: Any) -> Any:
        return list(reversed(found))

    kit = make_kit(documents=texts, rerank=backwards)
    plan = ExecutionPlan(reasoning="", action=PlanAction.RETRIEVE, search_queries=["a", "b"])
    made = await retrieve({"plan": plan}, kit)
    assert [item.page_content for item in made["retrieved_docs"]] == texts
    ranked = await rerank({"plan": plan, **made}, kit)  # type: ignore[typeddict-item]
    assert [item.page_content for item in ranked["retrieved_docs"]] == texts[:2:-1]


def test_what_failed_did_not_pass() -> None:
    call = {"id": "T1", "name": "k", "arguments": {}, "ok": False, "text": "", "refused": False, "digest": ""}
    state = AgentState(
        plan=ExecutionPlan(reasoning="", action=PlanAction.TOOL_USE), metadata={"calls": [call]}
    )
    said = SelfEvaluation.model_validate(judged("PASS", "TO_EXPRESSION", "T1"))
    settled = settle(said, state, make_kit())
    assert settled.status is EvaluatedStatus.FAIL
    assert settled.next_step is NextStep.TO_PLANNING


async def test_expression_says_what_is_ready() -> None:
    said: list[str] = []
    kit = make_kit()
    kit.say = said.append
    await express({"plan": ExecutionPlan.model_validate(ANSWER)}, kit)
    assert said == ["Here."]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": 1}', {"a": 1}),
        ('Sure! {"a": {"b": "}"}} and more', {"a": {"b": "}"}}),
        ("{not json} {\"a\": 2}", {"a": 2}),
        ("no object", None),
        ("[1, 2]", None),
        ("{" * 500, None),
    ],
)  # fmt: skip
def test_objects_are_found_in_text(text: str, found: Any) -> None:
    assert find_object(text) == found


def test_schemas_have_no_references_and_every_value() -> None:
    text = (
        str(plain_schema(ProblemAnalysis))
        + str(plain_schema(SelfEvaluation))
        + str(plain_schema(ExecutionPlan))
    )
    assert "$ref" not in text
    for kind in (RiskLevel, PlanAction, EvaluatedStatus, NextStep):
        assert all(f"'{value}'" in text for value in kind)


def test_forms_take_what_models_write() -> None:
    form = {"reasoning": "", "status": "needs refinement", "next_step": "to-planning"}
    assert SelfEvaluation.model_validate(form).status is EvaluatedStatus.NEEDS_REFINEMENT
    plan = ExecutionPlan.model_validate({"reasoning": "", "action": "direct_answer", "final_answer": "null"})
    assert plan.final_answer is None
