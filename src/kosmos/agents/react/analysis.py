"""Analysis: what the user means, about what, and how dangerous that is."""

from typing import Any

from kosmos.agents.react.kit import Kit
from kosmos.agents.react.prompting import lay_out, prompt, show_history
from kosmos.agents.react.schemas import EvaluatedStatus, ProblemAnalysis
from kosmos.agents.react.state import AgentState, notes_of
from kosmos.agents.react.structured import ask_for
from kosmos.agents.react.telling import think


async def analyse(state: AgentState, kit: Kit) -> dict[str, Any]:
    """The analysis of the question; on the way back from regulation its feedback is heeded."""
    notes = notes_of(state)
    notes["steps"] = notes.get("steps", 0) + 1
    question = notes.get("question", "")
    evaluation = state.get("evaluation")
    if evaluation is not None and evaluation.status is not EvaluatedStatus.PASS:
        question = f"{question}\n\n({evaluation.feedback})"
    user = prompt(
        kit,
        "analysis",
        environment=notes.get("environment", ""),
        history=show_history(state.get("messages", [])),
        question=question,
    )
    found = await ask_for(kit, ProblemAnalysis, lay_out(kit, user), name="problem_analysis")
    think(kit, found.reasoning, notes["steps"])
    return {"analysis": found, "plan": None, "metadata": notes, "error": None}
