"""How far a question has come on its way through the nodes."""

from dataclasses import dataclass, field
from typing import Any

from kosmos.agents.literature.contract import Evidence, PaperText
from kosmos.agents.literature.intents import Intent
from kosmos.agents.literature.plans import Step, SubQuestion
from kosmos.agents.literature.strategies import DocumentMode, Strategy


@dataclass(slots=True)
class State:
    """What the nodes have found out. `document_summaries` are by document, with markers of the session."""

    available_tokens: int = 0
    room: int = 0  # what may be laid before the model at once
    doc_count: int = 0
    mode: DocumentMode = DocumentMode.NONE
    use_direct_content: bool = False
    content: PaperText | None = None
    detected_intent: Intent | None = None
    intent_reason: str = ""
    strategy: Strategy = Strategy.SIMPLE_INTERACTION
    strategy_reason: str = ""
    sub_questions: list[SubQuestion] = field(default_factory=list)
    plan: list[Step] = field(default_factory=list)
    recall_results: list[Evidence] = field(default_factory=list)
    evidence: list[dict[str, Any]] = field(default_factory=list)  # what was used, with its scores
    document_summaries: dict[str, str] = field(default_factory=dict)
    cached_summaries: int = 0
    groups: int = 0
    fallbacks: list[str] = field(default_factory=list)
    errors: list[dict[str, str]] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)  # what belongs to one kind of answer only

    def details(self) -> dict[str, Any]:
        """What was chosen and why, as the answer tells it."""
        return {
            "intent": self.detected_intent.value if self.detected_intent else None,
            "intent_reason": self.intent_reason,
            "strategy": self.strategy.value,
            "strategy_reason": self.strategy_reason,
            "document_mode": self.mode.value,
            "doc_count": self.doc_count,
            "available_tokens": self.available_tokens,
            "use_direct_content": self.use_direct_content,
            "sub_questions": [item.plain() for item in self.sub_questions],
            "evidence": self.evidence,
            "summaries": len(self.document_summaries),
            "cached_summaries": self.cached_summaries,
            "groups": self.groups,
            "fallbacks": self.fallbacks,
            "errors": self.errors,
            **self.extra,
        }
