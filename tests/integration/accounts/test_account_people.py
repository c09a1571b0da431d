"""Users: made by administrators, the first one by the first start."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from kosmos.accounts import people, spaces
from kosmos.accounts.tokens import authenticate
from kosmos.db import Database, users
from kosmos.domain.accounts import Principal, Role, Scope, User
from kosmos.errors import Conflict, Forbidden, InvalidInput, KosmosError

Enroll = Callable[..., Awaitable[Principal]]
Dump = Callable[[], Awaitable[str]]
NOW = datetime(2026, 1, 1, tzinfo=UTC)


async def create(db: Database, who: Principal, name: str, *, is_admin: bool = False) -> tuple[User, str]:
    async with db.write() as conn:
        return await people.create_user(conn, who, name=name, is_admin=is_admin, now=NOW)


async def first(db: Database, name: str) -> str | None:
    async with db.write() as conn:
        return await people.make_first_user(conn, name=name, now=NOW)


async def everybody(db: Database) -> list[User]:
    async with db.read() as conn:
        return await users.list_users(conn)


async def test_an_administrator_makes_users_whose_first_token_works(db: Database, enroll: Enroll) -> None:
    root = await enroll("root", is_admin=True)
    made, text = await create(db, root, " 韩梅梅 ")
    helper, helper_text = await create(db, root, "helper", is_admin=True)
    async with db.read() as conn:
        seen = await authenticate(conn, text, NOW)
        assert (seen.user, seen.scope) == (made, Scope.ADMIN)
        assert (made.name, made.is_admin, helper.is_admin) == ("韩梅梅", False, True)
        assert await spaces.list_spaces(conn, seen) == []
        assert await people.list_users(conn, await authenticate(conn, helper_text, NOW)) == [
            root.user,
            made,
            helper,
        ]


async def test_nobody_else_does(db: Database, enroll: Enroll, dump: Dump) -> None:
    root, other = await enroll("root", is_admin=True), await enroll("other")
    before = await dump()
    unfit = [other, replace(root, scope=Scope.WRITE), replace(root, scope=Scope.READ)]
    async with db.write() as conn:
        for who in unfit:
            with pytest.raises(Forbidden) as caught:
                await people.create_user(conn, who, name="x", is_admin=False, now=NOW)
            assert caught.value.remedy
            with pytest.raises(Forbidden):
                await people.list_users(conn, who)
    assert await dump() == before


async def test_a_name_is_used_once_and_a_refusal_leaves_no_trace(
    db: Database, enroll: Enroll, dump: Dump
) -> None:
    root = await enroll("Root", is_admin=True)
    before = await dump()
    bad: list[tuple[str, type[KosmosError]]] = [
        *((name, Conflict) for name in ("Root", "rOOT", "ｒｏｏｔ", " root ", "ro\u200bot")),
        *((name, InvalidInput) for name in ("", "\x00", "a\nb", "\ud800", "n" * 121, "\u200b")),
    ]
    async with db.write() as conn:
        for name, named in bad:
            with pytest.raises(named):
                await people.create_user(conn, root, name=name, is_admin=True, now=NOW)
    assert await dump() == before
    async with db.write() as conn:
        with pytest.raises(Conflict):
            await people.create_user(conn, root, name="root", is_admin=False, now=NOW)
        await people.create_user(conn, root, name="next", is_admin=False, now=NOW)
    assert [user.name for user in await everybody(db)] == ["Root", "next"]


async def test_the_first_user_owns_the_instance_and_a_space(db: Database) -> None:
    text = await first(db, "ann")
    assert text is not None
    async with db.read() as conn:
        who = await authenticate(conn, text, NOW)
        (view,) = await spaces.list_spaces(conn, who)
    assert (who.user.name, who.user.is_admin, who.scope) == ("ann", True, Scope.ADMIN)
    assert (view.space.name, view.role) == ("default", Role.OWNER)
    assert await first(db, "bob") is None
    assert await everybody(db) == [who.user]


@pytest.mark.parametrize("second", ["ann", "bob"])
async def test_two_first_starts_at_once_make_one_user(db: Database, second: str) -> None:
    async with db.write() as conn:
        text = await people.make_first_user(conn, name="ann", now=NOW)
        meanwhile = asyncio.create_task(first(db, second))
        await asyncio.sleep(0.15)  # long enough to see an empty table, were it not made to wait
    assert text is not None
    assert await meanwhile is None
    assert [user.name for user in await everybody(db)] == ["ann"]


async def test_many_first_starts_at_once_make_one_user(db: Database) -> None:
    texts = await asyncio.gather(*(first(db, f"user {number}") for number in range(8)))
    assert sum(text is not None for text in texts) == 1
    assert len(await everybody(db)) == 1


async def test_when_the_first_start_fails_the_next_one_is_the_first(db: Database) -> None:
    with pytest.raises(OSError, match="disk full"):
        async with db.write() as conn:
            await people.make_first_user(conn, name="ann", now=NOW)
            meanwhile = asyncio.create_task(first(db, "bob"))
            await asyncio.sleep(0.15)
            raise OSError("disk full")
    assert await meanwhile is not None
    assert [user.name for user in await everybody(db)] == ["bob"]
