"""The tables of agents, sessions, messages, runs, events and approvals."""

import sqlalchemy as sa

from kosmos.db.tables import metadata
from kosmos.db.types import ID, JSON, JSON_OR_NULL, UtcDateTime

_OPEN = sa.text("status IN ('RUNNING', 'WAITING')")


def _moment(name: str, *, nullable: bool = False) -> sa.Column[object]:
    return sa.Column(name, UtcDateTime(), nullable=nullable)


def _refers(
    name: str, target: str, *, nullable: bool = False, ondelete: str = "CASCADE", index: bool = True
) -> sa.Column[object]:
    return sa.Column(name, ID, sa.ForeignKey(target, ondelete=ondelete), nullable=nullable, index=index)


agent = sa.Table(
    "agent",
    metadata,
    sa.Column("id", ID, primary_key=True),
    _refers("owner_id", "user.id", nullable=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("name_key", sa.Text, nullable=False),
    sa.Column("description", sa.Text, nullable=False),
    sa.Column("system_prompt", sa.Text, nullable=False),
    sa.Column("model", sa.Text),
    sa.Column("allowed_tools", JSON),
    sa.Column("allowed_spaces", JSON),
    sa.Column("chat_options", JSON, nullable=False),
    sa.Column("workflow", sa.String(16), nullable=False),
    sa.Column("step_limit", sa.Integer, nullable=False),
    sa.Column("language", sa.String(8), nullable=False),
    _moment("created_at"),
    _moment("updated_at"),
    sa.UniqueConstraint("owner_id", "name_key"),
    sa.CheckConstraint("workflow IN ('loop', 'react', 'literature')", name="workflow"),
    sa.CheckConstraint("step_limit >= 1", name="step_limit"),
)

chat_session = sa.Table(
    "chat_session",
    metadata,
    sa.Column("id", ID, primary_key=True),
    _refers("owner_id", "user.id", index=False),
    _refers("agent_id", "agent.id", nullable=True, ondelete="SET NULL"),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("origin", sa.String(16), nullable=False),
    sa.Column("metadata", JSON, nullable=False),
    sa.Column("total_token_count", sa.BigInteger, nullable=False),
    sa.Column("message_count", sa.Integer, nullable=False),
    _moment("created_at"),
    _moment("updated_at"),
    sa.Index("ix_chat_session_owner_id", "owner_id", "origin", "id"),
)

run = sa.Table(
    "run",
    metadata,
    sa.Column("id", ID, primary_key=True),
    _refers("session_id", "chat_session.id"),
    _refers("agent_id", "agent.id", nullable=True, ondelete="SET NULL"),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("error", sa.Text),
    sa.Column("worker", sa.String(128), nullable=False),
    sa.Column("stop_requested", sa.Boolean, nullable=False),
    sa.Column("prompt_tokens", sa.BigInteger, nullable=False),
    sa.Column("cached_tokens", sa.BigInteger, nullable=False),
    sa.Column("output_tokens", sa.BigInteger, nullable=False),
    sa.Column("cost", sa.Float, nullable=False),
    _moment("seen_at"),
    _moment("created_at"),
    _moment("finished_at", nullable=True),
    sa.CheckConstraint(
        "status IN ('RUNNING', 'WAITING', 'COMPLETED', 'STOPPED', 'FAILED', 'INTERRUPTED')", name="status"
    ),
    # One at a time: a session is a talk, not a crowd.
    sa.Index("uq_run_session_id", "session_id", unique=True, sqlite_where=_OPEN, postgresql_where=_OPEN),
)

chat_message = sa.Table(
    "chat_message",
    metadata,
    sa.Column("id", ID, primary_key=True),
    _refers("session_id", "chat_session.id", index=False),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("run_id", ID),
    sa.Column("role", sa.String(16), nullable=False),
    sa.Column("type", sa.String(16), nullable=False),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("metadata", JSON, nullable=False),
    sa.Column("token_count", sa.Integer, nullable=False),
    sa.Column("compressed", sa.Boolean, nullable=False),
    _moment("created_at"),
    _moment("updated_at"),
    sa.UniqueConstraint("session_id", "position"),
    sa.CheckConstraint("role IN ('user', 'assistant', 'system', 'tool')", name="role"),
    sa.CheckConstraint("type IN ('USER', 'ASSISTANT', 'TOOL', 'COMPRESSION')", name="type"),
)

event = sa.Table(
    "event",
    metadata,
    sa.Column("run_id", ID, sa.ForeignKey("run.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("sequence", sa.Integer, primary_key=True, autoincrement=False),
    _refers("session_id", "chat_session.id"),
    sa.Column("type", sa.String(32), nullable=False),
    sa.Column("payload", JSON, nullable=False),
    _moment("created_at"),
)

approval = sa.Table(
    "approval",
    metadata,
    sa.Column("id", ID, primary_key=True),
    _refers("run_id", "run.id"),
    _refers("session_id", "chat_session.id"),
    _refers("owner_id", "user.id", index=False),
    _refers("decided_by", "user.id", nullable=True, ondelete="SET NULL", index=False),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("digest", sa.String(64), nullable=False),
    sa.Column("request", JSON, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    _moment("created_at"),
    _moment("expires_at"),
    _moment("decided_at", nullable=True),
    _moment("used_at", nullable=True),
    sa.CheckConstraint("status IN ('PENDING', 'APPROVED', 'REFUSED', 'USED', 'EXPIRED')", name="status"),
    sa.Index("ix_approval_owner_id", "owner_id", "id"),
)

# Summaries of documents that may be made again at any time. While one is being made it is claimed.
summary_cache = sa.Table(
    "summary_cache",
    metadata,
    sa.Column("key", sa.Text, primary_key=True),
    _refers("document_id", "document.id"),
    sa.Column("summary", JSON_OR_NULL),
    _moment("made_at", nullable=True),
    sa.Column("expires_at", UtcDateTime(), index=True),
    sa.Column("claimed_by", sa.String(160)),
    _moment("claimed_until", nullable=True),
)
