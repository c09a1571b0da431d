"""Queries on whose vectors the index of a space holds."""

from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.db.tables import space_encoder
from kosmos.domain.spaces import SpaceEncoder


async def get_encoder(conn: AsyncConnection, space_id: str) -> SpaceEncoder | None:
    """Whose vectors a space has; None while it has none."""
    query = sa.select(space_encoder).where(space_encoder.c.space_id == space_id)
    row = (await conn.execute(query)).first()
    return SpaceEncoder(row.name, row.setting) if row else None


async def get_encoders(conn: AsyncConnection, space_ids: list[str]) -> dict[str, SpaceEncoder]:
    """The same for many spaces."""
    query = sa.select(space_encoder).where(space_encoder.c.space_id.in_(space_ids))
    return {row.space_id: SpaceEncoder(row.name, row.setting) for row in await conn.execute(query)}


async def put_encoder(conn: AsyncConnection, space_id: str, chosen: SpaceEncoder, now: datetime) -> None:
    """From now on a space has the vectors of that encoder."""
    insert = postgresql.insert if conn.dialect.name == "postgresql" else sqlite.insert
    values = {"name": chosen.name, "setting": chosen.setting, "updated_at": now}
    query = insert(space_encoder).values(space_id=space_id, **values)
    await conn.execute(query.on_conflict_do_update(index_elements=["space_id"], set_=values))


async def claim_encoder(
    conn: AsyncConnection, space_id: str, chosen: SpaceEncoder, now: datetime
) -> SpaceEncoder:
    """That encoder for a space that has none yet; the one it has otherwise."""
    insert = postgresql.insert if conn.dialect.name == "postgresql" else sqlite.insert
    values = {"space_id": space_id, "name": chosen.name, "setting": chosen.setting, "updated_at": now}
    await conn.execute(insert(space_encoder).values(**values).on_conflict_do_nothing())
    return await get_encoder(conn, space_id) or chosen
