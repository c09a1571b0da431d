"""Queries on summaries of documents, and on who is making one."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.db.tables_agents import summary_cache as table

_BATCH = 500


async def get_summaries(
    conn: AsyncConnection, keys: Sequence[str], now: datetime
) -> dict[str, tuple[Mapping[str, Any], datetime]]:
    """Those that there are and that have not expired, by key, with the time at which they were made."""
    found: dict[str, tuple[Mapping[str, Any], datetime]] = {}
    for at in range(0, len(keys), _BATCH):
        query = sa.select(table.c.key, table.c.summary, table.c.made_at).where(
            table.c.key.in_(keys[at : at + _BATCH]), table.c.expires_at > now, table.c.summary.is_not(None)
        )
        found |= {row.key: (row.summary, row.made_at) for row in await conn.execute(query)}
    return found


async def claim_summary(
    conn: AsyncConnection, key: str, *, document_id: str, holder: str, now: datetime, until: datetime
) -> bool:
    """Become the one who makes a summary, or go on being it; False while somebody else is."""
    insert = postgresql.insert if conn.dialect.name == "postgresql" else sqlite.insert
    claim = {"claimed_by": holder, "claimed_until": until}
    statement = (
        insert(table)
        .values(key=key, document_id=document_id, **claim)
        .on_conflict_do_update(
            index_elements=[table.c.key],
            set_=claim,
            where=sa.or_(
                table.c.claimed_until.is_(None), table.c.claimed_until < now, table.c.claimed_by == holder
            ),
        )
        .returning(table.c.key)
    )
    return (await conn.execute(statement)).first() is not None


async def holder_of(conn: AsyncConnection, key: str) -> str | None:
    """Who is making a summary."""
    holder: str | None = await conn.scalar(sa.select(table.c.claimed_by).where(table.c.key == key))
    return holder


async def put_summary(
    conn: AsyncConnection, key: str, summary: Mapping[str, Any], *, now: datetime, expires: datetime
) -> None:
    """Keep a summary; whoever was making it is done."""
    values = {"summary": dict(summary), "made_at": now, "expires_at": expires}
    released = {"claimed_by": None, "claimed_until": None}
    await conn.execute(table.update().where(table.c.key == key).values(**values, **released))


async def release_summary(conn: AsyncConnection, key: str, holder: str) -> None:
    """Let others make it."""
    mine = sa.and_(table.c.key == key, table.c.claimed_by == holder)
    await conn.execute(table.update().where(mine).values(claimed_by=None, claimed_until=None))


async def drop_expired(conn: AsyncConnection, now: datetime) -> None:
    """Remove summaries that have expired and that nobody is making anew."""
    old = sa.and_(table.c.expires_at < now, table.c.claimed_by.is_(None))
    await conn.execute(table.delete().where(old))
