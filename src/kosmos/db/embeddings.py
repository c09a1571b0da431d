"""Queries on vectors that encoders have made."""

from collections.abc import Mapping, Sequence
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.db.tables import embedding


async def get_vectors(conn: AsyncConnection, encoder: str, hashes: Sequence[str]) -> dict[str, bytes]:
    """The vectors that there are, by the hashes of their texts."""
    query = sa.select(embedding.c.text_sha256, embedding.c.vector).where(
        embedding.c.encoder == encoder, embedding.c.text_sha256.in_(hashes)
    )
    return {row.text_sha256: row.vector for row in await conn.execute(query)}


async def put_vectors(
    conn: AsyncConnection, encoder: str, vectors: Mapping[str, bytes], now: datetime
) -> None:
    """Keep vectors by the hashes of their texts; those that are there stay."""
    insert = postgresql.insert if conn.dialect.name == "postgresql" else sqlite.insert
    rows = [
        {"encoder": encoder, "text_sha256": sha256, "vector": vector, "created_at": now}
        for sha256, vector in sorted(vectors.items())  # in one order, so that nobody waits in a circle
    ]
    if rows:
        await conn.execute(insert(embedding).on_conflict_do_nothing(), rows)


async def known_dimension(conn: AsyncConnection, encoder: str) -> int:
    """How long the vectors of an encoder were so far; 0 without any."""
    query = sa.select(embedding.c.vector).where(embedding.c.encoder == encoder).limit(1)
    vector = await conn.scalar(query)
    return len(vector) // 4 if vector else 0


async def delete_vectors(conn: AsyncConnection, encoder: str) -> int:
    """Forget all vectors of an encoder; how many there were."""
    return (await conn.execute(embedding.delete().where(embedding.c.encoder == encoder))).rowcount
