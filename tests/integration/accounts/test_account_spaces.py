"""Spaces and members: names, changes, owners, and transactions that stay whole."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kosmos.accounts import access, spaces
from kosmos.accounts.spaces import MAX_DESCRIPTION, MAX_JSON
from kosmos.db import Database
from kosmos.domain.accounts import Principal, Role
from kosmos.errors import Conflict, InvalidInput, KosmosError, NotFound

Enroll = Callable[..., Awaitable[Principal]]
Dump = Callable[[], Awaitable[str]]
NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)


async def create(db: Database, who: Principal, name: str, **options: Any) -> str:
    async with db.write() as conn:
        return (await spaces.create_space(conn, who, name=name, now=NOW, **options)).space.id


async def put(db: Database, who: Principal, space_id: str, user: str, role: Role) -> None:
    async with db.write() as conn:
        await spaces.put_member(conn, who, space_id, user=user, role=role, now=NOW)


async def leave(db: Database, who: Principal, space_id: str) -> None:
    async with db.write() as conn:
        await spaces.remove_member(conn, who, space_id, who.user.id)


async def roles(db: Database, who: Principal, space_id: str) -> dict[str, Role]:
    async with db.read() as conn:
        return {m.user_name: m.role for m in await spaces.list_members(conn, who, space_id)}


async def test_a_new_space_comes_back_as_it_was_given(db: Database, enroll: Enroll) -> None:
    who = await enroll("李雷")
    metadata = {"标签": ["运维", "👩‍🚀"], "n": 2**53 + 1, "deep": {"x": [None, True, 1.5, r"\u0000"]}}
    async with db.write() as conn:
        made = await spaces.create_space(
            conn, who, name="  Harbor Queue 运维 ", description="两行\n\t文本", metadata=metadata, now=NOW
        )
    async with db.read() as conn:
        read = await access.require_space(conn, who, made.space.id)
        assert read == made
        assert await spaces.list_spaces(conn, who) == [read]
    assert (read.role, read.space.owner_id, read.space.name) == (Role.OWNER, who.user.id, "Harbor Queue 运维")
    assert (read.space.metadata, read.space.description) == (metadata, "两行\n\t文本")
    assert (read.space.created_at, read.space.updated_at, read.space.settings) == (NOW, NOW, {})
    assert await roles(db, who, made.space.id) == {"李雷": Role.OWNER}


async def test_a_name_can_be_used_once_by_each_owner(db: Database, enroll: Enroll) -> None:
    who, other = await enroll("a"), await enroll("b")
    await create(db, who, "Straße 1")
    for same in ("Straße 1", " straße 1 ", "STRASSE 1", "Ｓtraße １", "Stra\u200bße 1", "Stra\u00adße 1"):
        with pytest.raises(Conflict, match="already") as caught:
            await create(db, who, same)
        assert caught.value.remedy
    await create(db, other, "Straße 1")
    await create(db, who, "Straße 2")
    async with db.read() as conn:
        assert [view.space.name for view in await spaces.list_spaces(conn, who)] == ["Straße 1", "Straße 2"]


async def test_two_creations_of_one_name_at_once(db: Database, enroll: Enroll) -> None:
    who = await enroll("a")
    ended = await asyncio.gather(*(create(db, who, "Same") for _ in range(5)), return_exceptions=True)
    assert sorted(type(one).__name__ for one in ended) == ["Conflict"] * 4 + ["str"]


async def test_spaces_are_listed_in_pages(db: Database, enroll: Enroll) -> None:
    who = await enroll("a")
    ids = sorted([await create(db, who, f"space {number}") for number in range(5)])
    await create(db, await enroll("b"), "not theirs")
    seen: list[str] = []
    async with db.read() as conn:
        for _ in range(3):
            page = await spaces.list_spaces(conn, who, after=seen[-1] if seen else "", limit=2)
            seen += [view.space.id for view in page]
        assert await spaces.list_spaces(conn, who, after=seen[-1]) == []
    assert seen == ids


async def test_changes_touch_what_they_name_and_nothing_else(db: Database, enroll: Enroll) -> None:
    who = await enroll("a")
    space_id = await create(db, who, "one", description="d", metadata={"m": 1})
    async with db.write() as conn:
        await spaces.change_space(conn, who, space_id, changes={"settings": {"k": [1]}}, now=LATER)
        changed = await spaces.change_space(conn, who, space_id, changes={"name": " ONE "}, now=LATER)
    async with db.read() as conn:
        assert await access.require_space(conn, who, space_id) == changed
        assert (await access.resolve_space(conn, who, "one")).space.id == space_id
    space = changed.space
    assert (space.name, space.description, space.metadata) == ("ONE", "d", {"m": 1})
    assert (space.settings, space.created_at, space.updated_at) == ({"k": [1]}, NOW, LATER)


async def test_a_refused_change_changes_nothing_and_the_transaction_goes_on(
    db: Database, enroll: Enroll
) -> None:
    who = await enroll("a")
    space_id = await create(db, who, "mine", description="old")
    await create(db, who, "taken")
    refused: list[tuple[dict[str, Any], type[KosmosError]]] = [
        ({"description": "new", "name": "ＴＡＫＥＮ"}, Conflict),
        ({"description": "new", "name": "\u202e"}, InvalidInput),
        ({"name": "new", "description": "x" * (MAX_DESCRIPTION + 1)}, InvalidInput),
        ({"name": "new", "metadata": {"x": float("nan")}}, InvalidInput),
        ({"name": "new", "settings": {"x": "y" * MAX_JSON}}, InvalidInput),
    ]
    async with db.write() as conn:
        before = await access.require_space(conn, who, space_id)
        for changes, named in refused:
            with pytest.raises(named):
                await spaces.change_space(conn, who, space_id, changes=changes, now=LATER)
        assert await access.require_space(conn, who, space_id) == before
        await spaces.create_space(conn, who, name="after all that", now=NOW)
    async with db.read() as conn:
        names = [view.space.name for view in await spaces.list_spaces(conn, who)]
        assert names == ["mine", "taken", "after all that"]
        assert await access.require_space(conn, who, space_id) == before


async def test_a_refused_creation_leaves_no_trace(db: Database, enroll: Enroll, dump: Dump) -> None:
    who = await enroll("a")
    await create(db, who, "taken")
    before = await dump()
    bad: list[tuple[dict[str, Any], type[KosmosError]]] = [
        ({"name": "Taken"}, Conflict),
        ({"name": ""}, InvalidInput),
        ({"name": "x", "description": "\x00"}, InvalidInput),
        ({"name": "x", "description": "\ud800"}, InvalidInput),
        ({"name": "x", "metadata": {"\x00": 1}}, InvalidInput),
        ({"name": "x", "metadata": {"k": "v" * MAX_JSON}}, InvalidInput),
    ]
    async with db.write() as conn:
        for options, named in bad:
            with pytest.raises(named):
                await spaces.create_space(conn, who, now=NOW, **options)
    assert await dump() == before


async def test_metadata_of_any_allowed_depth_can_be_stored(db: Database, enroll: Enroll) -> None:
    """The driver encodes from deep inside a call stack; what was accepted must not fail there."""
    who = await enroll("a")
    accepted = 0
    for depth in (10, 99, 300, 600, 900, 940, 960, 980):
        value: dict[str, Any] = {}
        for _ in range(depth):
            value = {"d": value}
        try:
            space_id = await create(db, who, f"depth {depth}", metadata=value)
        except InvalidInput:
            continue
        accepted += 1
        async with db.read() as conn:
            assert (await access.require_space(conn, who, space_id)).space.metadata == value
    assert accepted >= 2


async def test_members_come_change_and_go(db: Database, enroll: Enroll) -> None:
    who, guest = await enroll("b owner"), await enroll("A guest")
    space_id = await create(db, who, "s")
    await put(db, who, space_id, "ａ GUEST", Role.VIEWER)
    assert list((await roles(db, guest, space_id)).items()) == [
        ("A guest", Role.VIEWER),
        ("b owner", Role.OWNER),
    ]
    await put(db, who, space_id, guest.user.id, Role.EDITOR)
    assert await roles(db, guest, space_id) == {"A guest": Role.EDITOR, "b owner": Role.OWNER}
    async with db.write() as conn:
        await spaces.remove_member(conn, who, space_id, guest.user.id)
    with pytest.raises(NotFound):
        await roles(db, guest, space_id)
    with pytest.raises(NotFound):
        async with db.write() as conn:
            await spaces.remove_member(conn, who, space_id, guest.user.id)


async def test_only_users_can_become_members(db: Database, enroll: Enroll) -> None:
    who = await enroll("a")
    space_id = await create(db, who, "s")
    async with db.write() as conn:
        for unknown, named in (("nobody", NotFound), ("", InvalidInput), ("\x00", InvalidInput)):
            with pytest.raises(named):
                await spaces.put_member(conn, who, space_id, user=unknown, role=Role.VIEWER, now=NOW)
    assert await roles(db, who, space_id) == {"a": Role.OWNER}


async def test_the_last_owner_stays(db: Database, enroll: Enroll) -> None:
    who, editor = await enroll("a"), await enroll("b")
    space_id = await create(db, who, "s")
    await put(db, who, space_id, "b", Role.EDITOR)
    async with db.write() as conn:
        for role in (Role.EDITOR, Role.VIEWER):
            with pytest.raises(Conflict, match="needs an owner"):
                await spaces.put_member(conn, who, space_id, user="a", role=role, now=NOW)
        with pytest.raises(Conflict, match="needs an owner"):
            await spaces.remove_member(conn, who, space_id, who.user.id)
        await spaces.put_member(conn, who, space_id, user="a", role=Role.OWNER, now=NOW)
    assert await roles(db, who, space_id) == {"a": Role.OWNER, "b": Role.EDITOR}
    await put(db, who, space_id, "b", Role.OWNER)
    await leave(db, who, space_id)
    assert await roles(db, editor, space_id) == {"b": Role.OWNER}
    with pytest.raises(Conflict):
        await leave(db, editor, space_id)


@pytest.mark.parametrize("way", ["leave", "step down"])
async def test_two_owners_who_go_at_once_do_not_both_go(db: Database, enroll: Enroll, way: str) -> None:
    one, two = await enroll("one"), await enroll("two")
    space_id = await create(db, one, "s")
    await put(db, one, space_id, "two", Role.OWNER)

    async def second() -> None:
        if way == "leave":
            await leave(db, two, space_id)
        else:
            await put(db, two, space_id, "two", Role.VIEWER)

    async with db.write() as conn:
        await spaces.remove_member(conn, one, space_id, one.user.id)
        meanwhile = asyncio.create_task(second())
        await asyncio.sleep(0.15)  # long enough to look at the members, were it not made to wait
    with pytest.raises(Conflict, match="needs an owner"):
        await meanwhile
    assert await roles(db, two, space_id) == {"two": Role.OWNER}


async def test_one_member_added_twice_at_once(db: Database, enroll: Enroll) -> None:
    who, _ = await enroll("a"), await enroll("b")
    space_id = await create(db, who, "s")
    async with db.write() as conn:
        await spaces.put_member(conn, who, space_id, user="b", role=Role.VIEWER, now=NOW)
        meanwhile = asyncio.create_task(put(db, who, space_id, "b", Role.EDITOR))
        await asyncio.sleep(0.15)
    await meanwhile
    assert await roles(db, who, space_id) == {"a": Role.OWNER, "b": Role.EDITOR}
