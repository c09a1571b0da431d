"""Summaries of documents, shared by all who may read them."""

import sqlalchemy as sa
from alembic import op

from kosmos.db.types import ID, JSON_OR_NULL, UtcDateTime

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_NAME = "summary_cache"


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        _NAME,
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("document_id", ID, nullable=False),
        sa.Column("summary", JSON_OR_NULL),
        sa.Column("made_at", UtcDateTime()),
        sa.Column("expires_at", UtcDateTime()),
        sa.Column("claimed_by", sa.String(160)),
        sa.Column("claimed_until", UtcDateTime()),
        sa.PrimaryKeyConstraint("key", name=f"pk_{_NAME}"),
        sa.ForeignKeyConstraint(
            ["document_id"], ["document.id"], name=f"fk_{_NAME}_document_id", ondelete="CASCADE"
        ),
    )
    op.create_index(f"ix_{_NAME}_document_id", _NAME, ["document_id"])
    op.create_index(f"ix_{_NAME}_expires_at", _NAME, ["expires_at"])


def downgrade() -> None:
    """Drop it."""
    op.drop_table(_NAME)
