"""Sensory: takes the question in, and puts what is known of the surroundings before it."""

import platform
from typing import Any

from kosmos.agents.react.kit import Kit
from kosmos.agents.react.state import AgentState, notes_of, question_of


async def sense(state: AgentState, kit: Kit) -> dict[str, Any]:
    """The environment as a message, once."""
    from langchain_core.messages import SystemMessage

    notes = notes_of(state)
    notes["question"] = question_of(state)
    if notes.get("environment"):
        return {"metadata": notes}
    notes["environment"] = "\n".join(f"{name}: {value}" for name, value in surroundings(kit).items())
    return {"messages": [SystemMessage(content=notes["environment"])], "metadata": notes}


def surroundings(kit: Kit) -> dict[str, str]:
    """The operating system, what the caller adds, and what can be found out without asking anybody."""
    found = {"os": platform.system(), "architecture": platform.machine(), **kit.environment}
    found["tools"] = ", ".join(kit.toolbox.tools) or "none"
    return found | {"documents": "can be searched" if kit.retrieve is not None else "none"}
