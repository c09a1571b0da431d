"""Queries on versions of documents: the live one and the one in the making."""

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.db.brief import hot
from kosmos.db.tables import document_version
from kosmos.domain.documents import DocumentVersion

_COLUMNS = document_version.c
_SAME = sa.and_(
    _COLUMNS.document_id == sa.bindparam("document"), _COLUMNS.generation == sa.bindparam("number")
)
_GET = hot(sa.select(document_version).where(_SAME))
_INSERT = hot(document_version.insert())
_DELETE_OTHERS = hot(
    document_version.delete()
    .where(
        _COLUMNS.document_id == sa.bindparam("document"),
        _COLUMNS.generation.not_in(sa.bindparam("keep", expanding=True)),
    )
    .returning(_COLUMNS.original_sha256, _COLUMNS.canonical_sha256, _COLUMNS.extract_sha256)
)


async def insert_version(conn: AsyncConnection, value: DocumentVersion) -> None:
    """Store a new version."""
    values = {column.name: getattr(value, column.name) for column in _COLUMNS}
    values |= {"metadata": dict(value.metadata), "hints": dict(value.hints)}
    await conn.execute(_INSERT, values)


async def get_version(conn: AsyncConnection, document_id: str, generation: int) -> DocumentVersion | None:
    """That generation of a document."""
    row = (await conn.execute(_GET, {"document": document_id, "number": generation})).first()
    return DocumentVersion(**row._mapping) if row else None


async def update_version(
    conn: AsyncConnection, document_id: str, generation: int, changes: Mapping[str, Any], now: datetime
) -> bool:
    """Change columns of a version; False when it is gone."""
    new = {**changes, "updated_at": now}
    values = {f"new_{name}": value for name, value in new.items()}
    done = await conn.execute(_update(tuple(new)), {"document": document_id, "number": generation, **values})
    return done.rowcount == 1


@cache
def _update(changed: tuple[str, ...]) -> sa.Update:
    """The statement for changes of these columns; there are no more of them than there are callers."""
    values: dict[str, Any] = {name: sa.bindparam(f"new_{name}") for name in changed}
    return hot(document_version.update().where(_SAME).values(values))


async def delete_versions(conn: AsyncConnection, document_id: str, *, keep: frozenset[int]) -> list[str]:
    """Forget all versions of a document but those; the blobs that they referred to."""
    rows = await conn.execute(_DELETE_OTHERS, {"document": document_id, "keep": sorted(keep)})
    return [sha256 for row in rows for sha256 in row if sha256]


async def version_blobs(conn: AsyncConnection, document_id: str) -> list[str]:
    """The blobs that versions of a document refer to."""
    parts = (_COLUMNS.original_sha256, _COLUMNS.canonical_sha256, _COLUMNS.extract_sha256)
    rows = await conn.execute(sa.select(*parts).where(_COLUMNS.document_id == document_id))
    return [sha256 for row in rows for sha256 in row if sha256]
