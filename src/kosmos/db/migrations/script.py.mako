"""${message}."""

import sqlalchemy as sa
from alembic import op

from kosmos.db.types import ID, JSON, SHA256, UtcDateTime

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = None
depends_on = None


def upgrade() -> None:
    """${message}."""
    ${upgrades if upgrades else "raise SystemExit('write me')"}


def downgrade() -> None:
    """Undo it."""
    ${downgrades if downgrades else "raise SystemExit('write me')"}
