"""Regulation: judges the last step and decides where to go; what rests on nothing does not count."""

import re
from typing import Any

from kosmos.agents.react.kit import Kit
from kosmos.agents.react.modes import may_retrieve
from kosmos.agents.react.prompting import lay_out, prompt, rest, written
from kosmos.agents.react.schemas import EvaluatedStatus, NextStep, PlanAction, SelfEvaluation
from kosmos.agents.react.state import AgentState, calls_of, notes_of
from kosmos.agents.react.structured import ask_for
from kosmos.agents.react.telling import think

_PASSAGE = re.compile(r"\[?(\d{1,5})\]?")
_CALL = re.compile(r"\(?(T\d{1,4})\)?", re.IGNORECASE)
_REFUSED = {
    "en": "A person refused this call: {text} Do not plan it again, nor a detour to the same end. "
    "Find another way, or explain what would have to be done.",
    "zh": "有人拒绝了这次调用：{text} 不要再规划它，也不要绕道达到同样的目的。另想办法，或说明需要做什么。",
}
_NO_EVIDENCE = {
    "en": "The judgement named no call that succeeded and no passage that it rests on. "
    "Find evidence, or say what is missing.",
    "zh": "评估没有指出它所依据的成功的调用或文档片段。请找到证据，或说明缺少什么。",
}
_DID_FAIL = {"en": "The last call failed.", "zh": "上一次调用失败了。"}


async def regulate(state: AgentState, kit: Kit) -> dict[str, Any]:
    """The judgement of the last step."""
    notes, calls, plan = notes_of(state), calls_of(state), state.get("plan")
    acted = plan is not None and plan.action is PlanAction.TOOL_USE
    if acted and calls and calls[-1]["refused"]:
        feedback = _REFUSED[kit.tongue].format(text=calls[-1]["text"])
        return {"evaluation": _refinement("", feedback), "metadata": notes}
    notes["steps"] = notes.get("steps", 0) + 1
    user = prompt(kit, "judge_tool" if acted else "judge_retrieval", **rest(state, kit), plan=written(plan))
    judged = await ask_for(kit, SelfEvaluation, lay_out(kit, user), name="self_evaluation")
    think(kit, judged.reasoning, notes["steps"])
    settled = settle(judged, state, kit)
    notes["relied"] = sorted({*notes.get("relied", []), *_passages(settled, state)})
    return {"evaluation": settled, "metadata": notes}


def settle(judged: SelfEvaluation, state: AgentState, kit: Kit) -> SelfEvaluation:
    """The judgement as it counts: what failed did not pass, what rests on nothing must be refined."""
    plan, calls = state.get("plan"), calls_of(state)
    acted = plan is not None and plan.action is PlanAction.TOOL_USE
    passed = judged.status is EvaluatedStatus.PASS
    if passed and acted and calls and not calls[-1]["ok"]:
        feedback = f"{_DID_FAIL[kit.tongue]} {judged.feedback}".strip()
        judged = judged.model_copy(update={"status": EvaluatedStatus.FAIL, "feedback": feedback})
        return _moved(judged, NextStep.TO_PLANNING)
    if passed and not has_evidence(judged, state):
        return _refinement(judged.reasoning, f"{_NO_EVIDENCE[kit.tongue]} {judged.feedback}".strip())
    if judged.next_step is NextStep.TO_RETRIEVAL and not may_retrieve(state, kit):
        return _moved(judged, NextStep.TO_PLANNING)
    if judged.next_step is NextStep.TO_TOOL and not acted:
        return _moved(judged, NextStep.TO_PLANNING)
    return judged


def has_evidence(judged: SelfEvaluation, state: AgentState) -> bool:
    """Whether something is named that is there: a call that succeeded, or a passage."""
    good = {call["id"] for call in calls_of(state) if call["ok"]}
    named = {found.upper() for item in judged.evidence for found in _CALL.findall(item)}
    return bool(named & good) or bool(_passages(judged, state))


def _passages(judged: SelfEvaluation, state: AgentState) -> set[int]:
    shown = {int(item.metadata["number"]) for item in state.get("retrieved_docs") or []}
    shown |= {int(number) for number in notes_of(state).get("references", {})}
    texts = [_CALL.sub(" ", item) for item in judged.evidence]
    return {int(found) for text in texts for found in _PASSAGE.findall(text)} & shown


def _refinement(reasoning: str, feedback: str) -> SelfEvaluation:
    return SelfEvaluation(
        reasoning=reasoning,
        status=EvaluatedStatus.NEEDS_REFINEMENT,
        next_step=NextStep.TO_PLANNING,
        feedback=feedback,
    )


def _moved(judged: SelfEvaluation, step: NextStep) -> SelfEvaluation:
    return judged.model_copy(update={"next_step": step})
