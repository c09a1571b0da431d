"""Jobs, what they wait for, and what happened to them; triggers keep the rules."""

import sqlalchemy as sa
from alembic import op

from kosmos.db.types import ID, JSON, UtcDateTime

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

# (from, to): what the status of a job may become. A literal copy: a migration must not change with the code.
LEGAL = (
    ("PENDING", "RUNNING"),
    ("PENDING", "PAUSED"),
    ("PENDING", "FAILED"),
    ("PENDING", "CANCELLED"),
    ("RUNNING", "PENDING"),
    ("RUNNING", "PAUSED"),
    ("RUNNING", "COMPLETED"),
    ("RUNNING", "FAILED"),
    ("RUNNING", "CANCELLED"),
    ("PAUSED", "PENDING"),
    ("PAUSED", "RUNNING"),
    ("PAUSED", "FAILED"),
    ("PAUSED", "CANCELLED"),
    ("FAILED", "PENDING"),
    ("CANCELLED", "PENDING"),
)
_PAIRS = " OR ".join(f"(OLD.status = '{old}' AND NEW.status = '{new}')" for old, new in LEGAL)
_ILLEGAL = f"(NEW.status <> OLD.status AND NOT ({_PAIRS})) OR NEW.epoch < OLD.epoch"
_COLUMNS = "job_id, status, reason, progress, epoch, created_at"
_VALUES = "NEW.id, NEW.status, NEW.reason, NEW.progress, NEW.epoch, NEW.updated_at"


def upgrade() -> None:
    """Create the tables and triggers."""
    op.add_column("document", sa.Column("draft_generation", sa.Integer))
    _jobs()
    _around()
    if op.get_bind().dialect.name == "sqlite":
        _sqlite_triggers()
    else:
        _postgres_triggers()


def downgrade() -> None:
    """Drop them."""
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP TRIGGER job_rules ON job")
        op.execute("DROP TRIGGER job_events ON job")
        op.execute("DROP FUNCTION kosmos_job_rules()")
        op.execute("DROP FUNCTION kosmos_job_events()")
    for table in ("job_event", "job_dependency", "job"):
        op.drop_table(table)
    op.drop_column("document", "draft_generation")


def _jobs() -> None:
    op.create_table(
        "job",
        sa.Column("id", ID, nullable=False),
        sa.Column("type", sa.String(64), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("reason", sa.Text),
        sa.Column("space_id", ID),
        sa.Column("document_id", ID),
        sa.Column("asset_id", ID),
        sa.Column("initiator_id", ID),
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
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("started_at", UtcDateTime()),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.Column("finished_at", UtcDateTime()),
        sa.PrimaryKeyConstraint("id", name="pk_job"),
        *(
            sa.ForeignKeyConstraint([column], [target], name=f"fk_job_{column}", ondelete=ondelete)
            for column, target, ondelete in (
                ("space_id", "knowledge_space.id", "CASCADE"),
                ("document_id", "document.id", "CASCADE"),
                ("initiator_id", "user.id", "SET NULL"),
            )
        ),
        sa.CheckConstraint(
            "status IN ('PENDING', 'RUNNING', 'PAUSED', 'COMPLETED', 'FAILED', 'CANCELLED')",
            name=op.f("ck_job_status"),
        ),
        sa.CheckConstraint(
            "CASE WHEN status IN ('PENDING', 'RUNNING') THEN due_at IS NOT NULL "
            "WHEN status = 'PAUSED' THEN TRUE ELSE due_at IS NULL END",
            name=op.f("ck_job_due"),
        ),
    )
    for column in ("space_id", "document_id", "initiator_id"):
        op.create_index(f"ix_job_{column}", "job", [column])


def _around() -> None:
    due = sa.text("due_at IS NOT NULL")
    op.create_index(
        "ix_job_due", "job", [sa.text("priority DESC"), "due_at"], sqlite_where=due, postgresql_where=due
    )
    op.create_index("ix_job_status", "job", ["status", "lane"])
    open_ = sa.text("dedupe_key IS NOT NULL AND status IN ('PENDING', 'RUNNING', 'PAUSED')")
    op.create_index(
        "uq_job_dedupe_key", "job", ["dedupe_key"], unique=True, sqlite_where=open_, postgresql_where=open_
    )
    op.create_table(
        "job_dependency",
        sa.Column("job_id", ID, nullable=False),
        sa.Column("depends_on_id", ID, nullable=False),
        sa.Column("on_failure", sa.String(16), nullable=False),
        sa.PrimaryKeyConstraint("job_id", "depends_on_id", name="pk_job_dependency"),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"], name="fk_job_dependency_job_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["depends_on_id"], ["job.id"], name="fk_job_dependency_depends_on_id", ondelete="CASCADE"
        ),
        sa.CheckConstraint("on_failure IN ('fail', 'continue')", name=op.f("ck_job_dependency_on_failure")),
    )
    op.create_index("ix_job_dependency_depends_on_id", "job_dependency", ["depends_on_id"])
    op.create_table(
        "job_event",
        sa.Column(
            "sequence", sa.BigInteger().with_variant(sa.Integer, "sqlite"), nullable=False, autoincrement=True
        ),
        sa.Column("job_id", ID, nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("reason", sa.Text),
        sa.Column("progress", JSON, nullable=False),
        sa.Column("epoch", sa.Integer, nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("sequence", name="pk_job_event"),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"], name="fk_job_event_job_id", ondelete="CASCADE"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_job_event_job_id", "job_event", ["job_id", "sequence"])


def _sqlite_triggers() -> None:
    op.execute(
        "CREATE TRIGGER job_rules BEFORE UPDATE ON job WHEN "
        f"{_ILLEGAL} BEGIN SELECT RAISE(ABORT, 'illegal job transition'); END"
    )
    changed = "NEW.status <> OLD.status OR NEW.progress <> OLD.progress OR NEW.reason IS NOT OLD.reason"
    insert = f"INSERT INTO job_event ({_COLUMNS}) VALUES ({_VALUES});"  # noqa: S608  (constants)
    op.execute(f"CREATE TRIGGER job_made AFTER INSERT ON job BEGIN {insert} END")
    op.execute(f"CREATE TRIGGER job_changed AFTER UPDATE ON job WHEN {changed} BEGIN {insert} END")


def _postgres_triggers() -> None:
    op.execute(
        "CREATE FUNCTION kosmos_job_rules() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        f"IF {_ILLEGAL} THEN RAISE EXCEPTION 'illegal job transition' USING ERRCODE = 'check_violation'; "
        "END IF; RETURN NEW; END $$"
    )
    op.execute(
        "CREATE TRIGGER job_rules BEFORE UPDATE ON job FOR EACH ROW EXECUTE FUNCTION kosmos_job_rules()"
    )
    changed = (
        "TG_OP = 'INSERT' OR NEW.status <> OLD.status OR NEW.progress <> OLD.progress "
        "OR NEW.reason IS DISTINCT FROM OLD.reason"
    )
    op.execute(
        "CREATE FUNCTION kosmos_job_events() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "  # noqa: S608
        f"IF {changed} THEN INSERT INTO job_event ({_COLUMNS}) VALUES ({_VALUES}); END IF; "
        "RETURN NULL; END $$"
    )
    op.execute(
        "CREATE TRIGGER job_events AFTER INSERT OR UPDATE ON job "
        "FOR EACH ROW EXECUTE FUNCTION kosmos_job_events()"
    )
