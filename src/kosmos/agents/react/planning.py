"""Planning: the one next step, under the mode that the state calls for."""

from typing import Any

from kosmos.agents.react.kit import Kit
from kosmos.agents.react.modes import Mode, may_call, may_retrieve, mode_of, settle_plan
from kosmos.agents.react.prompting import lay_out, prompt, rest, show_tools, written
from kosmos.agents.react.schemas import ExecutionPlan
from kosmos.agents.react.state import AgentState, notes_of
from kosmos.agents.react.structured import ask_for
from kosmos.agents.react.telling import think

_NO_RETRIEVAL = {
    "en": "RETRIEVE is no longer possible: use what was found, or call a tool.",
    "zh": "不能再选 RETRIEVE：请利用已有内容，或调用工具。",
}
_NO_DOCUMENTS = {
    "en": "RETRIEVE is not possible: there are no documents.",
    "zh": "不能选 RETRIEVE：没有可检索的文档。",
}
_NO_TOOLS = {
    "en": "TOOL_USE is not possible: there is no tool that may be called.",
    "zh": "不能选 TOOL_USE：没有可以调用的工具。",
}


async def plan_step(state: AgentState, kit: Kit) -> dict[str, Any]:
    """The next plan."""
    notes = notes_of(state)
    notes["steps"], notes["revisits"] = notes.get("steps", 0) + 1, 0
    mode = mode_of(state, kit)
    made = await ask_for(kit, ExecutionPlan, _messages(state, kit, mode), name="execution_plan")
    think(kit, made.reasoning, notes["steps"])
    plan, why = settle_plan(made, state, kit, mode)
    return {"plan": plan, "metadata": notes, "error": why or None}


def _messages(state: AgentState, kit: Kit, mode: Mode) -> list[dict[str, Any]]:
    evaluation = state.get("evaluation")
    none = _NO_DOCUMENTS if kit.retrieve is None else _NO_RETRIEVAL
    hints = [] if may_retrieve(state, kit) else [none[kit.tongue]]
    hints += [] if may_call(state, kit) else [_NO_TOOLS[kit.tongue]]
    user = prompt(
        kit,
        "planning",
        **rest(state, kit),
        tools=show_tools(kit),
        plan=written(state.get("plan")),
        feedback=written(evaluation),
        notes="\n".join(hints),
    )
    return lay_out(kit, user, mode=mode.value)
