"""Queries on spaces and their members."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.db.brief import hot
from kosmos.db.tables import knowledge_space, space_member, user
from kosmos.db.types import Row
from kosmos.domain.accounts import Member, Role
from kosmos.domain.names import name_key
from kosmos.domain.spaces import Space, SpaceView


def _space(row: Row) -> Space:
    return Space(
        id=row.id,
        owner_id=row.owner_id,
        name=row.name,
        description=row.description,
        metadata=row.metadata,
        settings=row.settings,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


_ALL_VIEWS = sa.select(knowledge_space, space_member.c.role).join(
    space_member, space_member.c.space_id == knowledge_space.c.id
)
_VIEW = hot(
    _ALL_VIEWS.where(
        space_member.c.user_id == sa.bindparam("viewer"), knowledge_space.c.id == sa.bindparam("space")
    )
)
_SETTINGS = hot(sa.select(knowledge_space.c.settings).where(knowledge_space.c.id == sa.bindparam("space")))


def _views(user_id: str) -> sa.Select[*tuple[Any, ...]]:
    return _ALL_VIEWS.where(space_member.c.user_id == user_id)


async def insert_space(conn: AsyncConnection, value: Space) -> None:
    """Store a new space; IntegrityError when its owner has one of that name."""
    await conn.execute(
        knowledge_space.insert().values(
            id=value.id,
            owner_id=value.owner_id,
            name=value.name,
            name_key=name_key(value.name),
            description=value.description,
            metadata=dict(value.metadata),
            settings=dict(value.settings),
            created_at=value.created_at,
            updated_at=value.updated_at,
        )
    )


async def view_space(conn: AsyncConnection, user_id: str, space_id: str) -> SpaceView | None:
    """The space as that user sees it; None when they do not."""
    row = (await conn.execute(_VIEW, {"viewer": user_id, "space": space_id})).first()
    return SpaceView(_space(row), Role(row.role)) if row else None


async def get_settings(conn: AsyncConnection, space_id: str) -> Mapping[str, Any]:
    """The settings of a space; none when it is gone."""
    row = (await conn.execute(_SETTINGS, {"space": space_id})).first()
    return row[0] if row else {}


async def lock_space(conn: AsyncConnection, space_id: str) -> None:
    """Let nobody else change members or links of the space until this transaction ends."""
    query = sa.select(knowledge_space.c.id).where(knowledge_space.c.id == space_id)
    await conn.execute(query.with_for_update(key_share=True))


async def list_views(
    conn: AsyncConnection, user_id: str, *, after: str = "", limit: int = 100
) -> list[SpaceView]:
    """The spaces that user sees, oldest first."""
    query = _views(user_id).where(knowledge_space.c.id > after).order_by(knowledge_space.c.id).limit(limit)
    return [SpaceView(_space(row), Role(row.role)) for row in await conn.execute(query)]


async def find_views(conn: AsyncConnection, user_id: str, name_or_id: str) -> list[SpaceView]:
    """The spaces that user sees under that name or id, their own first."""
    match = sa.or_(knowledge_space.c.id == name_or_id, knowledge_space.c.name_key == name_key(name_or_id))
    mine_first = sa.case((knowledge_space.c.owner_id == user_id, 0), else_=1)
    rows = await conn.execute(_views(user_id).where(match).order_by(mine_first, knowledge_space.c.id))
    return [SpaceView(_space(row), Role(row.role)) for row in rows]


async def update_space(
    conn: AsyncConnection, space_id: str, changes: Mapping[str, Any], now: datetime
) -> None:
    """Change columns of a space; IntegrityError when its owner has another one of that name."""
    values = dict(changes)
    if "name" in values:
        values["name_key"] = name_key(values["name"])
    query = knowledge_space.update().where(knowledge_space.c.id == space_id)
    await conn.execute(query.values(**values, updated_at=now))


async def delete_space(conn: AsyncConnection, space_id: str) -> None:
    """Remove a space with all that hangs on it."""
    await conn.execute(knowledge_space.delete().where(knowledge_space.c.id == space_id))


async def put_member(
    conn: AsyncConnection, space_id: str, user_id: str, *, role: Role, now: datetime
) -> None:
    """Add a member or change a member's role."""
    here = sa.and_(space_member.c.space_id == space_id, space_member.c.user_id == user_id)
    changed = await conn.execute(space_member.update().where(here).values(role=role.value))
    if changed.rowcount == 0:
        await conn.execute(
            space_member.insert().values(space_id=space_id, user_id=user_id, role=role.value, created_at=now)
        )


async def delete_member(conn: AsyncConnection, space_id: str, user_id: str) -> bool:
    """Remove a member; False when there is none."""
    here = sa.and_(space_member.c.space_id == space_id, space_member.c.user_id == user_id)
    return (await conn.execute(space_member.delete().where(here))).rowcount == 1


async def list_members(conn: AsyncConnection, space_id: str) -> list[Member]:
    """The members of a space by name."""
    query = (
        sa.select(space_member, user.c.name)
        .join(user, user.c.id == space_member.c.user_id)
        .where(space_member.c.space_id == space_id)
        .order_by(user.c.name_key)
    )
    return [
        Member(space_id=row.space_id, user_id=row.user_id, user_name=row.name, role=Role(row.role))
        for row in await conn.execute(query)
    ]
