"""Expression: the words for the user, streamed as they come."""

from typing import Any

from kosmos.agents.react.kit import Kit
from kosmos.agents.react.prompting import lay_out, prompt, rest, written
from kosmos.agents.react.schemas import PlanAction
from kosmos.agents.react.state import AgentState, notes_of
from kosmos.llm.streaming import Inquiry

_LANGUAGES = {"zh": "中文", "en": "English"}


async def express(state: AgentState, kit: Kit) -> dict[str, Any]:
    """The answer: a question back, what the plan says, or what the model writes from everything found."""
    from langchain_core.messages import AIMessage

    notes = notes_of(state)
    notes["exhausted"] = notes.get("steps", 0) >= kit.limits.steps
    ready = _ready(state)
    if ready is not None:
        kit.say(ready)
        return {"messages": [AIMessage(content=ready)], "metadata": notes}
    user = prompt(
        kit,
        "expression",
        **rest(state, kit),
        feedback=written(state.get("evaluation")),
        notes=_LANGUAGES[kit.tongue],
    )
    turn = await kit.ask(Inquiry(lay_out(kit, user), options=dict(kit.options)), True)
    return {"messages": [AIMessage(content=turn.text)], "metadata": notes}


def _ready(state: AgentState) -> str | None:
    """What need not be written any more."""
    analysis, plan = state.get("analysis"), state.get("plan")
    if plan is None and analysis is not None and analysis.clarification_question:
        return analysis.clarification_question
    if plan is not None and plan.action is PlanAction.DIRECT_ANSWER:
        return plan.final_answer
    return None
