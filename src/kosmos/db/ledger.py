"""Queries on the ledger."""

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.db.tables import ledger
from kosmos.domain.jobs import Spent
from kosmos.domain.ledger import Charge, Line, Sum

_SUMS: tuple[sa.ColumnElement[Any], ...] = (
    sa.func.count(),
    *(
        sa.func.coalesce(sa.func.sum(ledger.c[name]), 0)
        for name in ("prompt_tokens", "cached_tokens", "output_tokens", "cost")
    ),
    sa.func.count() - sa.func.count(ledger.c.cost),
)


@dataclass(frozen=True, slots=True)
class About:
    """Whose calls; the first that is given counts."""

    job_id: str | None = None
    document_id: str | None = None
    space_id: str | None = None

    def clause(self) -> sa.ColumnElement[bool]:
        """The condition on the table."""
        for name in ("job_id", "document_id", "space_id"):
            value: str | None = getattr(self, name)
            if value is not None:
                return sa.and_(ledger.c[name] == value)
        return sa.false()


async def insert_charge(conn: AsyncConnection, value: Charge) -> None:
    """Note a call."""
    await conn.execute(
        ledger.insert().values({column.name: getattr(value, column.name) for column in ledger.c})
    )


async def list_charges(
    conn: AsyncConnection, about: About, *, after: str = "", limit: int = 100
) -> list[Charge]:
    """Calls, oldest first."""
    query = sa.select(ledger).where(about.clause(), ledger.c.id > after).order_by(ledger.c.id).limit(limit)
    return [Charge(**row._mapping) for row in await conn.execute(query)]


async def sum_charges(conn: AsyncConnection, about: About) -> list[Line]:
    """What was taken, by purpose and model."""
    keys = (ledger.c.purpose, ledger.c.model)
    query = sa.select(*keys, *_SUMS).where(about.clause()).group_by(*keys).order_by(*keys)
    return [Line(row[0], row[1], _sum(row[2:])) for row in await conn.execute(query)]


async def sum_by_document(conn: AsyncConnection, space_id: str) -> dict[str | None, Sum]:
    """What the calls about each document of a space took; None is what was removed since."""
    key = ledger.c.document_id
    query = sa.select(key, *_SUMS).where(ledger.c.space_id == space_id).group_by(key)
    return {row[0]: _sum(row[1:]) for row in await conn.execute(query)}


def _sum(values: Any) -> Sum:
    calls, prompt, cached, output, cost, unpriced = values
    return Sum(calls, Spent(int(prompt), int(cached), int(output), float(cost)), unpriced)
