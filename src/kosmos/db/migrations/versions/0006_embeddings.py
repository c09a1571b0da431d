"""Vectors that encoders have made: the same text is never encoded twice."""

import sqlalchemy as sa
from alembic import op

from kosmos.db.types import SHA256, UtcDateTime

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "embedding",
        sa.Column("encoder", sa.String(128), nullable=False),
        sa.Column("text_sha256", SHA256, nullable=False),
        sa.Column("vector", sa.LargeBinary, nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("encoder", "text_sha256", name="pk_embedding"),
    )


def downgrade() -> None:
    """Drop it: vectors can be made again."""
    op.drop_table("embedding")
