"""The forms in which data enters and leaves over HTTP."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field, SecretStr, StringConstraints

from kosmos.domain.accounts import Role, Scope
from kosmos.domain.credentials import CredentialType
from kosmos.domain.documents import DocumentStatus
from kosmos.domain.spaces import SpaceView

T = TypeVar("T")
# What a stream of server-sent events is to OpenAPI.
EVENTS: dict[int | str, dict[str, Any]] = {
    200: {"description": "Events as they come", "content": {"text/event-stream": {}}}
}
SpaceId = Annotated[str, StringConstraints(pattern=r"^[0-9a-zA-Z-]{1,36}$")]


class Shape(BaseModel):
    """What leaves: read from the attributes of a domain value."""

    model_config = ConfigDict(from_attributes=True)


class Form(BaseModel):
    """What enters: unknown fields are refused, so that a misspelt one is noticed."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)


class Page(BaseModel, Generic[T]):
    """Some items; `next` goes into `after` to see more, and is null at the end."""

    items: list[T]
    next: str | None = None


class UserOut(Shape):
    """A user."""

    id: str
    name: str
    is_admin: bool
    created_at: datetime


class UserIn(Form):
    """A new user."""

    name: str = Field(examples=["李雷"])
    is_admin: bool = False


class TokenOut(Shape):
    """A token, without its secret."""

    id: str
    name: str
    scope: Scope
    expires_at: datetime | None
    created_at: datetime


class TokenIn(Form):
    """A new token."""

    name: str = Field(examples=["laptop"])
    scope: Scope = Scope.READ
    days: int | None = Field(default=None, description="Days until it expires; never if not given.")


class NewTokenOut(BaseModel):
    """A new token with its text, which is shown this once."""

    token: TokenOut
    text: str = Field(examples=["kosmos_0190b1d2-7c3a-7b3e-9d1f-0c5a3e1f2a4b_…"])


class NewUserOut(BaseModel):
    """A new user with the text of their first token."""

    user: UserOut
    token: str


class SpaceOut(Shape):
    """A space as the caller sees it."""

    id: str
    owner_id: str
    name: str
    description: str
    metadata: Mapping[str, Any]
    settings: Mapping[str, Any]
    role: Role
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, view: SpaceView) -> "SpaceOut":
        """From a space and the caller's role in it."""
        space = view.space
        fields = {name: getattr(space, name) for name in cls.model_fields if name != "role"}
        return cls(**fields, role=view.role)


class SpaceIn(Form):
    """A new space."""

    name: str = Field(examples=["Harbor Queue 运维"])
    description: str = ""
    metadata: dict[str, Any] = {}


class SpaceChange(Form):
    """Changes to a space; what is not given stays."""

    name: str | None = Field(default=None, examples=["Harbor Queue 值班"])
    description: str | None = None
    metadata: dict[str, Any] | None = None
    settings: dict[str, Any] | None = Field(
        default=None,
        description="All settings. `chunking`: `producer` (structure, indexer), `fallback` (structure, "
        "sentinel), `batch_lines`, `parallel_batches`. `redaction`: on, off, or kinds to hide.",
        examples=[{"chunking": {"producer": "indexer"}, "redaction": ["email", "phone"]}],
    )


class MemberOut(Shape):
    """A member of a space."""

    user_id: str
    user_name: str
    role: Role


class MemberIn(Form):
    """A member to add or change."""

    user: str = Field(description="User name or id.", examples=["韩梅梅"])
    role: Role = Role.VIEWER


class CredentialOut(Shape):
    """A credential; the key never leaves."""

    id: str
    owner_id: str | None
    name: str
    type: CredentialType
    base_url: str
    model: str
    options: Mapping[str, Any]
    is_default: bool
    has_key: bool
    created_at: datetime
    updated_at: datetime


class CredentialIn(Form):
    """A new credential."""

    name: str = Field(examples=["local model"])
    type: CredentialType
    base_url: str = Field(examples=["http://127.0.0.1:11434/v1"])
    model: str = Field(examples=["qwen3:8b"])
    key: SecretStr | None = None
    options: dict[str, Any] = {}
    is_default: bool = False
    for_instance: bool = False


class CredentialChange(Form):
    """Changes to a credential; what is not given stays."""

    name: str | None = None
    base_url: str | None = None
    model: str | None = Field(default=None, examples=["qwen3:14b"])
    key: SecretStr | None = None
    options: dict[str, Any] | None = None
    is_default: bool | None = None


class ProbeOut(Shape):
    """What a test call brought."""

    model: str
    detail: str


class LinkOut(Shape):
    """A credential that a space uses."""

    credential: CredentialOut
    priority: int
    weight: float


class LinkIn(Form):
    """How a space uses a credential: higher priority first, weighted choice within a priority."""

    priority: int = Field(default=0, examples=[10])
    weight: float = Field(default=1.0, allow_inf_nan=False, examples=[1.0])


class DocumentOut(Shape):
    """A document."""

    id: str
    space_id: str
    source: str
    filename: str
    filetype: str
    size: int
    source_url: str | None
    title: str
    line_count: int
    status: DocumentStatus
    error: str | None
    version: int
    metadata: Mapping[str, Any]
    created_at: datetime
    updated_at: datetime


class RouteOut(Shape):
    """Where one route put a result, and what it adds to the score: its part."""

    rank: int
    score: float
    weight: float
    low: float
    high: float
    part: float


class LikenessOut(Shape):
    """How alike question and text are, from 0 to 1: by terms and by vectors."""

    term: float
    vector: float | None


class NeighbourOut(Shape):
    """A chunk beside a result."""

    chunk_id: str
    start_line: int
    end_line: int
    text: str


class HitOut(Shape):
    """A search result."""

    document_id: str
    source: str
    title: str
    chunk_id: str
    start_line: int
    end_line: int
    page: int | None
    text: str
    summary: str
    score: float
    routes: Mapping[str, RouteOut]
    origin: str
    reason: str
    space_id: str
    likeness: LikenessOut | None
    more: int
    neighbours: list[NeighbourOut]
    explain: Mapping[str, Any] | None


class CitationOut(Shape):
    """Where a statement stands; `quote` is a substring of those lines."""

    marker: str
    document_id: str
    source: str
    start_line: int
    end_line: int
    page: int | None
    quote: str
    version: int = 0
    url: str | None = None


class AnswerOut(Shape):
    """An answer with its citations."""

    answer: str
    citations: list[CitationOut]
    strategy: str
    usage: Mapping[str, Any]
    run_id: str


class AskIn(Form):
    """A question to the given spaces, or all that the caller may read."""

    question: str = Field(examples=["How long do the sensor batteries last?"])
    space_ids: list[SpaceId] | None = Field(default=None, max_length=100)
