"""What every call of a model took; chunks that hide something or failed are found by an index."""

import sqlalchemy as sa
from alembic import op

from kosmos.db.types import ID, UtcDateTime

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_HIDES = sa.text("redaction IS NOT NULL")
_FAILED = sa.text("type = 'error'")


def upgrade() -> None:
    """Create the table and the indexes; a chunk that hides nothing says so by NULL."""
    op.execute("UPDATE chunk SET redaction = NULL WHERE redaction = 'null'")
    op.create_index(
        "ix_chunk_hides",
        "chunk",
        ["document_id", "generation"],
        sqlite_where=_HIDES,
        postgresql_where=_HIDES,
    )
    op.create_index(
        "ix_chunk_failed",
        "chunk",
        ["space_id", "document_id"],
        sqlite_where=_FAILED,
        postgresql_where=_FAILED,
    )
    _ledger()


def downgrade() -> None:
    """Drop them."""
    op.drop_table("ledger")
    op.drop_index("ix_chunk_failed", "chunk")
    op.drop_index("ix_chunk_hides", "chunk")


def _ledger() -> None:
    op.create_table(
        "ledger",
        sa.Column("id", ID, nullable=False),
        sa.Column("space_id", ID, nullable=False),
        sa.Column("document_id", ID),
        sa.Column("job_id", ID, nullable=False),
        sa.Column("credential_id", ID, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("purpose", sa.String(32), nullable=False),
        sa.Column("start_line", sa.Integer),
        sa.Column("end_line", sa.Integer),
        sa.Column("prompt_tokens", sa.BigInteger, nullable=False),
        sa.Column("cached_tokens", sa.BigInteger, nullable=False),
        sa.Column("output_tokens", sa.BigInteger, nullable=False),
        sa.Column("cost", sa.Float),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_ledger"),
        sa.ForeignKeyConstraint(
            ["space_id"], ["knowledge_space.id"], name="fk_ledger_space_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["document_id"], ["document.id"], name="fk_ledger_document_id", ondelete="SET NULL"
        ),
    )
    for column in ("space_id", "document_id", "job_id"):
        op.create_index(f"ix_ledger_{column}", "ledger", [column])
