"""Sessions, their messages and their runs: how far a talk has come."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from kosmos.domain.jobs import Spent


class MessageRole(StrEnum):
    """Who speaks."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


class MessageType(StrEnum):
    """What a message is in its session."""

    USER = "USER"
    ASSISTANT = "ASSISTANT"
    TOOL = "TOOL"
    COMPRESSION = "COMPRESSION"


class RunStatus(StrEnum):
    """How far a run has come."""

    RUNNING = "RUNNING"
    WAITING = "WAITING"  # for somebody to allow or refuse something
    COMPLETED = "COMPLETED"
    STOPPED = "STOPPED"
    FAILED = "FAILED"
    INTERRUPTED = "INTERRUPTED"  # its process is gone

    @property
    def ended(self) -> bool:
        """Whether nothing more happens."""
        return self not in (RunStatus.RUNNING, RunStatus.WAITING)


class SessionOrigin(StrEnum):
    """From which surface a session came."""

    CHAT = "chat"
    ASK = "ask"
    OPENAI = "openai"


@dataclass(frozen=True, slots=True)
class Session:
    """A talk of one user with an agent. `agent_id` is None once the agent is gone."""

    id: str
    owner_id: str
    agent_id: str | None
    title: str
    origin: SessionOrigin
    metadata: Mapping[str, Any]
    total_token_count: int  # of all messages ever
    message_count: int
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a session. `metadata` holds tool calls, retrieved chunks, model parameters, usage."""

    role: MessageRole
    type: MessageType
    content: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    token_count: int = 0
    id: str = ""
    position: int = 0
    run_id: str | None = None
    compressed: bool = False  # part of a summary, no longer sent
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """One question to an agent and what became of it."""

    id: str
    session_id: str
    agent_id: str | None
    status: RunStatus
    error: str | None
    worker: str
    stop_requested: bool
    spent: Spent
    seen_at: datetime  # its process lived then
    created_at: datetime
    finished_at: datetime | None
