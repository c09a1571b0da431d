"""Users, tokens, spaces, members, credentials and their links."""

import sqlalchemy as sa
from alembic import op

from kosmos.db.types import ID, JSON, SHA256, UtcDateTime

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables."""
    _people()
    _spaces()
    _credentials()


def downgrade() -> None:
    """Drop them, those that refer to others first."""
    for table in ("space_credential", "credential", "space_member", "knowledge_space", "api_token", "user"):
        op.drop_table(table)


def _people() -> None:
    op.create_table(
        "user",
        sa.Column("id", ID, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("name_key", sa.Text, nullable=False),
        sa.Column("is_admin", sa.Boolean, nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_user"),
        sa.UniqueConstraint("name_key", name="uq_user_name_key"),
    )
    op.create_table(
        "api_token",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("secret_sha256", SHA256, nullable=False),
        sa.Column("scope", sa.String(16), nullable=False),
        sa.Column("expires_at", UtcDateTime()),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_api_token"),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name="fk_api_token_user_id", ondelete="CASCADE"),
    )
    op.create_index("ix_api_token_user_id", "api_token", ["user_id"])


def _spaces() -> None:
    op.create_table(
        "knowledge_space",
        sa.Column("id", ID, nullable=False),
        sa.Column("owner_id", ID, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("name_key", sa.Text, nullable=False),
        sa.Column("description", sa.Text, nullable=False),
        sa.Column("metadata", JSON, nullable=False),
        sa.Column("settings", JSON, nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_knowledge_space"),
        sa.ForeignKeyConstraint(
            ["owner_id"], ["user.id"], name="fk_knowledge_space_owner_id", ondelete="RESTRICT"
        ),
        sa.UniqueConstraint("owner_id", "name_key", name="uq_knowledge_space_owner_id_name_key"),
    )
    op.create_index("ix_knowledge_space_owner_id", "knowledge_space", ["owner_id"])
    op.create_table(
        "space_member",
        sa.Column("space_id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("space_id", "user_id", name="pk_space_member"),
        sa.ForeignKeyConstraint(
            ["space_id"], ["knowledge_space.id"], name="fk_space_member_space_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name="fk_space_member_user_id", ondelete="CASCADE"),
        sa.CheckConstraint("role IN ('owner', 'editor', 'viewer')", name=op.f("ck_space_member_role")),
    )
    op.create_index("ix_space_member_user_id", "space_member", ["user_id"])


def _credentials() -> None:
    op.create_table(
        "credential",
        sa.Column("id", ID, nullable=False),
        sa.Column("owner_id", ID),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("type", sa.String(16), nullable=False),
        sa.Column("base_url", sa.Text, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("options", JSON, nullable=False),
        sa.Column("is_default", sa.Boolean, nullable=False),
        sa.Column("encrypted_key", sa.LargeBinary),
        sa.Column("key_id", sa.String(16)),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_credential"),
        sa.ForeignKeyConstraint(["owner_id"], ["user.id"], name="fk_credential_owner_id", ondelete="CASCADE"),
        sa.CheckConstraint(
            "type IN ('SLM', 'LLM', 'VLM', 'EMBEDDING', 'RERANK')", name=op.f("ck_credential_type")
        ),
    )
    op.create_index("ix_credential_owner_id", "credential", ["owner_id"])
    op.create_table(
        "space_credential",
        sa.Column("space_id", ID, nullable=False),
        sa.Column("credential_id", ID, nullable=False),
        sa.Column("priority", sa.Integer, nullable=False),
        sa.Column("weight", sa.Float, nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("space_id", "credential_id", name="pk_space_credential"),
        sa.ForeignKeyConstraint(
            ["space_id"], ["knowledge_space.id"], name="fk_space_credential_space_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["credential_id"], ["credential.id"], name="fk_space_credential_credential_id", ondelete="CASCADE"
        ),
        sa.CheckConstraint("weight > 0", name=op.f("ck_space_credential_weight")),
    )
    op.create_index("ix_space_credential_credential_id", "space_credential", ["credential_id"])
