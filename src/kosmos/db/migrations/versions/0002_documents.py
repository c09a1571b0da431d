"""Blobs, documents and chunks."""

import sqlalchemy as sa
from alembic import op

from kosmos.db.types import ID, JSON, SHA256, UtcDateTime

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "blob",
        sa.Column("sha256", SHA256, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("sha256", name="pk_blob"),
    )
    _documents()
    _chunks()


def downgrade() -> None:
    """Drop them, those that refer to others first."""
    for table in ("chunk", "document", "blob"):
        op.drop_table(table)


def _documents() -> None:
    op.create_table(
        "document",
        sa.Column("id", ID, nullable=False),
        sa.Column("space_id", ID, nullable=False),
        sa.Column("origin", sa.Text, nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("filename", sa.Text, nullable=False),
        sa.Column("filetype", sa.String(32), nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("source_url", sa.Text),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("original_sha256", SHA256, nullable=False),
        sa.Column("canonical_sha256", SHA256),
        sa.Column("line_count", sa.Integer, nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("error", sa.Text),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("live_generation", sa.Integer, nullable=False),
        sa.Column("metadata", JSON, nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_document"),
        sa.ForeignKeyConstraint(
            ["space_id"], ["knowledge_space.id"], name="fk_document_space_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["original_sha256"], ["blob.sha256"], name="fk_document_original_sha256", ondelete="RESTRICT"
        ),
        sa.ForeignKeyConstraint(
            ["canonical_sha256"], ["blob.sha256"], name="fk_document_canonical_sha256", ondelete="RESTRICT"
        ),
        sa.UniqueConstraint("space_id", "origin", name="uq_document_space_id_origin"),
        sa.CheckConstraint(
            "status IN ('PENDING', 'PROCESSING', 'READY', 'FAILED')", name=op.f("ck_document_status")
        ),
    )
    for column in ("space_id", "original_sha256", "canonical_sha256"):
        op.create_index(f"ix_document_{column}", "document", [column])


def _chunks() -> None:
    op.create_table(
        "chunk",
        sa.Column("id", ID, nullable=False),
        sa.Column("space_id", ID, nullable=False),
        sa.Column("document_id", ID, nullable=False),
        sa.Column("generation", sa.Integer, nullable=False),
        sa.Column("parent_id", ID),
        sa.Column("type", sa.String(16), nullable=False),
        sa.Column("level", sa.Integer, nullable=False),
        sa.Column("start_line", sa.Integer, nullable=False),
        sa.Column("end_line", sa.Integer, nullable=False),
        sa.Column("raw_content", sa.Text, nullable=False),
        sa.Column("summary", sa.Text, nullable=False),
        sa.Column("redaction", JSON),
        sa.Column("token_count", sa.Integer, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("from_split", sa.Boolean, nullable=False),
        sa.Column("merged", sa.Boolean, nullable=False),
        sa.Column("metadata", JSON, nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_chunk"),
        sa.ForeignKeyConstraint(
            ["space_id"], ["knowledge_space.id"], name="fk_chunk_space_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["document_id"], ["document.id"], name="fk_chunk_document_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["parent_id"], ["chunk.id"], name="fk_chunk_parent_id", ondelete="CASCADE"),
        sa.UniqueConstraint(
            "document_id", "generation", "position", name="uq_chunk_document_id_generation_position"
        ),
        sa.CheckConstraint("type IN ('heading', 'content', 'error')", name=op.f("ck_chunk_type")),
        sa.CheckConstraint("start_line >= 1 AND end_line >= start_line", name=op.f("ck_chunk_lines")),
    )
    for column in ("space_id", "parent_id"):
        op.create_index(f"ix_chunk_{column}", "chunk", [column])
