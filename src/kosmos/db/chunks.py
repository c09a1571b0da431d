"""Queries on chunks. Readers see the live generation of a document only."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.db.brief import hot
from kosmos.db.tables import chunk, document
from kosmos.db.types import Row, among
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

_LAYERS = (
    sa.select(document.c.id, document.c.live_generation, chunk.c.redaction)
    .outerjoin(
        chunk,
        sa.and_(
            chunk.c.document_id == document.c.id,
            chunk.c.generation == document.c.live_generation,
            chunk.c.redaction.is_not(None),
        ),
    )
    .where(document.c.id.in_(sa.bindparam("documents", expanding=True)))
    .order_by(document.c.id, chunk.c.position)
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


async def live_ids(conn: AsyncConnection, ids: Sequence[str], spaces: Collection[str]) -> set[str]:
    """Those of the chunks that are live in one of these spaces; their texts are not read."""
    query = (
        sa.select(chunk.c.id)
        .join(document, document.c.id == chunk.c.document_id)
        .where(among(conn, chunk.c.id, ids), chunk.c.generation == document.c.live_generation)
        .where(chunk.c.space_id.in_(list(spaces)))
    )
    return set(await conn.scalars(query))


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


@dataclass(frozen=True, slots=True)
class Layer:
    """What the chunks of a document's live generation hide, as it is stored."""

    generation: int
    redactions: tuple[Mapping[str, Any], ...]


async def live_layers(conn: AsyncConnection, document_ids: Sequence[str]) -> dict[str, Layer]:
    """The layer of each document, and of which generation it is: both by one look at the tables."""
    found: dict[str, tuple[int, list[Mapping[str, Any]]]] = {}
    for document_id, generation, redaction in await conn.execute(_LAYERS, {"documents": list(document_ids)}):
        _, hidden = found.setdefault(document_id, (generation, []))
        if redaction is not None:
            hidden.append(redaction)
    return {key: Layer(generation, tuple(hidden)) for key, (generation, hidden) in found.items()}


async def list_failed(
    conn: AsyncConnection, space_id: str, *, after: tuple[str, int] = ("", -1), limit: int = 100
) -> list[Chunk]:
    """The live chunks of a space that stand for what could not be chunked, behind a document and position."""
    place = sa.tuple_(chunk.c.document_id, chunk.c.position)
    query = (
        sa.select(*_COLUMNS)
        .join(document, document.c.id == chunk.c.document_id)
        .where(chunk.c.space_id == space_id, chunk.c.type == ChunkType.ERROR.value)
        .where(chunk.c.generation == document.c.live_generation, place > sa.tuple_(*map(sa.literal, after)))
        .order_by(chunk.c.document_id, chunk.c.position)
        .limit(limit)
    )
    return [_chunk(row) for row in await conn.execute(query)]


async def live_tokens(
    conn: AsyncConnection, *, space_id: str | None = None, document_id: str | None = None
) -> dict[str, int]:
    """How many tokens the live text of each document has, of a space or of one."""
    about = chunk.c.space_id == space_id if document_id is None else chunk.c.document_id == document_id
    query = (
        sa.select(chunk.c.document_id, sa.func.sum(chunk.c.token_count))
        .join(document, document.c.id == chunk.c.document_id)
        .where(about, chunk.c.generation == document.c.live_generation)
        .group_by(chunk.c.document_id)
    )
    return {row[0]: int(row[1]) for row in await conn.execute(query)}


async def chunks_of(conn: AsyncConnection, document_ids: Sequence[str]) -> dict[str, list[Chunk]]:
    """The live chunks of several documents, in the order of their texts."""
    query = (
        sa.select(*_COLUMNS)
        .join(document, document.c.id == chunk.c.document_id)
        .where(chunk.c.document_id.in_(document_ids), chunk.c.generation == document.c.live_generation)
        .order_by(chunk.c.document_id, chunk.c.position)
    )
    found: dict[str, list[Chunk]] = {document_id: [] for document_id in document_ids}
    for row in await conn.execute(query):
        found[row.document_id].append(_chunk(row))
    return found


async def count_live_chunks(conn: AsyncConnection, document_id: str) -> int:
    """How many chunks the live generation of a document has."""
    query = (
        sa.select(sa.func.count())
        .select_from(chunk.join(document, document.c.id == chunk.c.document_id))
        .where(chunk.c.document_id == document_id, chunk.c.generation == document.c.live_generation)
    )
    return int(await conn.scalar(query) or 0)
