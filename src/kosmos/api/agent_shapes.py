"""The forms in which agents, sessions, messages, runs and events enter and leave over HTTP."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

from pydantic import Field, SecretStr, StringConstraints

from kosmos.agents.literature.intents import Intent
from kosmos.agents.literature.limits import DIRECT_CONTENT_THRESHOLD
from kosmos.api.shapes import CitationOut, Form, Shape, SpaceId
from kosmos.domain.agents import Agent, Language, Workflow
from kosmos.domain.events import EventType
from kosmos.domain.jobs import Spent
from kosmos.domain.sessions import MessageRole, MessageType, RunStatus, SessionOrigin
from kosmos.tasks.agents import form_values
from kosmos.tasks.literature_wishes import MAX_DOCUMENTS, LiteratureWish, RecallWish
from kosmos.tasks.run_models import ModelWish
from kosmos.tasks.run_wishes import RunWish
from kosmos.tools.web_search import SearchEngine

DocumentId = Annotated[str, StringConstraints(max_length=120)]
Names = Annotated[list[Annotated[str, StringConstraints(max_length=120)]], Field(max_length=100)]


class AgentOut(Shape):
    """An agent. Null tools or spaces mean all that its caller may use."""

    id: str
    owner_id: str | None
    name: str
    description: str
    system_prompt: str
    model: str | None
    allowed_tools: list[str] | None
    allowed_spaces: list[str] | None
    chat_options: Mapping[str, Any]
    workflow: Workflow
    step_limit: int
    language: Language
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, agent: Agent) -> "AgentOut":
        """From a stored agent."""
        moments = {"created_at": agent.created_at, "updated_at": agent.updated_at}
        return cls.model_validate(
            {"id": agent.id, "owner_id": agent.owner_id, **form_values(agent.form), **moments}
        )


class AgentIn(Form):
    """A new agent. Spaces are given by name or id."""

    name: str = Field(examples=["知识助手"])
    description: str = ""
    system_prompt: str = ""
    model: str | None = Field(default=None, description="Name of a credential or of a model.")
    allowed_tools: Names | None = None
    allowed_spaces: Names | None = None
    chat_options: dict[str, Any] = Field(default_factory=dict)
    workflow: Workflow = Workflow.LOOP
    step_limit: int = 8
    language: Language = Language.AUTO
    for_instance: bool = False


class AgentChange(Form):
    """Changes to an agent; what is not given stays."""

    name: str | None = Field(default=None, examples=["On-call assistant"])
    description: str | None = None
    system_prompt: str | None = None
    model: str | None = None
    allowed_tools: Names | None = None
    allowed_spaces: Names | None = None
    chat_options: dict[str, Any] | None = None
    workflow: Workflow | None = None
    step_limit: int | None = None
    language: Language | None = None


class AgentFileIn(Form):
    """An agent as YAML."""

    yaml: str = Field(max_length=100_000, examples=["name: on-call assistant\nstep_limit: 6\n"])
    for_instance: bool = False


class AgentFileOut(Shape):
    """An agent as YAML."""

    yaml: str


class SessionOut(Shape):
    """A session; `agent_id` is null once its agent is gone."""

    id: str
    agent_id: str | None
    title: str
    origin: SessionOrigin
    metadata: Mapping[str, Any]
    total_token_count: int
    message_count: int
    created_at: datetime
    updated_at: datetime


class SessionIn(Form):
    """A new session with an agent, by name or id."""

    agent: str = Field(default="knowledge assistant", examples=["knowledge assistant"])
    title: str = ""
    metadata: dict[str, Any] = Field(default_factory=dict)


class SessionChange(Form):
    """Changes to a session; what is not given stays."""

    title: str | None = Field(default=None, examples=["证书轮换"])
    agent: str | None = None


class MessageOut(Shape):
    """A message. One that is compressed is no longer sent to models: a summary stands for it."""

    id: str
    position: int
    run_id: str | None
    role: MessageRole
    type: MessageType
    content: str
    metadata: Mapping[str, Any]
    token_count: int
    compressed: bool
    created_at: datetime


class SpentOut(Shape):
    """What model calls cost."""

    prompt_tokens: int
    cached_tokens: int
    output_tokens: int
    cost: float

    @classmethod
    def of(cls, spent: Spent) -> "SpentOut":
        """From a domain value."""
        return cls.model_validate(spent)


class RunOut(Shape):
    """A run."""

    id: str
    session_id: str
    agent_id: str | None
    status: RunStatus
    error: str | None
    spent: SpentOut
    created_at: datetime
    finished_at: datetime | None


class ClaimOut(Shape):
    """A sentence of an answer; `problem` says why it has no support."""

    text: str
    markers: list[str]
    problem: str | None


class RunAnswerOut(Shape):
    """The answer of a run."""

    answer: str
    citations: list[CitationOut]
    claims: list[ClaimOut]
    removed: list[str]
    strategy: str
    usage: Mapping[str, Any]
    run_id: str
    details: Mapping[str, Any] = Field(default={}, description="What a workflow chose on the way, and why.")


class RunIn(Form):
    """A question. With `stream` the answer comes as server-sent events, without it as one object."""

    question: str = Field(examples=["How long do the sensor batteries last?"])
    stream: bool = True
    show_thinking: bool = True
    space_ids: list[SpaceId] | None = Field(default=None, max_length=100)
    openai_api_key: SecretStr | None = None
    openai_api_base: str | None = None
    model_name: str | None = None
    max_context_tokens: int | None = None
    search_engine: SearchEngine | None = None
    search_engine_api_key: SecretStr | None = None
    doc_ids: list[DocumentId] = Field(
        default=[], max_length=MAX_DOCUMENTS, description="Documents to work on (literature)."
    )
    content: str = Field(default="", description="A text to work on in place of documents (literature).")
    mode_type: Intent | None = Field(default=None, description="What is wanted, where it is known.")
    refresh_summary_cache: bool = Field(default=False, description="Make all summaries anew.")
    enable_web_search: bool = Field(default=False, description="Search the web in plain talk (literature).")
    direct_content_threshold: float = Field(
        default=DIRECT_CONTENT_THRESHOLD, gt=0, le=1, description="Share of the window for one document."
    )
    recall_api_url: str | None = Field(
        default=None, max_length=2000, description="Another server's recall API, in place of this one."
    )
    recall_api_key: SecretStr | None = None
    recall_top_n: int = Field(default=10, ge=1, le=100)
    recall_similarity_threshold: float = Field(default=0.2, ge=0, le=1, allow_inf_nan=False)
    recall_vector_similarity_weight: float = Field(default=0.3, ge=0, le=1, allow_inf_nan=False)
    recall_use_rerank: bool = False

    def wish(self) -> RunWish:
        """What is wanted."""
        model = ModelWish(
            openai_api_key=_open(self.openai_api_key),
            openai_api_base=self.openai_api_base,
            model_name=self.model_name,
            max_context_tokens=self.max_context_tokens,
        )
        return RunWish(
            self.question,
            model,
            self.space_ids,
            self.search_engine,
            _open(self.search_engine_api_key),
            literature=self._literature(),
        )

    def _literature(self) -> LiteratureWish:
        recall = RecallWish(
            api_url=self.recall_api_url,
            api_key=_open(self.recall_api_key),
            top_n=self.recall_top_n,
            similarity_threshold=self.recall_similarity_threshold,
            vector_similarity_weight=self.recall_vector_similarity_weight,
            use_rerank=self.recall_use_rerank,
        )
        return LiteratureWish(
            doc_ids=tuple(self.doc_ids),
            content=self.content,
            mode_type=self.mode_type,
            refresh_summary_cache=self.refresh_summary_cache,
            web_search=self.enable_web_search,
            direct_content_threshold=self.direct_content_threshold,
            recall=recall,
        )


class EventOut(Shape):
    """An event of a run; `sequence` counts from 1."""

    run_id: str
    sequence: int
    type: EventType
    payload: Mapping[str, Any]
    created_at: datetime


def _open(secret: SecretStr | None) -> str | None:
    return secret.get_secret_value() if secret else None
