"""Column types that behave the same on SQLite and PostgreSQL."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.ext.asyncio import AsyncConnection

Row = sa.Row[*tuple[Any, ...]]

ID = sa.String(36)
SHA256 = sa.String(64)
JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
# None is stored as NULL, so that an index can leave such rows out.
JSON_OR_NULL = sa.JSON(none_as_null=True).with_variant(postgresql.JSONB(none_as_null=True), "postgresql")


def among(
    conn: AsyncConnection, column: sa.ColumnElement[str], values: Sequence[str]
) -> sa.ColumnElement[bool]:
    """Whether a column has one of many values. For PostgreSQL they are one parameter: a statement with
    hundreds of them would be made and parsed anew for each number of them."""
    if conn.dialect.name != "postgresql":
        return column.in_(values)
    return column == sa.func.any(sa.bindparam(None, list(values), type_=postgresql.ARRAY(sa.Text)))


class UtcDateTime(sa.types.TypeDecorator[datetime]):
    """An instant. PostgreSQL keeps a `timestamptz`; SQLite a text that sorts by time."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:  # noqa: ARG002
        """Only aware datetimes go in, so that nothing depends on the machine's time zone."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise TypeError("naive datetime")
        return value if value.tzinfo is UTC else value.astimezone(UTC)

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> datetime | None:  # noqa: ARG002
        """Only aware datetimes come out."""
        if value is None:
            return None
        moment: datetime = value
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
