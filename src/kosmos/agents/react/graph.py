"""The graph: which node follows which."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from kosmos.agents.react.analysis import analyse
from kosmos.agents.react.expression import express
from kosmos.agents.react.kit import Kit
from kosmos.agents.react.planning import plan_step
from kosmos.agents.react.regulation import regulate
from kosmos.agents.react.retrieval import rerank, retrieve
from kosmos.agents.react.schemas import NextStep, PlanAction
from kosmos.agents.react.sensory import sense
from kosmos.agents.react.state import AgentState, notes_of
from kosmos.agents.react.toolcall import call_tool
from kosmos.agents.telling import node
from kosmos.errors import ConfigError

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph

Work = Callable[[AgentState, Kit], Awaitable[dict[str, Any]]]
SENSORY, ANALYSIS, PLANNING, RETRIEVAL = "sensory", "analysis", "planning", "retrieval"
RERANK, TOOL, REGULATION, EXPRESSION = "rerank", "tool_call", "regulation", "expression"
NODES: dict[str, Work] = {
    SENSORY: sense,
    ANALYSIS: analyse,
    PLANNING: plan_step,
    RETRIEVAL: retrieve,
    RERANK: rerank,
    TOOL: call_tool,
    REGULATION: regulate,
    EXPRESSION: express,
}
_ACTIONS = {
    PlanAction.RETRIEVE: RETRIEVAL,
    PlanAction.TOOL_USE: TOOL,
    PlanAction.DIRECT_ANSWER: EXPRESSION,
}
_STEPS = {
    NextStep.TO_ANALYSIS: ANALYSIS,
    NextStep.TO_PLANNING: PLANNING,
    NextStep.TO_RETRIEVAL: RETRIEVAL,
    NextStep.TO_TOOL: TOOL,
    NextStep.TO_EXPRESSION: EXPRESSION,
}


def compile_graph(kit: Kit, checkpointer: Any = None) -> "CompiledStateGraph[Any, Any, Any, Any]":
    """The graph over a kit."""
    try:
        from langgraph.graph import END, START, StateGraph
    except ImportError:
        raise missing_extra() from None
    graph: Any = StateGraph(AgentState)
    for name, work in NODES.items():
        graph.add_node(name, _bound(name, work, kit))
    graph.add_edge(START, SENSORY)
    graph.add_edge(SENSORY, ANALYSIS)
    graph.add_conditional_edges(ANALYSIS, after_analysis(kit), [EXPRESSION, PLANNING])
    graph.add_conditional_edges(PLANNING, after_planning(kit), list(_ACTIONS.values()))
    graph.add_edge(RETRIEVAL, RERANK)
    graph.add_edge(RERANK, REGULATION)
    graph.add_edge(TOOL, REGULATION)
    graph.add_conditional_edges(REGULATION, after_regulation(kit), list(_STEPS.values()))
    graph.add_edge(EXPRESSION, END)
    compiled: CompiledStateGraph[Any, Any, Any, Any] = graph.compile(checkpointer=checkpointer)
    return compiled


def missing_extra() -> ConfigError:
    """What is said where the libraries of the graph are not installed."""
    return ConfigError(
        "The workflow react needs LangGraph, which is not installed.", remedy="Run: pip install 'kosmos[ops]'"
    )


def _bound(name: str, work: Work, kit: Kit) -> Callable[[AgentState], Awaitable[dict[str, Any]]]:
    async def run(state: AgentState) -> dict[str, Any]:
        made = await work(state, kit)
        notes = made.get("metadata") or {}
        kit.tell(node(name, int(notes.get("steps", 0)), **_summary(made)))
        return made

    return run


def _summary(made: dict[str, Any]) -> dict[str, Any]:
    """What is told of what a node made."""
    told: dict[str, Any] = {}
    if (analysis := made.get("analysis")) is not None:
        told |= {"operation": analysis.target_operation.value, "risk": analysis.risk_level.value}
    if (plan := made.get("plan")) is not None:
        told |= {"action": plan.action.value}
    if (evaluation := made.get("evaluation")) is not None:
        told |= {"status": evaluation.status.value, "next_step": evaluation.next_step.value}
        told |= {"evidence": list(evaluation.evidence)}
    return told


def after_analysis(kit: Kit) -> Callable[[AgentState], str]:
    """To the user when something must be asked; else on to planning."""

    def route(state: AgentState) -> str:
        analysis = state.get("analysis")
        asked = state.get("plan") is None and analysis is not None and analysis.clarification_question
        return EXPRESSION if asked or _exhausted(state, kit) else PLANNING

    return route


def after_planning(kit: Kit) -> Callable[[AgentState], str]:
    """To what the plan says. A plan made with the last step of the budget may still be carried out only if
    it is the answer."""

    def route(state: AgentState) -> str:
        plan = state.get("plan")
        return EXPRESSION if plan is None or _exhausted(state, kit) else _ACTIONS[plan.action]

    return route


def after_regulation(kit: Kit) -> Callable[[AgentState], str]:
    """To where the judgement leads."""

    def route(state: AgentState) -> str:
        evaluation = state.get("evaluation")
        return EXPRESSION if evaluation is None or _exhausted(state, kit) else _STEPS[evaluation.next_step]

    return route


def _exhausted(state: AgentState, kit: Kit) -> bool:
    return notes_of(state).get("steps", 0) >= kit.limits.steps
