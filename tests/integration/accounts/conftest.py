"""People and a key box for the tests of accounts."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa
from cryptography.fernet import Fernet

from kosmos.db import Database, tables, users
from kosmos.domain.accounts import Principal, Scope, User
from kosmos.domain.ids import new_id
from kosmos.llm.secrets import SecretBox, open_box

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def enroll(db: Database) -> Callable[..., Awaitable[Principal]]:
    """Makes a user and speaks for them with a token of full scope, unless told otherwise."""

    async def make(name: str, *, is_admin: bool = False, scope: Scope = Scope.ADMIN) -> Principal:
        user = User(id=new_id(), name=name, is_admin=is_admin, created_at=NOW)
        async with db.write() as conn:
            await users.insert_user(conn, user)
        return Principal(user=user, scope=scope, token_id="none")

    return make


@pytest.fixture
def make_box() -> Callable[[], SecretBox]:
    """Makes boxes, each with a key of its own."""
    return lambda: open_box(Fernet.generate_key().decode(), Path("unused"))


@pytest.fixture
def dump(db: Database) -> Callable[[], Awaitable[str]]:
    """Every value of every row of every table as text; bytes as they would read in Latin-1."""

    async def read_all() -> str:
        found: list[str] = []
        async with db.read() as conn:
            for table in tables.metadata.sorted_tables:
                for row in await conn.execute(sa.select(table)):
                    found += [v.decode("latin-1") if isinstance(v, bytes) else repr(v) for v in row]
        return "\n".join(found)

    return read_all
