"""Queries on chunks. Readers see the live generation of a document only."""

from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.db.brief import hot
from kosmos.db.tables import chunk, document
from kosmos.db.types import Row
from kosmos.domain.chunks import Chunk, ChunkType

_COLUMNS = [column for column in chunk.c if column.name not in ("created_at", "updated_at")]
_INSERT = hot(chunk.insert())
_DELETE_OTHERS = hot(
    chunk.delete().where(
        chunk.c.document_id == sa.bindparam("document"), chunk.c.generation != sa.bindparam("keep")
    )
)
_OF_GENERATION = hot(
    sa.select(*_COLUMNS)
    .where(chunk.c.document_id == sa.bindparam("document"), chunk.c.generation == sa.bindparam("number"))
    .order_by(chunk.c.position)
)


def _chunk(row: Row) -> Chunk:
    values = dict(row._mapping)
    return Chunk(**{**values, "type": ChunkType(values["type"])})


async def insert_chunks(conn: AsyncConnection, values: Sequence[Chunk], now: datetime) -> None:
    """Store chunks, parents before their children."""
    rows = [
        {column.name: getattr(value, column.name) for column in _COLUMNS}
        | {"type": value.type.value, "metadata": dict(value.metadata)}
        | {"created_at": now, "updated_at": now}
        for value in values
    ]
    if rows:
        await conn.execute(_INSERT, rows)


async def delete_generations(conn: AsyncConnection, document_id: str, *, keep: int) -> None:
    """Remove all generations of a document but one."""
    await conn.execute(_DELETE_OTHERS, {"document": document_id, "keep": keep})


async def generation_chunks(conn: AsyncConnection, document_id: str, generation: int) -> list[Chunk]:
    """The chunks of one generation of a document, in the order of the text."""
    found = await conn.execute(_OF_GENERATION, {"document": document_id, "number": generation})
    return [_chunk(row) for row in found]


async def live_chunks(conn: AsyncConnection, document_id: str) -> list[Chunk]:
    """The chunks of the live generation of a document, in the order of the text."""
    query = (
        sa.select(*_COLUMNS)
        .join(document, document.c.id == chunk.c.document_id)
        .where(chunk.c.document_id == document_id, chunk.c.generation == document.c.live_generation)
        .order_by(chunk.c.position)
    )
    return [_chunk(row) for row in await conn.execute(query)]


async def live_chunks_by_id(conn: AsyncConnection, ids: Sequence[str]) -> dict[str, Chunk]:
    """Those of the chunks that are live, by id."""
    query = (
        sa.select(*_COLUMNS)
        .join(document, document.c.id == chunk.c.document_id)
        .where(chunk.c.id.in_(ids), chunk.c.generation == document.c.live_generation)
    )
    return {row.id: _chunk(row) for row in await conn.execute(query)}


async def page_live_chunks(
    conn: AsyncConnection, document_id: str, *, after: int = -1, limit: int = 100
) -> list[Chunk]:
    """The chunks of the live generation behind a position, in the order of the text."""
    query = (
        sa.select(*_COLUMNS)
        .join(document, document.c.id == chunk.c.document_id)
        .where(chunk.c.document_id == document_id, chunk.c.generation == document.c.live_generation)
        .where(chunk.c.position > after)
        .order_by(chunk.c.position)
        .limit(limit)
    )
    return [_chunk(row) for row in await conn.execute(query)]


async def count_live_chunks(conn: AsyncConnection, document_id: str) -> int:
    """How many chunks the live generation of a document has."""
    query = (
        sa.select(sa.func.count())
        .select_from(chunk.join(document, document.c.id == chunk.c.document_id))
        .where(chunk.c.document_id == document_id, chunk.c.generation == document.c.live_generation)
    )
    return int(await conn.scalar(query) or 0)
