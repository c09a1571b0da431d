"""Versions in the making, assets, answers of models, crawls; a chunk may keep its id over generations."""

import sqlalchemy as sa
from alembic import op

from kosmos.db.types import ID, JSON, SHA256, UtcDateTime

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables; the key of a chunk becomes its id and its generation."""
    with op.batch_alter_table("chunk") as batch:
        batch.drop_constraint("fk_chunk_parent_id", type_="foreignkey")
        batch.drop_constraint("pk_chunk", type_="primary")
        batch.create_primary_key("pk_chunk", ["id", "generation"])
    _versions()
    _assets()
    _answers()
    _crawls()


def downgrade() -> None:
    """Drop them; only the live generations of chunks can stay."""
    for table in ("crawl_page", "crawl", "model_answer", "chunk_asset", "asset", "document_version"):
        op.drop_table(table)
    op.execute(
        "DELETE FROM chunk WHERE generation <> "
        "(SELECT live_generation FROM document WHERE document.id = chunk.document_id)"
    )
    op.execute("UPDATE document SET draft_generation = NULL")
    with op.batch_alter_table("chunk") as batch:
        batch.drop_constraint("pk_chunk", type_="primary")
        batch.create_primary_key("pk_chunk", ["id"])
    with op.batch_alter_table("chunk") as batch:
        batch.create_foreign_key("fk_chunk_parent_id", "chunk", ["parent_id"], ["id"], ondelete="CASCADE")


def _moments(*names: str) -> list[sa.Column[object]]:
    return [sa.Column(name, UtcDateTime(), nullable=False) for name in names]


def _fk(table: str, column: str, target: str, ondelete: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [target], name=f"fk_{table}_{column}", ondelete=ondelete)


def _versions() -> None:
    name = "document_version"
    op.create_table(
        name,
        sa.Column("document_id", ID, nullable=False),
        sa.Column("generation", sa.Integer, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("original_sha256", SHA256, nullable=False),
        sa.Column("canonical_sha256", SHA256),
        sa.Column("extract_sha256", SHA256),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("filetype", sa.String(32), nullable=False),
        sa.Column("converter", sa.String(64), nullable=False),
        sa.Column("line_count", sa.Integer, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("metadata", JSON, nullable=False),
        sa.Column("hints", JSON, nullable=False),
        *_moments("created_at", "updated_at"),
        sa.PrimaryKeyConstraint("document_id", "generation", name=f"pk_{name}"),
        _fk(name, "document_id", "document.id", "CASCADE"),
        *(_fk(name, f"{part}_sha256", "blob.sha256", "RESTRICT") for part in _PARTS),
    )
    for part in _PARTS:
        op.create_index(f"ix_{name}_{part}_sha256", name, [f"{part}_sha256"])


_PARTS = ("original", "canonical", "extract")


def _assets() -> None:
    op.create_table(
        "asset",
        sa.Column("id", ID, nullable=False),
        sa.Column("space_id", ID, nullable=False),
        sa.Column("document_id", ID, nullable=False),
        sa.Column("generation", sa.Integer, nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("sha256", SHA256, nullable=False),
        sa.Column("media_type", sa.String(128), nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("line", sa.Integer, nullable=False),
        sa.Column("caption", sa.Text, nullable=False),
        sa.Column("description", sa.Text),
        sa.Column("analysis_status", sa.String(16), nullable=False),
        sa.Column("error", sa.Text),
        *_moments("created_at", "updated_at"),
        sa.PrimaryKeyConstraint("id", name="pk_asset"),
        _fk("asset", "space_id", "knowledge_space.id", "CASCADE"),
        _fk("asset", "document_id", "document.id", "CASCADE"),
        _fk("asset", "sha256", "blob.sha256", "RESTRICT"),
        sa.CheckConstraint(
            "analysis_status IN ('NOT_ANALYSED', 'PENDING', 'DONE', 'FAILED')", name=op.f("ck_asset_status")
        ),
    )
    for column in ("space_id", "sha256"):
        op.create_index(f"ix_asset_{column}", "asset", [column])
    op.create_index("ix_asset_document_id_generation", "asset", ["document_id", "generation"])
    op.create_table(
        "chunk_asset",
        sa.Column("chunk_id", ID, nullable=False),
        sa.Column("asset_id", ID, nullable=False),
        sa.PrimaryKeyConstraint("chunk_id", "asset_id", name="pk_chunk_asset"),
        _fk("chunk_asset", "asset_id", "asset.id", "CASCADE"),
    )
    op.create_index("ix_chunk_asset_asset_id", "chunk_asset", ["asset_id"])


def _answers() -> None:
    op.create_table(
        "model_answer",
        sa.Column("key", SHA256, nullable=False),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("answer", JSON, nullable=False),
        *_moments("created_at"),
        sa.PrimaryKeyConstraint("key", name="pk_model_answer"),
    )


def _crawls() -> None:
    op.create_table(
        "crawl",
        sa.Column("id", ID, nullable=False),
        sa.Column("space_id", ID, nullable=False),
        sa.Column("start", sa.Text, nullable=False),
        sa.Column("plan", JSON, nullable=False),
        sa.Column("round", sa.Integer, nullable=False),
        *_moments("created_at", "updated_at"),
        sa.PrimaryKeyConstraint("id", name="pk_crawl"),
        _fk("crawl", "space_id", "knowledge_space.id", "CASCADE"),
    )
    op.create_index("ix_crawl_space_id", "crawl", ["space_id"])
    op.create_table(
        "crawl_page",
        sa.Column("crawl_id", ID, nullable=False),
        sa.Column("url_sha256", SHA256, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("sitemap", sa.Boolean, nullable=False),
        sa.Column("pending", sa.Boolean, nullable=False),
        sa.Column("depth", sa.Integer, nullable=False),
        sa.Column("due", sa.Float, nullable=False),
        sa.Column("page", JSON, nullable=False),
        sa.PrimaryKeyConstraint("crawl_id", "url_sha256", name="pk_crawl_page"),
        _fk("crawl_page", "crawl_id", "crawl.id", "CASCADE"),
    )
    op.create_index("ix_crawl_page_due", "crawl_page", ["crawl_id", "pending", "due"])
