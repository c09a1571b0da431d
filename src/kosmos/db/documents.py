"""Queries on documents."""

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.db.brief import hot
from kosmos.db.tables import document
from kosmos.db.types import Row
from kosmos.domain.documents import Document, DocumentStatus

_INSERT = hot(document.insert())
_GET = hot(sa.select(document).where(document.c.id == sa.bindparam("wanted")))
_OF_SPACE = sa.select(document).where(document.c.space_id == sa.bindparam("space"))
_BY_ORIGIN = hot(_OF_SPACE.where(document.c.origin == sa.bindparam("origin_is")))
_BY_SOURCE = hot(_OF_SPACE.where(document.c.source == sa.bindparam("source_is")).order_by(document.c.id))


def _document(row: Row) -> Document:
    values = dict(row._mapping)
    return Document(**{**values, "status": DocumentStatus(values["status"])})


def _values(value: Document) -> dict[str, Any]:
    values = {column.name: getattr(value, column.name) for column in document.c}
    return values | {"status": value.status.value, "metadata": dict(value.metadata)}


async def insert_document(conn: AsyncConnection, value: Document) -> None:
    """Store a new document."""
    await conn.execute(_INSERT, _values(value))


async def replace_document(conn: AsyncConnection, value: Document) -> bool:
    """Store a new version of a document; False when the version before it is no longer the newest."""
    before = sa.and_(document.c.id == value.id, document.c.version == value.version - 1)
    return (await conn.execute(document.update().where(before).values(**_values(value)))).rowcount == 1


async def get_document(conn: AsyncConnection, document_id: str) -> Document | None:
    """The document of that id."""
    row = (await conn.execute(_GET, {"wanted": document_id})).first()
    return _document(row) if row else None


async def find_by_origin(conn: AsyncConnection, space_id: str, origin: str) -> Document | None:
    """The document of a space that came from there."""
    row = (await conn.execute(_BY_ORIGIN, {"space": space_id, "origin_is": origin})).first()
    return _document(row) if row else None


async def find_by_source(conn: AsyncConnection, space_id: str, source: str) -> list[Document]:
    """The documents of a space shown under that name."""
    found = await conn.execute(_BY_SOURCE, {"space": space_id, "source_is": source})
    return [_document(row) for row in found]


async def list_documents(
    conn: AsyncConnection, space_id: str, *, after: str = "", limit: int = 100
) -> list[Document]:
    """The documents of a space, oldest first."""
    query = sa.select(document).where(document.c.space_id == space_id, document.c.id > after)
    return [_document(row) for row in await conn.execute(query.order_by(document.c.id).limit(limit))]


async def count_documents(conn: AsyncConnection, space_id: str) -> int:
    """How many documents a space has."""
    query = sa.select(sa.func.count()).select_from(document).where(document.c.space_id == space_id)
    return int(await conn.scalar(query) or 0)


async def get_documents(conn: AsyncConnection, ids: list[str]) -> dict[str, Document]:
    """The documents of those ids, by id."""
    rows = await conn.execute(sa.select(document).where(document.c.id.in_(ids)))
    return {row.id: _document(row) for row in rows}


async def update_document(
    conn: AsyncConnection,
    document_id: str,
    changes: Mapping[str, Any],
    now: datetime,
    *,
    only_if: Mapping[str, Any] | None = None,
) -> bool:
    """Change columns of a document; False when it is gone or no longer has the values of `only_if`."""
    new, same = {**changes, "updated_at": now}, only_if or {}
    values = {f"new_{name}": value for name, value in new.items()}
    values |= {f"is_{name}": value for name, value in same.items()}
    done = await conn.execute(_update(tuple(new), tuple(same)), {"wanted": document_id, **values})
    return done.rowcount == 1


@cache
def _update(changed: tuple[str, ...], same: tuple[str, ...]) -> sa.Update:
    """The statement for changes of these columns; there are no more of them than there are callers."""
    columns = document.c
    query = document.update().where(columns.id == sa.bindparam("wanted"))
    for name in same:
        given = sa.bindparam(f"is_{name}", type_=columns[name].type)
        query = query.where(columns[name].is_not_distinct_from(given))
    return hot(query.values({name: sa.bindparam(f"new_{name}") for name in changed}))


async def delete_document(conn: AsyncConnection, document_id: str) -> bool:
    """Remove a document with its chunks; False when there is none."""
    return (await conn.execute(document.delete().where(document.c.id == document_id))).rowcount == 1
