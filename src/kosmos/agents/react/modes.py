"""Which instructions planning gets: must look up first, must repair a call, or is free."""

from enum import StrEnum

from kosmos.agents.react.kit import Kit
from kosmos.agents.react.schemas import (
    EvaluatedStatus,
    ExecutionPlan,
    OperationType,
    PlanAction,
    RiskLevel,
)
from kosmos.agents.react.state import AgentState, calls_of, notes_of

KNOWLEDGE_HEAVY = frozenset({OperationType.KNOWLEDGE_QA, OperationType.CONFIGURE, OperationType.INSTALL})


class Mode(StrEnum):
    """How free planning is."""

    RETRIEVE = "retrieve"
    REPAIR = "repair"
    STANDARD = "standard"


def mode_of(state: AgentState, kit: Kit) -> Mode:
    """The mode of the next plan."""
    if _must_repair(state, kit):
        return Mode.REPAIR
    analysis = state.get("analysis")
    attempts = state.get("retrieval_attempts", 0)
    if analysis is None or attempts or kit.retrieve is None or not may_retrieve(state, kit):
        return Mode.STANDARD
    risky = analysis.risk_level.rank >= RiskLevel.HIGH.rank
    return Mode.RETRIEVE if risky or analysis.target_operation in KNOWLEDGE_HEAVY else Mode.STANDARD


def _must_repair(state: AgentState, kit: Kit) -> bool:
    """Whether the last step was a call that failed for its own faults, and may be tried again."""
    plan, evaluation, calls = state.get("plan"), state.get("evaluation"), calls_of(state)
    if plan is None or plan.action is not PlanAction.TOOL_USE or not calls:
        return False
    failed = not calls[-1]["ok"] and not calls[-1]["refused"]
    judged = evaluation is None or evaluation.status is not EvaluatedStatus.PASS
    return failed and judged and notes_of(state).get("failures", 0) < kit.limits.failures


def may_retrieve(state: AgentState, kit: Kit) -> bool:
    """Whether the breaker of retrieval still lets something through."""
    return kit.retrieve is not None and state.get("retrieval_attempts", 0) < kit.limits.retrievals


def may_call(state: AgentState, kit: Kit) -> bool:
    """Whether the breaker of tools still lets something through."""
    return bool(kit.toolbox.tools) and notes_of(state).get("failures", 0) < kit.limits.failures


def settle_plan(plan: ExecutionPlan, state: AgentState, kit: Kit, mode: Mode) -> tuple[ExecutionPlan, str]:
    """The plan as it may be carried out, and why it is another one than the model's."""
    if mode is Mode.RETRIEVE and plan.action is not PlanAction.RETRIEVE:
        return _look_up(plan, state), "looking things up comes first here"
    if plan.action is PlanAction.RETRIEVE:
        if not may_retrieve(state, kit):
            return _answer(plan), "the limit of look-ups is reached"
        return (plan, "") if plan.search_queries else (_look_up(plan, state), "the plan had no queries")
    if plan.action is PlanAction.TOOL_USE and not may_call(state, kit):
        return _answer(plan), "no more calls of tools are possible"
    return plan, ""


def _look_up(plan: ExecutionPlan, state: AgentState) -> ExecutionPlan:
    analysis = state.get("analysis")
    queries = [query for query in plan.search_queries or [] if query.strip()]
    summary = analysis.technical_summary if analysis else ""
    given = {"action": PlanAction.RETRIEVE, "search_queries": queries or [summary], "final_answer": None}
    return plan.model_copy(update=given)


def _answer(plan: ExecutionPlan) -> ExecutionPlan:
    return plan.model_copy(update={"action": PlanAction.DIRECT_ANSWER, "final_answer": None})
