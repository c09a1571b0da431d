"""Vectors that encoders have made, each text once; and whose vectors the index of a space holds."""

import sqlalchemy as sa
from alembic import op

from kosmos.db.types import ID, SHA256, UtcDateTime

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "embedding",
        sa.Column("encoder", sa.String(128), nullable=False),
        sa.Column("text_sha256", SHA256, nullable=False),
        sa.Column("vector", sa.LargeBinary, nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("encoder", "text_sha256", name="pk_embedding"),
    )
    op.create_table(
        "space_encoder",
        sa.Column("space_id", ID, nullable=False),
        sa.Column("name", sa.String(128), nullable=False),
        sa.Column("setting", sa.Text, nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("space_id", name="pk_space_encoder"),
        sa.ForeignKeyConstraint(
            ["space_id"],
            ["knowledge_space.id"],
            name="fk_space_encoder_space_id",
            ondelete="CASCADE",
        ),
    )


def downgrade() -> None:
    """Drop them: vectors can be made again."""
    op.drop_table("space_encoder")
    op.drop_table("embedding")
