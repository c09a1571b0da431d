"""Spaces and their members."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.accounts.access import require_scope, require_space
from kosmos.db import spaces, users
from kosmos.domain.accounts import Member, Principal, Role, Scope
from kosmos.domain.ids import new_id
from kosmos.domain.names import clean_name
from kosmos.domain.space_settings import check_settings, merge_settings
from kosmos.domain.spaces import Space, SpaceView
from kosmos.domain.values import check_json, check_text, storable
from kosmos.errors import Conflict, NotFound

MAX_DESCRIPTION = 4000
MAX_JSON = 32 * 1024


async def create_space(
    conn: AsyncConnection,
    who: Principal,
    *,
    name: str,
    description: str = "",
    metadata: Mapping[str, Any] | None = None,
    now: datetime,
) -> SpaceView:
    """A new space that the caller owns."""
    require_scope(who, Scope.WRITE)
    space = await make_space(
        conn, who.user.id, name=name, description=description, metadata=metadata, now=now
    )
    return SpaceView(space, Role.OWNER)


async def make_space(
    conn: AsyncConnection,
    owner_id: str,
    *,
    name: str,
    description: str,
    metadata: Mapping[str, Any] | None = None,
    now: datetime,
) -> Space:
    """Store a space and its first member."""
    space = Space(
        id=new_id(),
        owner_id=owner_id,
        name=clean_name(name, what="space name"),
        description=check_text(description, what="description", most=MAX_DESCRIPTION),
        metadata=check_json(metadata or {}, what="metadata", most=MAX_JSON),
        settings={},
        created_at=now,
        updated_at=now,
    )
    try:
        async with conn.begin_nested():
            await spaces.insert_space(conn, space)
    except sa.exc.IntegrityError:
        raise _name_taken(space.name) from None
    await spaces.put_member(conn, space.id, owner_id, role=Role.OWNER, now=now)
    return space


async def list_spaces(
    conn: AsyncConnection, who: Principal, *, after: str = "", limit: int = 100
) -> list[SpaceView]:
    """The spaces that the caller may read."""
    require_scope(who, Scope.READ)
    return await spaces.list_views(conn, who.user.id, after=after, limit=limit)


async def change_space(
    conn: AsyncConnection, who: Principal, space_id: str, *, changes: Mapping[str, Any], now: datetime
) -> SpaceView:
    """Change name, description, metadata or settings. Owners only."""
    await require_space(conn, who, space_id, need=Role.OWNER)
    checks: dict[str, Callable[[Any], Any]] = {
        "name": lambda value: clean_name(value, what="space name"),
        "description": lambda value: check_text(value, what="description", most=MAX_DESCRIPTION),
        "metadata": lambda value: check_json(value, what="metadata", most=MAX_JSON),
        "settings": _clean_settings,
    }
    values = {key: checks[key](value) for key, value in changes.items()}
    try:
        async with conn.begin_nested():
            await spaces.update_space(conn, space_id, values, now)
    except sa.exc.IntegrityError:
        raise _name_taken(values["name"]) from None
    return await require_space(conn, who, space_id)


async def set_settings(
    conn: AsyncConnection, who: Principal, space_id: str, *, changes: Mapping[str, Any], now: datetime
) -> SpaceView:
    """Change some settings and leave the others. Owners only."""
    view = await require_space(conn, who, space_id, need=Role.OWNER)
    settings = merge_settings(view.space.settings, changes)
    return await change_space(conn, who, space_id, changes={"settings": settings}, now=now)


def _clean_settings(value: Mapping[str, Any]) -> dict[str, Any]:
    check_settings(value)
    return check_json(value, what="settings", most=MAX_JSON)


async def list_members(conn: AsyncConnection, who: Principal, space_id: str) -> list[Member]:
    """The members of a space the caller may read."""
    await require_space(conn, who, space_id)
    return await spaces.list_members(conn, space_id)


async def put_member(
    conn: AsyncConnection, who: Principal, space_id: str, *, user: str, role: Role, now: datetime
) -> Member:
    """Add a member by user name or id, or change a role. Owners only."""
    await require_space(conn, who, space_id, need=Role.OWNER)
    found = await users.find_user(conn, clean_name(user, what="user name"))
    if found is None:
        raise NotFound(
            f"There is no user {user!r}.", remedy="An administrator adds users: kosmos users add NAME"
        )
    await spaces.lock_space(conn, space_id)
    if role is not Role.OWNER:
        await _keep_an_owner(conn, space_id, found.id)
    await spaces.put_member(conn, space_id, found.id, role=role, now=now)
    return Member(space_id=space_id, user_id=found.id, user_name=found.name, role=role)


async def remove_member(conn: AsyncConnection, who: Principal, space_id: str, user_id: str) -> None:
    """Remove a member. Owners may remove anybody; everybody may leave."""
    leaving = user_id == who.user.id
    await require_space(conn, who, space_id, need=Role.VIEWER if leaving else Role.OWNER)
    require_scope(who, Scope.ADMIN)
    await spaces.lock_space(conn, space_id)
    await _keep_an_owner(conn, space_id, user_id)
    if not storable(user_id) or not await spaces.delete_member(conn, space_id, user_id):
        raise NotFound(f"{user_id} is no member of this space.", remedy="List the members first.")


async def _keep_an_owner(conn: AsyncConnection, space_id: str, leaving: str) -> None:
    members = await spaces.list_members(conn, space_id)
    owners = [member.user_id for member in members if member.role is Role.OWNER]
    if owners == [leaving]:
        raise Conflict(
            "A space needs an owner.", remedy="Make somebody else an owner first, or delete the space."
        )


def _name_taken(name: str) -> Conflict:
    return Conflict(f"You have a space called {name!r} already.", remedy="Choose another name.")
