"""What the nodes work with: passed to them, never stored with a run."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any, Protocol

from kosmos.agents.sources import Sources
from kosmos.domain.events import Event
from kosmos.llm.streaming import Inquiry, Turn
from kosmos.tools.contract import Passage
from kosmos.tools.registry import Toolbox

Retrieve = Callable[[str, int], Awaitable[Sequence[Passage]]]
Rerank = Callable[[str, Sequence[Passage]], Awaitable[Sequence[Passage]]]
Ask = Callable[[Inquiry, bool], Awaitable[Turn]]  # with True, what comes is the answer and is told as such


class Approvals(Protocol):
    """Who knows what a person has allowed."""

    async def use(self, approval_id: str, digest: str, /) -> str | None:
        """Take an approval for exactly this call, once; else why it cannot be used."""


class NoApprovals:
    """Where nobody can be asked: nothing is allowed."""

    async def use(self, _approval_id: str, _digest: str) -> str | None:
        """Never."""
        return "Nobody can approve anything here."


@dataclass(frozen=True, slots=True)
class ReactLimits:
    """How far a run may go."""

    steps: int = 16  # inferences of analysis, planning and regulation
    retrievals: int = 3
    failures: int = 3  # calls in a row
    passages: int = 6
    depth: int = 12  # passages that a query may bring before they are ranked


@dataclass(slots=True)
class Kit:
    """The model, the documents, the tools, and who is told."""

    ask: Ask
    toolbox: Toolbox
    sources: Sources
    retrieve: Retrieve | None = None
    rerank: Rerank | None = None
    approvals: Approvals = field(default_factory=NoApprovals)
    tell: Callable[[Event], None] = lambda _: None
    say: Callable[[str], None] = lambda _: None  # a part of the answer
    limits: ReactLimits = field(default_factory=ReactLimits)
    language: str = "English"
    role: str = ""
    tool_descriptions: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    prompt_tokens: int = 24_000
    structured: str = "tools"  # or json_schema
    today: date = field(default_factory=lambda: datetime.now(UTC).date())

    @property
    def tongue(self) -> str:
        """The ending of prompts in the language of the run."""
        return "zh" if self.language == "Chinese" else "en"
