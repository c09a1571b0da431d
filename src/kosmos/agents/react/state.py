"""What the graph carries from node to node, and what a checkpoint holds of a run."""

import operator
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypedDict, cast

from kosmos.agents.react.schemas import ExecutionPlan, ProblemAnalysis, SelfEvaluation

if TYPE_CHECKING:
    from langchain_core.documents import Document
    from langchain_core.messages import BaseMessage
else:  # only the checker needs their names: langchain takes long to import
    Document = BaseMessage = Any


class AgentState(TypedDict, total=False):
    """The state of a run. `metadata` holds what the nodes count and note: see `Notes`."""

    messages: Annotated[list[BaseMessage], operator.add]
    analysis: ProblemAnalysis | None
    plan: ExecutionPlan | None
    retrieved_docs: list[Document] | None
    retrieval_attempts: int
    tool_output: str | None
    evaluation: SelfEvaluation | None
    error: str | None
    metadata: dict[str, Any] | None


class CallNote(TypedDict):
    """A call of a tool that was made or refused. `id` is what evidence names."""

    id: str
    name: str
    arguments: Mapping[str, Any]
    ok: bool
    text: str  # what the model is told of it, secrets hidden
    refused: bool
    digest: str


class Notes(TypedDict, total=False):
    """What stands in `metadata`."""

    environment: str
    question: str
    steps: int  # inferences made
    calls: list[CallNote]
    references: dict[str, Mapping[str, Any]]  # passages by their number, so that they can be read again
    failures: int  # calls in a row that failed
    revisits: int  # retrievals since the last plan
    relied: list[int]  # passages that judgements rested on
    exhausted: bool
    spent: dict[str, float]
    wish: dict[str, Any]  # how the run was asked for


def notes_of(state: AgentState) -> Notes:
    """The notes of a state; a copy that may be changed."""
    return cast("Notes", dict(state.get("metadata") or {}))


def calls_of(state: AgentState) -> Sequence[CallNote]:
    """The calls made so far."""
    return notes_of(state).get("calls", [])


def question_of(state: AgentState) -> str:
    """What the user asked last."""
    for message in reversed(state.get("messages", [])):
        if message.type == "human":
            return str(message.content)
    return ""
