"""What the model is asked to write at each station of the graph. Checked as it comes in."""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

MAX_TEXT = 20_000
MAX_ITEMS = 50


class OperationType(StrEnum):
    """What the user wants done."""

    KNOWLEDGE_QA = "KNOWLEDGE_QA"
    RESOURCE_CREATION = "RESOURCE_CREATION"
    RESOURCE_MUTATION = "RESOURCE_MUTATION"
    RESOURCE_DELETION = "RESOURCE_DELETION"
    RESOURCE_INQUIRY = "RESOURCE_INQUIRY"
    DIAGNOSIS = "DIAGNOSIS"
    CONFIGURE = "CONFIGURE"
    SCALING = "SCALING"
    RESTART = "RESTART"
    ROLLOUT = "ROLLOUT"
    INSTALL = "INSTALL"
    PROXY = "PROXY"
    OTHER = "OTHER"


class RiskLevel(StrEnum):
    """How much harm an operation may do; each level is more than those before it."""

    LOW = "LOW"
    MEDIUM = "MEDIUM"
    HIGH = "HIGH"
    CRITICAL = "CRITICAL"

    @property
    def rank(self) -> int:
        """Higher means more."""
        return list(RiskLevel).index(self)


class PlanAction(StrEnum):
    """What to do next."""

    RETRIEVE = "RETRIEVE"
    TOOL_USE = "TOOL_USE"
    DIRECT_ANSWER = "DIRECT_ANSWER"


class EvaluatedStatus(StrEnum):
    """How well a step went."""

    PASS = "PASS"  # noqa: S105 - no password
    FAIL = "FAIL"
    NEEDS_REFINEMENT = "NEEDS_REFINEMENT"


class NextStep(StrEnum):
    """Where to go from here."""

    TO_ANALYSIS = "TO_ANALYSIS"
    TO_PLANNING = "TO_PLANNING"
    TO_RETRIEVAL = "TO_RETRIEVAL"
    TO_TOOL = "TO_TOOL"
    TO_EXPRESSION = "TO_EXPRESSION"


def _upper(value: Any) -> Any:
    """Models write `pass` and `To Planning`; what is meant is plain."""
    return value.strip().upper().replace(" ", "_").replace("-", "_") if isinstance(value, str) else value


def _blank(value: Any) -> Any:
    """An empty text, or one that says that there is none, is none."""
    empty = isinstance(value, str) and value.strip().lower() in ("", "null", "none", "n/a", "无")
    return None if empty else value


Text = Annotated[str, Field(max_length=MAX_TEXT)]
MaybeText = Annotated[Text | None, BeforeValidator(_blank)]


class _Form(BaseModel):
    model_config = ConfigDict(extra="ignore")


class NamedEntity(_Form):
    """A thing that the user speaks of."""

    name: Text = Field(description="As the user wrote it: a resource, image, node, file, error code.")
    kind: Text = Field(default="", description="What it is: Pod, Deployment, Namespace, file, error.")
    namespace: MaybeText = Field(default=None, description="Its namespace, if the user named one.")


class ProblemAnalysis(_Form):
    """What the user's words come to."""

    reasoning: Text = Field(
        description="Context, intent, what is known and what is missing, what could go wrong."
    )
    entities: list[NamedEntity] = Field(default_factory=list, max_length=MAX_ITEMS)
    target_operation: Annotated[OperationType, BeforeValidator(_upper)]
    technical_summary: Text = Field(description="The problem in technical terms, without small talk.")
    risk_level: Annotated[RiskLevel, BeforeValidator(_upper)] = Field(
        description="LOW reads; MEDIUM checks or debugs harmlessly; HIGH changes or restarts; "
        "CRITICAL deletes or endangers."
    )
    clarification_question: MaybeText = Field(
        default=None, description="Only when nothing useful can be done without the user's answer."
    )


class ExecutionPlan(_Form):
    """The one next step."""

    reasoning: Text = Field(description="Why this step and no other.")
    action: Annotated[PlanAction, BeforeValidator(_upper)]
    search_queries: list[Text] | None = Field(
        default=None, max_length=10, description="For RETRIEVE: one to four short queries."
    )
    tool_name: MaybeText = Field(default=None, description="For TOOL_USE: the exact name of a tool.")
    tool_args: dict[str, Any] | None = Field(default=None, description="For TOOL_USE: its arguments.")
    final_answer: MaybeText = Field(
        default=None, description="For DIRECT_ANSWER: the whole answer, or nothing to have it written next."
    )
    risk_level: Annotated[RiskLevel | None, BeforeValidator(_upper), BeforeValidator(_blank)] = Field(
        default=None, description="If you think that this step is more dangerous than it looks."
    )


class SelfEvaluation(_Form):
    """How well the last step went, and what follows from it."""

    reasoning: Text
    status: Annotated[EvaluatedStatus, BeforeValidator(_upper)]
    next_step: Annotated[NextStep, BeforeValidator(_upper)]
    feedback: Text = Field(default="", description="What the next step should know or do better.")
    evidence: list[Text] = Field(
        default_factory=list,
        max_length=MAX_ITEMS,
        description="What this judgement rests on: calls like T2, passages like [3]. PASS needs some.",
    )


def higher(one: RiskLevel, other: RiskLevel | None) -> RiskLevel:
    """The graver of two levels."""
    return one if other is None or other.rank <= one.rank else other
