"""Queries on assets."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.db.brief import hot
from kosmos.db.tables import asset, chunk_asset
from kosmos.db.types import Row
from kosmos.domain.assets import AnalysisStatus, Asset, asset_id

_OF_DOCUMENT = asset.c.document_id == sa.bindparam("document")
_LIST = hot(
    sa.select(asset)
    .where(_OF_DOCUMENT, asset.c.generation == sa.bindparam("number"))
    .order_by(asset.c.line, asset.c.id)
)
_DELETE_OTHERS = hot(
    asset.delete()
    .where(_OF_DOCUMENT, asset.c.generation.not_in(sa.bindparam("keep", expanding=True)))
    .returning(asset.c.sha256)
)


def _asset(row: Row) -> Asset:
    values = dict(row._mapping)
    return Asset(**{**values, "analysis_status": AnalysisStatus(values["analysis_status"])})


async def insert_assets(conn: AsyncConnection, values: Sequence[Asset]) -> None:
    """Store new assets."""
    rows = [
        {column.name: getattr(value, column.name) for column in asset.c}
        | {"analysis_status": value.analysis_status.value}
        for value in values
    ]
    if rows:
        await conn.execute(asset.insert(), rows)


async def copy_assets(
    conn: AsyncConnection, document_id: str, generation: int, to: int, now: datetime
) -> None:
    """Give another generation the assets of this one, with what is known about them."""
    copies = [
        replace(item, id=asset_id(document_id, to, position), generation=to, created_at=now, updated_at=now)
        for position, item in enumerate(await list_assets(conn, document_id, generation))
    ]
    await insert_assets(conn, copies)


async def get_asset(conn: AsyncConnection, asset_id: str) -> Asset | None:
    """The asset of that id."""
    row = (await conn.execute(sa.select(asset).where(asset.c.id == asset_id))).first()
    return _asset(row) if row else None


async def list_assets(conn: AsyncConnection, document_id: str, generation: int) -> list[Asset]:
    """The assets of one generation of a document, in the order of the text."""
    rows = await conn.execute(_LIST, {"document": document_id, "number": generation})
    return [_asset(row) for row in rows]


async def update_asset(
    conn: AsyncConnection, asset_id: str, changes: Mapping[str, Any], now: datetime
) -> bool:
    """Change columns of an asset; False when it is gone."""
    query = asset.update().where(asset.c.id == asset_id).values(**changes, updated_at=now)
    return (await conn.execute(query)).rowcount == 1


async def delete_assets(conn: AsyncConnection, document_id: str, *, keep: frozenset[int]) -> list[str]:
    """Remove the assets of all generations but those; the blobs that they referred to."""
    rows = await conn.execute(_DELETE_OTHERS, {"document": document_id, "keep": sorted(keep)})
    return [row[0] for row in rows]


async def asset_blobs(conn: AsyncConnection, document_id: str) -> list[str]:
    """The blobs that assets of a document refer to."""
    rows = await conn.execute(sa.select(asset.c.sha256).where(asset.c.document_id == document_id))
    return [row[0] for row in rows]


async def link_chunks(conn: AsyncConnection, pairs: Iterable[tuple[str, str]]) -> None:
    """Note which chunk shows which asset."""
    rows = [{"chunk_id": chunk_id, "asset_id": asset_id} for chunk_id, asset_id in pairs]
    if rows:
        await conn.execute(chunk_asset.insert(), rows)


async def assets_of_chunk(conn: AsyncConnection, chunk_id: str) -> list[Asset]:
    """The assets that a chunk shows."""
    query = sa.select(asset).join(chunk_asset, chunk_asset.c.asset_id == asset.c.id)
    rows = await conn.execute(query.where(chunk_asset.c.chunk_id == chunk_id).order_by(asset.c.line))
    return [_asset(row) for row in rows]
