"""Queries on what is used up: documents and bytes, and tokens since a moment."""

from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.db.tables import document, knowledge_space, ledger
from kosmos.db.tables_agents import chat_session, run
from kosmos.db.types import Row

_STORED = sa.select(sa.func.count(), sa.func.coalesce(sa.func.sum(document.c.size), 0))
_LEDGER = sa.select(sa.func.coalesce(sa.func.sum(ledger.c.prompt_tokens + ledger.c.output_tokens), 0))
_RUNS = sa.select(sa.func.coalesce(sa.func.sum(run.c.prompt_tokens + run.c.output_tokens), 0))


@dataclass(frozen=True, slots=True)
class Stored:
    """How many documents there are, and the bytes of their originals."""

    documents: int
    bytes: int


async def owner_of(conn: AsyncConnection, space_id: str) -> str | None:
    """Whose space it is."""
    query = sa.select(knowledge_space.c.owner_id).where(knowledge_space.c.id == space_id)
    owner: str | None = await conn.scalar(query)
    return owner


async def stored_in_space(conn: AsyncConnection, space_id: str) -> Stored:
    """What lies in a space."""
    return _stored((await conn.execute(_STORED.where(document.c.space_id == space_id))).one())


async def stored_of_owner(conn: AsyncConnection, user_id: str) -> Stored:
    """What lies in all spaces of an owner."""
    query = _STORED.select_from(document.join(knowledge_space)).where(knowledge_space.c.owner_id == user_id)
    return _stored((await conn.execute(query)).one())


def _stored(row: Row) -> Stored:
    return Stored(int(row[0]), int(row[1]))


async def tokens_of_space(conn: AsyncConnection, space_id: str, since: datetime) -> int:
    """Tokens that jobs of a space took of models since then."""
    query = _LEDGER.where(ledger.c.space_id == space_id, ledger.c.created_at >= since)
    return int(await conn.scalar(query) or 0)


async def tokens_of_user(conn: AsyncConnection, user_id: str, since: datetime) -> int:
    """Tokens taken since then by jobs of the user's spaces and by the runs of their sessions."""
    jobs = _LEDGER.select_from(ledger.join(knowledge_space, ledger.c.space_id == knowledge_space.c.id))
    jobs = jobs.where(knowledge_space.c.owner_id == user_id, ledger.c.created_at >= since)
    talks = _RUNS.select_from(run.join(chat_session, run.c.session_id == chat_session.c.id))
    talks = talks.where(chat_session.c.owner_id == user_id, run.c.created_at >= since)
    return int(await conn.scalar(jobs) or 0) + int(await conn.scalar(talks) or 0)
