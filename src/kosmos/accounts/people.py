"""Users of the instance."""

from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.accounts.access import require_admin
from kosmos.accounts.spaces import make_space
from kosmos.accounts.tokens import issue_token
from kosmos.db import users
from kosmos.domain.accounts import Principal, Scope, User
from kosmos.domain.ids import new_id
from kosmos.domain.names import clean_name
from kosmos.errors import Conflict

FIRST_SPACE = "default"


async def create_user(
    conn: AsyncConnection, who: Principal, *, name: str, is_admin: bool, now: datetime
) -> tuple[User, str]:
    """A new user and the text of their first token. Administrators only."""
    require_admin(who)
    return await _make_user(conn, name=name, is_admin=is_admin, now=now)


async def list_users(conn: AsyncConnection, who: Principal) -> list[User]:
    """All users. Administrators only."""
    require_admin(who)
    return await users.list_users(conn)


async def make_first_user(conn: AsyncConnection, *, name: str, now: datetime) -> str | None:
    """The owner of a new instance with a space; the text of their token, or None if somebody is there."""
    if await users.has_users(conn):
        return None
    await users.lock_users(conn)
    if await users.has_users(conn):  # another process was faster
        return None
    user, token = await _make_user(conn, name=name, is_admin=True, now=now)
    await make_space(conn, user.id, name=FIRST_SPACE, description="", now=now)
    return token


async def _make_user(conn: AsyncConnection, *, name: str, is_admin: bool, now: datetime) -> tuple[User, str]:
    user = User(id=new_id(), name=clean_name(name, what="user name"), is_admin=is_admin, created_at=now)
    try:
        async with conn.begin_nested():
            await users.insert_user(conn, user)
    except sa.exc.IntegrityError:
        raise Conflict(
            f"There is a user called {user.name!r} already.", remedy="Choose another name."
        ) from None
    _, text = await issue_token(conn, user.id, name="first", scope=Scope.ADMIN, now=now)
    return user, text
