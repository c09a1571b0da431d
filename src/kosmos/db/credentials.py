"""Queries on credentials and their links to spaces. The encrypted key leaves through one function only."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.db.brief import hot
from kosmos.db.tables import credential, space_credential, space_member
from kosmos.db.types import ID, Row
from kosmos.domain.credentials import Credential, CredentialLink, CredentialType

_SHOWN = [column for column in credential.c if column.name != "encrypted_key"]
_HAS_KEY = credential.c.encrypted_key.is_not(None).label("has_key")
_DEFAULTS = hot(
    sa.select(*_SHOWN, _HAS_KEY)
    .where(
        credential.c.owner_id.is_not_distinct_from(sa.bindparam("owner", type_=ID)),
        credential.c.is_default,
        credential.c.type == sa.bindparam("kind"),
    )
    .order_by(credential.c.id)
)
_LINKS = hot(
    sa.select(
        *_SHOWN, _HAS_KEY, space_credential.c.space_id, space_credential.c.priority, space_credential.c.weight
    )
    .join(space_credential, space_credential.c.credential_id == credential.c.id)
    .where(space_credential.c.space_id == sa.bindparam("space"))
    .order_by(space_credential.c.priority.desc(), credential.c.id)
)


def _credential(row: Row) -> Credential:
    return Credential(
        id=row.id,
        owner_id=row.owner_id,
        name=row.name,
        type=CredentialType(row.type),
        base_url=row.base_url,
        model=row.model,
        options=row.options,
        is_default=row.is_default,
        has_key=row.has_key,
        key_id=row.key_id,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


async def insert_credential(conn: AsyncConnection, value: Credential, encrypted_key: bytes | None) -> None:
    """Store a new credential."""
    await conn.execute(
        credential.insert().values(
            id=value.id,
            owner_id=value.owner_id,
            name=value.name,
            type=value.type.value,
            base_url=value.base_url,
            model=value.model,
            options=dict(value.options),
            is_default=value.is_default,
            encrypted_key=encrypted_key,
            key_id=value.key_id,
            created_at=value.created_at,
            updated_at=value.updated_at,
        )
    )


async def get_credential(conn: AsyncConnection, credential_id: str) -> Credential | None:
    """The credential without its key."""
    query = sa.select(*_SHOWN, _HAS_KEY).where(credential.c.id == credential_id)
    row = (await conn.execute(query)).first()
    return _credential(row) if row else None


async def get_encrypted_key(conn: AsyncConnection, credential_id: str) -> bytes | None:
    """The encrypted key; only `kosmos.llm.secrets` can open it."""
    query = sa.select(credential.c.encrypted_key).where(credential.c.id == credential_id)
    key: bytes | None = await conn.scalar(query)
    return key


async def list_credentials(conn: AsyncConnection, user_id: str) -> list[Credential]:
    """The credentials of a user and those of the instance."""
    mine = sa.or_(credential.c.owner_id == user_id, credential.c.owner_id.is_(None))
    query = sa.select(*_SHOWN, _HAS_KEY).where(mine).order_by(credential.c.id)
    return [_credential(row) for row in await conn.execute(query)]


async def default_credentials(
    conn: AsyncConnection, owner_id: str | None, kind: CredentialType
) -> list[Credential]:
    """The default credentials of a user, or of the instance when no user is named."""
    found = await conn.execute(_DEFAULTS, {"owner": owner_id, "kind": kind.value})
    return [_credential(row) for row in found]


async def instance_credential(conn: AsyncConnection, name: str, kind: CredentialType) -> Credential | None:
    """The oldest credential of the instance with that name and type."""
    query = (
        sa.select(*_SHOWN, _HAS_KEY)
        .where(credential.c.owner_id.is_(None), credential.c.name == name, credential.c.type == kind.value)
        .order_by(credential.c.id)
    )
    row = (await conn.execute(query.limit(1))).first()
    return _credential(row) if row else None


async def update_credential(
    conn: AsyncConnection, credential_id: str, changes: Mapping[str, Any], now: datetime
) -> None:
    """Change columns of a credential."""
    query = credential.update().where(credential.c.id == credential_id)
    await conn.execute(query.values(**changes, updated_at=now))


async def delete_credential(conn: AsyncConnection, credential_id: str) -> None:
    """Remove a credential and its links."""
    await conn.execute(credential.delete().where(credential.c.id == credential_id))


async def foreign_keys_in_use(conn: AsyncConnection, key_id: str) -> int:
    """How many stored keys were encrypted by another encryption key than this one."""
    query = sa.select(sa.func.count()).where(credential.c.key_id.is_not(None), credential.c.key_id != key_id)
    return int(await conn.scalar(query) or 0)


async def is_linked_to_member(conn: AsyncConnection, user_id: str, credential_id: str) -> bool:
    """Whether a space that the user is a member of uses the credential."""
    query = (
        sa.select(space_credential.c.space_id)
        .join(space_member, space_member.c.space_id == space_credential.c.space_id)
        .where(space_member.c.user_id == user_id, space_credential.c.credential_id == credential_id)
    )
    return (await conn.execute(query.limit(1))).first() is not None


async def put_link(
    conn: AsyncConnection, space_id: str, credential_id: str, *, priority: int, weight: float, now: datetime
) -> None:
    """Link a credential to a space, or change the link."""
    here = sa.and_(space_credential.c.space_id == space_id, space_credential.c.credential_id == credential_id)
    values = {"priority": priority, "weight": weight}
    changed = await conn.execute(space_credential.update().where(here).values(**values))
    if changed.rowcount == 0:
        await conn.execute(
            space_credential.insert().values(
                space_id=space_id, credential_id=credential_id, created_at=now, **values
            )
        )


async def delete_link(conn: AsyncConnection, space_id: str, credential_id: str) -> bool:
    """Remove a link; False when there is none."""
    here = sa.and_(space_credential.c.space_id == space_id, space_credential.c.credential_id == credential_id)
    return (await conn.execute(space_credential.delete().where(here))).rowcount == 1


async def list_links(conn: AsyncConnection, space_id: str) -> list[CredentialLink]:
    """The credentials of a space, highest priority first."""
    return [
        CredentialLink(
            space_id=row.space_id, credential=_credential(row), priority=row.priority, weight=row.weight
        )
        for row in await conn.execute(_LINKS, {"space": space_id})
    ]
