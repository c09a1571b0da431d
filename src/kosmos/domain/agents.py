"""Agents: rows that say who talks to the model, with which tools and over which spaces."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

STEP_LIMIT = 8
MAX_STEPS = 50
MAX_CONTEXT_TOKENS = 32_000  # where neither the request nor the agent nor the credential says otherwise


class Workflow(StrEnum):
    """How an agent goes about its work."""

    LOOP = "loop"
    REACT = "react"
    LITERATURE = "literature"


class Language(StrEnum):
    """In which language an agent answers; `auto` is that of the question."""

    AUTO = "auto"
    CHINESE = "zh"
    ENGLISH = "en"


@dataclass(frozen=True, slots=True)
class AgentForm:
    """Everything about an agent that is written down in a file: all but its identity.

    `allowed_tools` None means every tool there is; `allowed_spaces` None every space its caller may read.
    """

    name: str
    description: str = ""
    system_prompt: str = ""
    model: str | None = None
    allowed_tools: tuple[str, ...] | None = None
    allowed_spaces: tuple[str, ...] | None = None
    chat_options: Mapping[str, Any] = field(default_factory=dict)
    workflow: Workflow = Workflow.LOOP
    step_limit: int = STEP_LIMIT
    language: Language = Language.AUTO


@dataclass(frozen=True, slots=True)
class Agent:
    """A stored agent. `owner_id` is None for one that the whole instance may use."""

    id: str
    owner_id: str | None
    form: AgentForm
    created_at: datetime
    updated_at: datetime

    @property
    def name(self) -> str:
        """What people call it."""
        return self.form.name
