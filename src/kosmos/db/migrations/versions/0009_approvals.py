"""Approvals, and runs that wait for one."""

import sqlalchemy as sa
from alembic import op

from kosmos.db.types import ID, JSON, UtcDateTime

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

_BEFORE = "'RUNNING', 'COMPLETED', 'STOPPED', 'FAILED', 'INTERRUPTED'"
_AFTER = "'RUNNING', 'WAITING', 'COMPLETED', 'STOPPED', 'FAILED', 'INTERRUPTED'"
_TARGETS = {
    "run_id": ("run.id", "CASCADE"),
    "session_id": ("chat_session.id", "CASCADE"),
    "owner_id": ("user.id", "CASCADE"),
    "decided_by": ("user.id", "SET NULL"),
}


def upgrade() -> None:
    """Create the table; a run may wait."""
    _statuses(_AFTER, "status IN ('RUNNING', 'WAITING')")
    op.create_table(
        "approval",
        sa.Column("id", ID, nullable=False),
        *(sa.Column(name, ID, nullable=name == "decided_by") for name in _TARGETS),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("request", JSON, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("expires_at", UtcDateTime(), nullable=False),
        sa.Column("decided_at", UtcDateTime()),
        sa.Column("used_at", UtcDateTime()),
        sa.PrimaryKeyConstraint("id", name="pk_approval"),
        *(
            sa.ForeignKeyConstraint([name], [target], name=f"fk_approval_{name}", ondelete=ondelete)
            for name, (target, ondelete) in _TARGETS.items()
        ),
        sa.CheckConstraint(
            "status IN ('PENDING', 'APPROVED', 'REFUSED', 'USED', 'EXPIRED')", name=op.f("ck_approval_status")
        ),
    )
    op.create_index("ix_approval_run_id", "approval", ["run_id"])
    op.create_index("ix_approval_session_id", "approval", ["session_id"])
    op.create_index("ix_approval_owner_id", "approval", ["owner_id", "id"])


def downgrade() -> None:
    """Drop it; what waits has ended."""
    op.drop_table("approval")
    op.execute("UPDATE run SET status = 'INTERRUPTED' WHERE status = 'WAITING'")
    _statuses(_BEFORE, "status = 'RUNNING'")


def _statuses(allowed: str, open_now: str) -> None:
    op.drop_index("uq_run_session_id", "run")
    with op.batch_alter_table("run") as batch:
        batch.drop_constraint(op.f("ck_run_status"), type_="check")
        batch.create_check_constraint(op.f("ck_run_status"), f"status IN ({allowed})")
    where = sa.text(open_now)
    op.create_index(
        "uq_run_session_id", "run", ["session_id"], unique=True, sqlite_where=where, postgresql_where=where
    )
