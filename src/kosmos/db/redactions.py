"""Queries on what is hidden in documents."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.db.tables import chunk, document


async def live_redactions(conn: AsyncConnection, document_ids: Sequence[str]) -> dict[str, list[Any]]:
    """What the live chunks of documents hide, as they store it, by document."""
    query = (
        sa.select(chunk.c.document_id, chunk.c.redaction)
        .join(document, document.c.id == chunk.c.document_id)
        .where(chunk.c.document_id.in_(document_ids), chunk.c.generation == document.c.live_generation)
        .where(chunk.c.redaction.is_not(None), chunk.c.redaction.cast(sa.Text) != "null")
    )
    found: dict[str, list[Any]] = {}
    for row in await conn.execute(query):
        found.setdefault(row.document_id, []).append(row.redaction)
    return found
