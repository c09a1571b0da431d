"""The tables. Migrations create them; these declarations are what the queries are written against."""

import sqlalchemy as sa

from kosmos.db.types import ID, JSON, JSON_OR_NULL, SHA256, UtcDateTime

metadata = sa.MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)


def _created() -> sa.Column[object]:
    return sa.Column("created_at", UtcDateTime(), nullable=False)


def _updated() -> sa.Column[object]:
    return sa.Column("updated_at", UtcDateTime(), nullable=False)


def _refers(
    name: str, target: str, *, nullable: bool = False, ondelete: str = "CASCADE"
) -> sa.Column[object]:
    return sa.Column(name, ID, sa.ForeignKey(target, ondelete=ondelete), nullable=nullable, index=True)


def _refers_blob(name: str, *, nullable: bool = True) -> sa.Column[object]:
    return sa.Column(
        name, SHA256, sa.ForeignKey("blob.sha256", ondelete="RESTRICT"), nullable=nullable, index=True
    )


user = sa.Table(
    "user",
    metadata,
    sa.Column("id", ID, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("name_key", sa.Text, nullable=False, unique=True),
    sa.Column("is_admin", sa.Boolean, nullable=False),
    _created(),
)

api_token = sa.Table(
    "api_token",
    metadata,
    sa.Column("id", ID, primary_key=True),
    _refers("user_id", "user.id"),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("secret_sha256", SHA256, nullable=False),
    sa.Column("scope", sa.String(16), nullable=False),
    sa.Column("expires_at", UtcDateTime()),
    _created(),
)

knowledge_space = sa.Table(
    "knowledge_space",
    metadata,
    sa.Column("id", ID, primary_key=True),
    _refers("owner_id", "user.id", ondelete="RESTRICT"),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("name_key", sa.Text, nullable=False),
    sa.Column("description", sa.Text, nullable=False),
    sa.Column("metadata", JSON, nullable=False),
    sa.Column("settings", JSON, nullable=False),
    _created(),
    _updated(),
    sa.UniqueConstraint("owner_id", "name_key"),
)

space_member = sa.Table(
    "space_member",
    metadata,
    sa.Column("space_id", ID, sa.ForeignKey("knowledge_space.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("user_id", ID, sa.ForeignKey("user.id", ondelete="CASCADE"), primary_key=True, index=True),
    sa.Column("role", sa.String(16), nullable=False),
    _created(),
    sa.CheckConstraint("role IN ('owner', 'editor', 'viewer')", name="role"),
)

credential = sa.Table(
    "credential",
    metadata,
    sa.Column("id", ID, primary_key=True),
    _refers("owner_id", "user.id", nullable=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("type", sa.String(16), nullable=False),
    sa.Column("base_url", sa.Text, nullable=False),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("options", JSON, nullable=False),
    sa.Column("is_default", sa.Boolean, nullable=False),
    sa.Column("encrypted_key", sa.LargeBinary),
    sa.Column("key_id", sa.String(16)),
    _created(),
    _updated(),
    sa.CheckConstraint("type IN ('SLM', 'LLM', 'VLM', 'EMBEDDING', 'RERANK')", name="type"),
)

space_credential = sa.Table(
    "space_credential",
    metadata,
    sa.Column("space_id", ID, sa.ForeignKey("knowledge_space.id", ondelete="CASCADE"), primary_key=True),
    sa.Column(
        "credential_id", ID, sa.ForeignKey("credential.id", ondelete="CASCADE"), primary_key=True, index=True
    ),
    sa.Column("priority", sa.Integer, nullable=False),
    sa.Column("weight", sa.Float, nullable=False),
    _created(),
    sa.CheckConstraint("weight > 0", name="weight"),
)

blob = sa.Table(
    "blob",
    metadata,
    sa.Column("sha256", SHA256, primary_key=True),
    sa.Column("size", sa.BigInteger, nullable=False),
    _created(),
)

document = sa.Table(
    "document",
    metadata,
    sa.Column("id", ID, primary_key=True),
    _refers("space_id", "knowledge_space.id"),
    sa.Column("origin", sa.Text, nullable=False),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("filename", sa.Text, nullable=False),
    sa.Column("filetype", sa.String(32), nullable=False),
    sa.Column("size", sa.BigInteger, nullable=False),
    sa.Column("source_url", sa.Text),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column(
        "original_sha256",
        SHA256,
        sa.ForeignKey("blob.sha256", ondelete="RESTRICT"),
        nullable=False,
        index=True,
    ),
    sa.Column("canonical_sha256", SHA256, sa.ForeignKey("blob.sha256", ondelete="RESTRICT"), index=True),
    sa.Column("line_count", sa.Integer, nullable=False),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("error", sa.Text),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("live_generation", sa.Integer, nullable=False),
    sa.Column("draft_generation", sa.Integer),
    sa.Column("metadata", JSON, nullable=False),
    _created(),
    _updated(),
    sa.UniqueConstraint("space_id", "origin"),
    sa.CheckConstraint("status IN ('PENDING', 'PROCESSING', 'READY', 'FAILED')", name="status"),
)

_HIDES = sa.text("redaction IS NOT NULL")
_FAILED = sa.text("type = 'error'")

chunk = sa.Table(
    "chunk",
    metadata,
    sa.Column("id", ID, primary_key=True),
    _refers("space_id", "knowledge_space.id"),
    sa.Column("document_id", ID, sa.ForeignKey("document.id", ondelete="CASCADE"), nullable=False),
    sa.Column("generation", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("parent_id", ID, index=True),
    sa.Column("type", sa.String(16), nullable=False),
    sa.Column("level", sa.Integer, nullable=False),
    sa.Column("start_line", sa.Integer, nullable=False),
    sa.Column("end_line", sa.Integer, nullable=False),
    sa.Column("raw_content", sa.Text, nullable=False),
    sa.Column("summary", sa.Text, nullable=False),
    sa.Column("redaction", JSON_OR_NULL),
    sa.Column("token_count", sa.Integer, nullable=False),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("from_split", sa.Boolean, nullable=False),
    sa.Column("merged", sa.Boolean, nullable=False),
    sa.Column("metadata", JSON, nullable=False),
    _created(),
    _updated(),
    sa.UniqueConstraint("document_id", "generation", "position"),
    sa.CheckConstraint("type IN ('heading', 'content', 'error')", name="type"),
    sa.CheckConstraint("start_line >= 1 AND end_line >= start_line", name="lines"),
    sa.Index("ix_chunk_hides", "document_id", "generation", sqlite_where=_HIDES, postgresql_where=_HIDES),
    sa.Index("ix_chunk_failed", "space_id", "document_id", sqlite_where=_FAILED, postgresql_where=_FAILED),
)

# What becomes, or is, one generation of a document: what a job has made so far, out of which bytes.
document_version = sa.Table(
    "document_version",
    metadata,
    sa.Column("document_id", ID, sa.ForeignKey("document.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("generation", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("version", sa.Integer, nullable=False),
    _refers_blob("original_sha256", nullable=False),
    _refers_blob("canonical_sha256"),
    _refers_blob("extract_sha256"),
    sa.Column("size", sa.BigInteger, nullable=False),
    sa.Column("filetype", sa.String(32), nullable=False),
    sa.Column("converter", sa.String(64), nullable=False),
    sa.Column("line_count", sa.Integer, nullable=False),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("metadata", JSON, nullable=False),
    sa.Column("hints", JSON, nullable=False),
    _created(),
    _updated(),
)

asset = sa.Table(
    "asset",
    metadata,
    sa.Column("id", ID, primary_key=True),
    _refers("space_id", "knowledge_space.id"),
    sa.Column("document_id", ID, sa.ForeignKey("document.id", ondelete="CASCADE"), nullable=False),
    sa.Column("generation", sa.Integer, nullable=False),
    sa.Column("kind", sa.String(16), nullable=False),
    _refers_blob("sha256", nullable=False),
    sa.Column("media_type", sa.String(128), nullable=False),
    sa.Column("size", sa.BigInteger, nullable=False),
    sa.Column("line", sa.Integer, nullable=False),
    sa.Column("caption", sa.Text, nullable=False),
    sa.Column("description", sa.Text),
    sa.Column("analysis_status", sa.String(16), nullable=False),
    sa.Column("error", sa.Text),
    _created(),
    _updated(),
    sa.CheckConstraint("analysis_status IN ('NOT_ANALYSED', 'PENDING', 'DONE', 'FAILED')", name="status"),
    sa.Index("ix_asset_document_id_generation", "document_id", "generation"),
)

chunk_asset = sa.Table(
    "chunk_asset",
    metadata,
    sa.Column("chunk_id", ID, primary_key=True),
    sa.Column("asset_id", ID, sa.ForeignKey("asset.id", ondelete="CASCADE"), primary_key=True, index=True),
)

# What a model has said to the very same question: a crash after the call costs nothing.
model_answer = sa.Table(
    "model_answer",
    metadata,
    sa.Column("key", SHA256, primary_key=True),
    sa.Column("kind", sa.String(32), nullable=False),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("answer", JSON, nullable=False),
    _created(),
)

# What every call of a model took. It outlives the job and the document: what was paid stays paid.
ledger = sa.Table(
    "ledger",
    metadata,
    sa.Column("id", ID, primary_key=True),
    _refers("space_id", "knowledge_space.id"),
    _refers("document_id", "document.id", nullable=True, ondelete="SET NULL"),
    sa.Column("job_id", ID, nullable=False, index=True),
    sa.Column("credential_id", ID, nullable=False),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("purpose", sa.String(32), nullable=False),
    sa.Column("start_line", sa.Integer),
    sa.Column("end_line", sa.Integer),
    sa.Column("prompt_tokens", sa.BigInteger, nullable=False),
    sa.Column("cached_tokens", sa.BigInteger, nullable=False),
    sa.Column("output_tokens", sa.BigInteger, nullable=False),
    sa.Column("cost", sa.Float),
    _created(),
)

# What an encoder has made of the very same text: float32, little end first.
space_encoder = sa.Table(
    "space_encoder",
    metadata,
    sa.Column("space_id", ID, sa.ForeignKey("knowledge_space.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("name", sa.String(128), nullable=False),
    sa.Column("setting", sa.Text, nullable=False),
    sa.Column("updated_at", UtcDateTime(), nullable=False),
)

embedding = sa.Table(
    "embedding",
    metadata,
    sa.Column("encoder", sa.String(128), primary_key=True),
    sa.Column("text_sha256", SHA256, primary_key=True),
    sa.Column("vector", sa.LargeBinary, nullable=False),
    _created(),
)

crawl = sa.Table(
    "crawl",
    metadata,
    sa.Column("id", ID, primary_key=True),
    _refers("space_id", "knowledge_space.id"),
    sa.Column("start", sa.Text, nullable=False),
    sa.Column("plan", JSON, nullable=False),
    sa.Column("round", sa.Integer, nullable=False),
    _created(),
    _updated(),
)

crawl_page = sa.Table(
    "crawl_page",
    metadata,
    sa.Column("crawl_id", ID, sa.ForeignKey("crawl.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("url_sha256", SHA256, primary_key=True),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("sitemap", sa.Boolean, nullable=False),
    sa.Column("pending", sa.Boolean, nullable=False),
    sa.Column("depth", sa.Integer, nullable=False),
    sa.Column("due", sa.Float, nullable=False),
    sa.Column("page", JSON, nullable=False),
    sa.Index("ix_crawl_page_due", "crawl_id", "pending", "due"),
)

_OPEN = sa.text("dedupe_key IS NOT NULL AND status IN ('PENDING', 'RUNNING', 'PAUSED')")
_DUE = sa.text("due_at IS NOT NULL")

job = sa.Table(
    "job",
    metadata,
    sa.Column("id", ID, primary_key=True),
    sa.Column("type", sa.String(64), nullable=False),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("reason", sa.Text),
    _refers("space_id", "knowledge_space.id", nullable=True),
    _refers("document_id", "document.id", nullable=True),
    sa.Column("asset_id", ID),
    _refers("initiator_id", "user.id", nullable=True, ondelete="SET NULL"),
    sa.Column("priority", sa.Integer, nullable=False),
    sa.Column("lane", sa.String(128)),
    sa.Column("lane_limit", sa.Integer),
    sa.Column("dedupe_key", sa.String(200)),
    sa.Column("context", JSON, nullable=False),
    sa.Column("progress", JSON, nullable=False),
    sa.Column("result", JSON),
    sa.Column("prompt_tokens", sa.BigInteger, nullable=False),
    sa.Column("cached_tokens", sa.BigInteger, nullable=False),
    sa.Column("output_tokens", sa.BigInteger, nullable=False),
    sa.Column("cost", sa.Float, nullable=False),
    sa.Column("due_at", UtcDateTime()),
    sa.Column("deadline_at", UtcDateTime()),
    sa.Column("epoch", sa.Integer, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("worker", sa.String(128)),
    _created(),
    sa.Column("started_at", UtcDateTime()),
    _updated(),
    sa.Column("finished_at", UtcDateTime()),
    sa.CheckConstraint(
        "status IN ('PENDING', 'RUNNING', 'PAUSED', 'COMPLETED', 'FAILED', 'CANCELLED')", name="status"
    ),
    sa.CheckConstraint(
        "CASE WHEN status IN ('PENDING', 'RUNNING') THEN due_at IS NOT NULL "
        "WHEN status = 'PAUSED' THEN TRUE ELSE due_at IS NULL END",
        name="due",
    ),
    sa.Index("ix_job_due", sa.text("priority DESC"), "due_at", sqlite_where=_DUE, postgresql_where=_DUE),
    sa.Index("ix_job_status", "status", "lane"),
    sa.Index("uq_job_dedupe_key", "dedupe_key", unique=True, sqlite_where=_OPEN, postgresql_where=_OPEN),
)

job_dependency = sa.Table(
    "job_dependency",
    metadata,
    sa.Column("job_id", ID, sa.ForeignKey("job.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("depends_on_id", ID, sa.ForeignKey("job.id", ondelete="CASCADE"), primary_key=True, index=True),
    sa.Column("on_failure", sa.String(16), nullable=False),
    sa.CheckConstraint("on_failure IN ('fail', 'continue')", name="on_failure"),
)

job_event = sa.Table(
    "job_event",
    metadata,
    sa.Column("sequence", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
    sa.Column("job_id", ID, sa.ForeignKey("job.id", ondelete="CASCADE"), nullable=False),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("reason", sa.Text),
    sa.Column("progress", JSON, nullable=False),
    sa.Column("epoch", sa.Integer, nullable=False),
    _created(),
    sa.Index("ix_job_event_job_id", "job_id", "sequence"),
    sqlite_autoincrement=True,
)
