"""Agents, sessions, messages, runs and their events."""

import sqlalchemy as sa
from alembic import op

from kosmos.db.types import ID, JSON, UtcDateTime

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_RUNNING = sa.text("status = 'RUNNING'")


def upgrade() -> None:
    """Create the tables."""
    _agents()
    _sessions()
    _runs()
    _messages()
    _events()


def downgrade() -> None:
    """Drop them."""
    for table in ("event", "chat_message", "run", "chat_session", "agent"):
        op.drop_table(table)


def _moments(*names: str) -> list[sa.Column[object]]:
    return [sa.Column(name, UtcDateTime(), nullable=False) for name in names]


def _fk(table: str, column: str, target: str, ondelete: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [target], name=f"fk_{table}_{column}", ondelete=ondelete)


def _check(table: str, name: str, rule: str) -> sa.CheckConstraint:
    return sa.CheckConstraint(rule, name=op.f(f"ck_{table}_{name}"))


def _agents() -> None:
    op.create_table(
        "agent",
        sa.Column("id", ID, nullable=False),
        sa.Column("owner_id", ID),
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
        *_moments("created_at", "updated_at"),
        sa.PrimaryKeyConstraint("id", name="pk_agent"),
        _fk("agent", "owner_id", "user.id", "CASCADE"),
        sa.UniqueConstraint("owner_id", "name_key", name="uq_agent_owner_id_name_key"),
        _check("agent", "workflow", "workflow IN ('loop', 'react', 'literature')"),
        _check("agent", "step_limit", "step_limit >= 1"),
    )
    op.create_index("ix_agent_owner_id", "agent", ["owner_id"])


def _sessions() -> None:
    name = "chat_session"
    op.create_table(
        name,
        sa.Column("id", ID, nullable=False),
        sa.Column("owner_id", ID, nullable=False),
        sa.Column("agent_id", ID),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("origin", sa.String(16), nullable=False),
        sa.Column("metadata", JSON, nullable=False),
        sa.Column("total_token_count", sa.BigInteger, nullable=False),
        sa.Column("message_count", sa.Integer, nullable=False),
        *_moments("created_at", "updated_at"),
        sa.PrimaryKeyConstraint("id", name=f"pk_{name}"),
        _fk(name, "owner_id", "user.id", "CASCADE"),
        _fk(name, "agent_id", "agent.id", "SET NULL"),
    )
    op.create_index(f"ix_{name}_agent_id", name, ["agent_id"])
    op.create_index(f"ix_{name}_owner_id", name, ["owner_id", "origin", "id"])


def _runs() -> None:
    op.create_table(
        "run",
        sa.Column("id", ID, nullable=False),
        sa.Column("session_id", ID, nullable=False),
        sa.Column("agent_id", ID),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("error", sa.Text),
        sa.Column("worker", sa.String(128), nullable=False),
        sa.Column("stop_requested", sa.Boolean, nullable=False),
        sa.Column("prompt_tokens", sa.BigInteger, nullable=False),
        sa.Column("cached_tokens", sa.BigInteger, nullable=False),
        sa.Column("output_tokens", sa.BigInteger, nullable=False),
        sa.Column("cost", sa.Float, nullable=False),
        *_moments("seen_at", "created_at"),
        sa.Column("finished_at", UtcDateTime()),
        sa.PrimaryKeyConstraint("id", name="pk_run"),
        _fk("run", "session_id", "chat_session.id", "CASCADE"),
        _fk("run", "agent_id", "agent.id", "SET NULL"),
        _check("run", "status", "status IN ('RUNNING', 'COMPLETED', 'STOPPED', 'FAILED', 'INTERRUPTED')"),
    )
    op.create_index("ix_run_session_id", "run", ["session_id"])
    op.create_index("ix_run_agent_id", "run", ["agent_id"])
    op.create_index(
        "uq_run_session_id",
        "run",
        ["session_id"],
        unique=True,
        sqlite_where=_RUNNING,
        postgresql_where=_RUNNING,
    )


def _messages() -> None:
    name = "chat_message"
    op.create_table(
        name,
        sa.Column("id", ID, nullable=False),
        sa.Column("session_id", ID, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("run_id", ID),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("type", sa.String(16), nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("metadata", JSON, nullable=False),
        sa.Column("token_count", sa.Integer, nullable=False),
        sa.Column("compressed", sa.Boolean, nullable=False),
        *_moments("created_at", "updated_at"),
        sa.PrimaryKeyConstraint("id", name=f"pk_{name}"),
        _fk(name, "session_id", "chat_session.id", "CASCADE"),
        sa.UniqueConstraint("session_id", "position", name=f"uq_{name}_session_id_position"),
        _check(name, "role", "role IN ('user', 'assistant', 'system', 'tool')"),
        _check(name, "type", "type IN ('USER', 'ASSISTANT', 'TOOL', 'COMPRESSION')"),
    )


def _events() -> None:
    op.create_table(
        "event",
        sa.Column("run_id", ID, nullable=False),
        sa.Column("sequence", sa.Integer, nullable=False),
        sa.Column("session_id", ID, nullable=False),
        sa.Column("type", sa.String(32), nullable=False),
        sa.Column("payload", JSON, nullable=False),
        *_moments("created_at"),
        sa.PrimaryKeyConstraint("run_id", "sequence", name="pk_event"),
        _fk("event", "run_id", "run.id", "CASCADE"),
        _fk("event", "session_id", "chat_session.id", "CASCADE"),
    )
    op.create_index("ix_event_session_id", "event", ["session_id"])
