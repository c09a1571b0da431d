"""Queries on sessions and their messages."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.db.brief import hot
from kosmos.db.tables_agents import chat_message, chat_session
from kosmos.db.types import Row
from kosmos.domain.ids import new_id
from kosmos.domain.sessions import Message, MessageRole, MessageType, Session, SessionOrigin

_GET = hot(sa.select(chat_session).where(chat_session.c.id == sa.bindparam("wanted")))
_INSERT = hot(chat_message.insert())
_OF_SESSION = sa.select(chat_message).where(chat_message.c.session_id == sa.bindparam("session"))
_ACTIVE = hot(_OF_SESSION.where(chat_message.c.compressed.is_(False)).order_by(chat_message.c.position))
_LAST = hot(
    sa.select(sa.func.max(chat_message.c.position).label("last")).where(
        chat_message.c.session_id == sa.bindparam("session")
    )
)
_COUNT = hot(
    chat_session.update()
    .where(chat_session.c.id == sa.bindparam("wanted"))
    .values(
        message_count=chat_session.c.message_count + sa.bindparam("more"),
        total_token_count=chat_session.c.total_token_count + sa.bindparam("tokens"),
        updated_at=sa.bindparam("now"),
    )
)


def _session(row: Row) -> Session:
    return Session(**{**row._mapping, "origin": SessionOrigin(row.origin)})


def _message(row: Row) -> Message:
    return Message(
        role=MessageRole(row.role),
        type=MessageType(row.type),
        content=row.content,
        metadata=row.metadata,
        token_count=row.token_count,
        id=row.id,
        position=row.position,
        run_id=row.run_id,
        compressed=row.compressed,
        created_at=row.created_at,
    )


async def insert_session(conn: AsyncConnection, value: Session) -> None:
    """Store a new session."""
    values = {column.name: getattr(value, column.name) for column in chat_session.c}
    await conn.execute(
        chat_session.insert().values(
            **values | {"origin": value.origin.value, "metadata": dict(value.metadata)}
        )
    )


async def get_session(conn: AsyncConnection, session_id: str) -> Session | None:
    """The session of that id."""
    row = (await conn.execute(_GET, {"wanted": session_id})).first()
    return _session(row) if row else None


async def list_sessions(
    conn: AsyncConnection, owner_id: str, *, origin: SessionOrigin, before: str = "", limit: int = 100
) -> list[Session]:
    """The sessions of a user from one surface, newest first."""
    query = sa.select(chat_session).where(
        chat_session.c.owner_id == owner_id, chat_session.c.origin == origin.value
    )
    if before:
        query = query.where(chat_session.c.id < before)
    found = await conn.execute(query.order_by(chat_session.c.id.desc()).limit(limit))
    return [_session(row) for row in found]


async def update_session(
    conn: AsyncConnection, session_id: str, values: Mapping[str, Any], now: datetime
) -> None:
    """Change columns of a session."""
    query = chat_session.update().where(chat_session.c.id == session_id)
    await conn.execute(query.values(**values, updated_at=now))


async def delete_session(conn: AsyncConnection, session_id: str) -> None:
    """Remove a session with its messages, runs and events."""
    await conn.execute(chat_session.delete().where(chat_session.c.id == session_id))


async def lock_session(conn: AsyncConnection, session_id: str) -> None:
    """Let nobody else add messages until this transaction ends."""
    query = sa.select(chat_session.c.id).where(chat_session.c.id == session_id)
    await conn.execute(query.with_for_update(key_share=True))


async def add_messages(
    conn: AsyncConnection, session_id: str, messages: Sequence[Message], now: datetime
) -> list[Message]:
    """Put messages at the end of a session and count them."""
    if not messages:
        return []
    last = (await conn.execute(_LAST, {"session": session_id})).scalar() or 0
    made = [
        replace(message, id=new_id(), position=last + offset, created_at=now)
        for offset, message in enumerate(messages, start=1)
    ]
    await conn.execute(_INSERT, [_row(session_id, message, now) for message in made])
    tokens = sum(message.token_count for message in made)
    await conn.execute(_COUNT, {"wanted": session_id, "more": len(made), "tokens": tokens, "now": now})
    return made


def _row(session_id: str, message: Message, now: datetime) -> dict[str, Any]:
    return {
        "id": message.id,
        "session_id": session_id,
        "position": message.position,
        "run_id": message.run_id,
        "role": message.role.value,
        "type": message.type.value,
        "content": message.content,
        "metadata": dict(message.metadata),
        "token_count": message.token_count,
        "compressed": message.compressed,
        "created_at": now,
        "updated_at": now,
    }


async def active_messages(conn: AsyncConnection, session_id: str) -> list[Message]:
    """The messages that still count as they are, in their order; a summary stands where it was made."""
    return [_message(row) for row in await conn.execute(_ACTIVE, {"session": session_id})]


async def list_messages(
    conn: AsyncConnection, session_id: str, *, after: int = 0, limit: int = 100
) -> list[Message]:
    """All messages behind a position, compressed ones too."""
    query = sa.select(chat_message).where(
        chat_message.c.session_id == session_id, chat_message.c.position > after
    )
    return [_message(row) for row in await conn.execute(query.order_by(chat_message.c.position).limit(limit))]


async def mark_compressed(conn: AsyncConnection, ids: Sequence[str], now: datetime) -> None:
    """Say that a summary stands for these messages from now on."""
    query = chat_message.update().where(chat_message.c.id.in_(ids))
    await conn.execute(query.values(compressed=True, updated_at=now))
