"""Queries on users and their tokens."""

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.db.brief import hot
from kosmos.db.tables import api_token, user
from kosmos.db.types import Row
from kosmos.domain.accounts import Scope, Token, User
from kosmos.domain.names import name_key

_GET = hot(sa.select(user).where(user.c.id == sa.bindparam("wanted")))


def _user(row: Row) -> User:
    return User(id=row.id, name=row.name, is_admin=row.is_admin, created_at=row.created_at)


def _token(row: Row) -> Token:
    return Token(
        id=row.id,
        user_id=row.user_id,
        name=row.name,
        scope=Scope(row.scope),
        expires_at=row.expires_at,
        created_at=row.created_at,
    )


async def insert_user(conn: AsyncConnection, value: User) -> None:
    """Store a new user; IntegrityError when the name is taken."""
    await conn.execute(
        user.insert().values(
            id=value.id,
            name=value.name,
            name_key=name_key(value.name),
            is_admin=value.is_admin,
            created_at=value.created_at,
        )
    )


async def get_user(conn: AsyncConnection, user_id: str) -> User | None:
    """The user of that id."""
    row = (await conn.execute(_GET, {"wanted": user_id})).first()
    return _user(row) if row else None


async def find_user(conn: AsyncConnection, name_or_id: str) -> User | None:
    """The user of that name or id; the id counts first, since a name may be chosen to look like one."""
    match = sa.or_(user.c.id == name_or_id, user.c.name_key == name_key(name_or_id))
    by_id_first = sa.case((user.c.id == name_or_id, 0), else_=1)
    row = (await conn.execute(sa.select(user).where(match).order_by(by_id_first))).first()
    return _user(row) if row else None


async def list_users(conn: AsyncConnection) -> list[User]:
    """All users, oldest first."""
    return [_user(row) for row in await conn.execute(sa.select(user).order_by(user.c.id))]


async def has_users(conn: AsyncConnection) -> bool:
    """Whether anybody is there yet."""
    return (await conn.execute(sa.select(user.c.id).limit(1))).first() is not None


async def lock_users(conn: AsyncConnection) -> None:
    """Let nobody else add users until this transaction ends; on SQLite a writer is alone anyway."""
    if conn.dialect.name == "postgresql":
        await conn.execute(sa.text('LOCK TABLE "user" IN SHARE ROW EXCLUSIVE MODE'))


async def insert_token(conn: AsyncConnection, value: Token, secret_sha256: str) -> None:
    """Store a new token by its hash."""
    await conn.execute(
        api_token.insert().values(
            id=value.id,
            user_id=value.user_id,
            name=value.name,
            secret_sha256=secret_sha256,
            scope=value.scope.value,
            expires_at=value.expires_at,
            created_at=value.created_at,
        )
    )


async def find_token(conn: AsyncConnection, token_id: str) -> tuple[Token, str] | None:
    """The token with the hash of its secret."""
    row = (await conn.execute(sa.select(api_token).where(api_token.c.id == token_id))).first()
    return (_token(row), row.secret_sha256) if row else None


async def list_tokens(conn: AsyncConnection, user_id: str) -> list[Token]:
    """A user's tokens, oldest first."""
    query = sa.select(api_token).where(api_token.c.user_id == user_id).order_by(api_token.c.id)
    return [_token(row) for row in await conn.execute(query)]


async def delete_token(conn: AsyncConnection, user_id: str, token_id: str) -> bool:
    """Remove a user's token; False when there is none."""
    query = api_token.delete().where(api_token.c.user_id == user_id, api_token.c.id == token_id)
    return (await conn.execute(query)).rowcount == 1
