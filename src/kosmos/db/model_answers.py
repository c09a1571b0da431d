"""Answers that models have given: asking the very same again costs nothing."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.db.tables import model_answer


async def get_answer(conn: AsyncConnection, key: str) -> Any | None:
    """What was answered to that question, or None."""
    return await conn.scalar(sa.select(model_answer.c.answer).where(model_answer.c.key == key))


async def put_answer(
    conn: AsyncConnection, key: str, *, kind: str, model: str, answer: Any, now: datetime
) -> None:
    """Keep an answer; the first one stays."""
    insert = postgresql.insert if conn.dialect.name == "postgresql" else sqlite.insert
    values = {"key": key, "kind": kind, "model": model, "answer": answer, "created_at": now}
    await conn.execute(insert(model_answer).values(**values).on_conflict_do_nothing())
