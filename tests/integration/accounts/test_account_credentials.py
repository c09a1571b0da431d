"""Credentials: encrypted at rest, shown without their key, changed by their owner only."""

import logging
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from kosmos.accounts import access, credentials, spaces
from kosmos.accounts.credentials import MAX_KEY, MAX_OPTIONS, NewCredential
from kosmos.db import Database
from kosmos.db import credentials as rows
from kosmos.domain.accounts import Principal, Role, Scope
from kosmos.domain.credentials import Credential, CredentialType
from kosmos.errors import ConfigError, Forbidden, InvalidInput, KosmosError, NotFound
from kosmos.llm.secrets import SecretBox

Enroll = Callable[..., Awaitable[Principal]]
Dump = Callable[[], Awaitable[str]]
MakeBox = Callable[[], SecretBox]
NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
KEY = "sk-secret-of-a-test-0123456789"


def new(name: str = "mine", key: str | None = KEY, **options: Any) -> NewCredential:
    given = {"type": CredentialType.LLM, "base_url": "http://127.0.0.1:1/v1", "model": "m"} | options
    return NewCredential(name=name, key=key, **given)


async def add(db: Database, who: Principal, form: NewCredential, box: SecretBox) -> Credential:
    async with db.write() as conn:
        return await credentials.add_credential(conn, who, form, box=box, now=NOW)


async def change(db: Database, who: Principal, identity: str, box: SecretBox, **changes: Any) -> Credential:
    async with db.write() as conn:
        return await credentials.change_credential(conn, who, identity, changes=changes, box=box, now=LATER)


def files_of(folder: Path) -> list[bytes]:
    """The database as it lies on the disk, its journal included; nothing for a server."""
    return [path.read_bytes() for path in folder.rglob("kosmos.db*")]


async def reveal(db: Database, credential: Credential, box: SecretBox) -> str | None:
    async with db.read() as conn:
        return await credentials.reveal_key(conn, credential, box)


async def test_a_credential_comes_back_as_it_was_given(
    db: Database, enroll: Enroll, make_box: MakeBox
) -> None:
    who, box = await enroll("a"), make_box()
    options = {"temperature": 0.5, "停止": ["。"]}
    form = new(" 本地 ", base_url="http://h/v1/", model="qwen3:8b", options=options, is_default=True)
    made = await add(db, who, form, box)
    async with db.read() as conn:
        assert await credentials.list_credentials(conn, who) == [made]
        assert await credentials.find_credential(conn, who, "本地") == made
        assert await credentials.find_credential(conn, who, made.id) == made
        assert await access.require_credential(conn, who, made.id, change=True) == made
    assert (made.name, made.base_url, made.model) == ("本地", "http://h/v1", "qwen3:8b")
    assert (made.owner_id, made.options, made.is_default) == (who.user.id, options, True)
    assert (made.has_key, made.key_id, made.created_at) == (True, box.key_id, NOW)
    assert await reveal(db, made, box) == KEY


async def test_the_key_is_nowhere_but_in_the_box(
    db: Database,
    enroll: Enroll,
    make_box: MakeBox,
    dump: Dump,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    who, box, second = await enroll("a"), make_box(), "sk-another-key-abcdefghij"
    made = await add(db, who, new(), box)
    async with db.write() as conn:
        space_id = (await spaces.create_space(conn, who, name="s", now=NOW)).space.id
        await credentials.link_credential(conn, who, space_id, made.id, priority=1, weight=1, now=NOW)
    changed = await change(db, who, made.id, box, key=second)
    async with db.read() as conn:
        sealed = await rows.get_encrypted_key(conn, made.id)
        listed = await credentials.list_credentials(conn, who)
        links = await credentials.list_links(conn, who, space_id)
    assert sealed is not None
    stored = await dump()
    assert sealed.decode() in stored
    shown = repr([made, changed, listed, links, box]) + str(listed[0]) + caplog.text
    for key in (KEY, second):
        assert key not in shown
        assert key not in stored
        assert not any(key.encode() in content for content in files_of(tmp_path))
    assert sealed.decode() not in repr([made, changed, listed, links])


async def test_a_lost_encryption_key_is_explained(db: Database, enroll: Enroll, make_box: MakeBox) -> None:
    who, old, fresh = await enroll("a"), make_box(), make_box()
    made = await add(db, who, new(), old)
    keyless = await add(db, who, new("keyless", key=None), fresh)
    with pytest.raises(ConfigError, match="encrypted with another key") as caught:
        await reveal(db, made, fresh)
    assert "secret.key" in (caught.value.remedy or "")
    with pytest.raises(ConfigError, match="1 stored keys") as caught:
        await add(db, who, new("next"), fresh)
    assert "secret.key" in (caught.value.remedy or "")
    with pytest.raises(ConfigError, match="1 stored keys"):
        await change(db, who, keyless.id, fresh, key="sk-2")
    async with db.read() as conn:
        assert await credentials.list_credentials(conn, who) == [made, keyless]
    await add(db, who, new("still keyless", key=None), fresh)
    await change(db, who, made.id, fresh, key="")
    again = await change(db, who, made.id, fresh, key="sk-2")
    assert (again.key_id, await reveal(db, again, fresh)) == (fresh.key_id, "sk-2")


async def test_a_key_is_changed_kept_and_removed(db: Database, enroll: Enroll, make_box: MakeBox) -> None:
    who, box = await enroll("a"), make_box()
    made = await add(db, who, new(), box)
    renamed = await change(db, who, made.id, box, name="renamed", is_default=True)
    assert (renamed.name, renamed.is_default, renamed.has_key) == ("renamed", True, True)
    assert (renamed.created_at, renamed.updated_at) == (NOW, LATER)
    assert await reveal(db, renamed, box) == KEY
    changed = await change(db, who, made.id, box, key="sk-2")
    assert await reveal(db, changed, box) == "sk-2"
    bare = await change(db, who, made.id, box, key="")
    assert (bare.has_key, bare.key_id, bare.name) == (False, None, "renamed")
    assert await reveal(db, bare, box) is None


@pytest.mark.parametrize("key", ["", None])
async def test_a_credential_without_a_key(
    db: Database, enroll: Enroll, make_box: MakeBox, key: str | None
) -> None:
    box = make_box()
    made = await add(db, await enroll("a"), new(key=key), box)
    assert (made.has_key, made.key_id) == (False, None)
    assert await reveal(db, made, box) is None


async def test_keys_that_no_header_can_carry_are_refused_unseen(
    db: Database, enroll: Enroll, make_box: MakeBox, dump: Dump
) -> None:
    who, box = await enroll("a"), make_box()
    made = await add(db, who, new(), box)
    before = await dump()
    wrong = [
        *(f"{KEY}{end}" for end in ("\n", "\r\nX: y", "\x00", "ü", "\ud800", " ")),
        f" {KEY}",
        KEY * MAX_KEY,
    ]
    for key in [*wrong, " "]:
        with pytest.raises(InvalidInput, match="printable ASCII") as caught:
            await add(db, who, new("x", key=key), box)
        assert KEY not in "".join(traceback.format_exception(caught.value))
        with pytest.raises(InvalidInput, match="printable ASCII"):
            await change(db, who, made.id, box, key=key)
    assert await dump() == before


async def test_a_refusal_leaves_nothing_half_written(
    db: Database, enroll: Enroll, make_box: MakeBox, dump: Dump
) -> None:
    who, box = await enroll("a"), make_box()
    made = await add(db, who, new(), box)
    before = await dump()
    bad: list[dict[str, Any]] = [
        {"name": "\x00"},
        {"model": ""},
        {"base_url": "ftp://x"},
        {"base_url": "http://host/\ud800"},
        {"options": {"x": float("inf")}},
        {"options": {"x": "y" * MAX_OPTIONS}},
    ]
    async with db.write() as conn:
        for wrong in bad:
            with pytest.raises(InvalidInput):
                await credentials.add_credential(conn, who, replace(new(), **wrong), box=box, now=LATER)
            with pytest.raises(InvalidInput):
                changes = {"key": "sk-new", "is_default": True} | wrong
                await credentials.change_credential(conn, who, made.id, changes=changes, box=box, now=LATER)
    assert await dump() == before


async def test_a_transaction_goes_on_after_refusals(db: Database, enroll: Enroll, make_box: MakeBox) -> None:
    who, other, box = await enroll("a"), await enroll("b"), make_box()
    made = await add(db, who, new(), box)
    async with db.write() as conn:
        with pytest.raises(NotFound):
            await credentials.remove_credential(conn, other, made.id)
        with pytest.raises(ConfigError):
            await credentials.add_credential(conn, who, new("x"), box=make_box(), now=NOW)
        with pytest.raises(Forbidden):
            await credentials.add_credential(conn, who, new("x", for_instance=True), box=box, now=NOW)
        await credentials.add_credential(conn, who, new("after"), box=box, now=NOW)
    async with db.read() as conn:
        assert [c.name for c in await credentials.list_credentials(conn, who)] == ["mine", "after"]


async def test_two_of_one_name_need_the_id(db: Database, enroll: Enroll, make_box: MakeBox) -> None:
    who, box = await enroll("a"), make_box()
    twins = [await add(db, who, new("twin"), box) for _ in range(2)]
    await add(db, await enroll("b"), new("foreign"), box)
    async with db.read() as conn:
        with pytest.raises(InvalidInput) as caught:
            await credentials.find_credential(conn, who, "twin")
        assert all(twin.id in (caught.value.remedy or "") for twin in twins)
        assert await credentials.find_credential(conn, who, twins[1].id) == twins[1]
        for unknown in ("foreign", "none", "\x00", "\ud800"):
            with pytest.raises(NotFound):
                await credentials.find_credential(conn, who, unknown)


async def test_who_may_see_and_change_which_credential(
    db: Database, enroll: Enroll, make_box: MakeBox
) -> None:
    """Rows: whose credential it is. Columns: what becomes of looking at it and of changing it."""
    owner, member, stranger = await enroll("owner"), await enroll("member"), await enroll("stranger")
    root, box = await enroll("root", is_admin=True), make_box()
    private, linked = await add(db, owner, new("private"), box), await add(db, owner, new("linked"), box)
    common = await add(db, root, new("common", for_instance=True), box)
    async with db.write() as conn:
        space_id = (await spaces.create_space(conn, owner, name="s", now=NOW)).space.id
        await spaces.put_member(conn, owner, space_id, user="member", role=Role.OWNER, now=NOW)
        await credentials.link_credential(conn, owner, space_id, linked.id, priority=0, weight=1, now=NOW)
    table = {
        ("private", owner): ("ok", "ok"),
        ("private", member): ("NotFound", "NotFound"),
        ("private", stranger): ("NotFound", "NotFound"),
        ("private", root): ("NotFound", "NotFound"),
        ("linked", owner): ("ok", "ok"),
        ("linked", member): ("ok", "Forbidden"),
        ("linked", stranger): ("NotFound", "NotFound"),
        ("linked", root): ("NotFound", "NotFound"),
        ("common", owner): ("ok", "Forbidden"),
        ("common", stranger): ("ok", "Forbidden"),
        ("common", root): ("ok", "ok"),
        ("common", replace(root, scope=Scope.WRITE)): ("ok", "Forbidden"),
    }
    ids = {"private": private.id, "linked": linked.id, "common": common.id}
    found = {}
    for name, who in table:
        looked = await _ending(access_to(db, who, ids[name]))
        changed = await _ending(change(db, who, ids[name], box, is_default=False))
        found[name, who] = (looked, changed)
    assert found == table
    for name, who in table:
        if table[name, who][1] != "ok":
            assert await _ending(_remove(db, who, ids[name])) == table[name, who][1]


async def access_to(db: Database, who: Principal, identity: str) -> Credential:
    async with db.read() as conn:
        return await access.require_credential(conn, who, identity, change=False)


async def _remove(db: Database, who: Principal, identity: str) -> None:
    async with db.write() as conn:
        await credentials.remove_credential(conn, who, identity)


async def _ending(attempt: Awaitable[object]) -> str:
    try:
        await attempt
    except KosmosError as error:
        return type(error).__name__
    return "ok"


async def test_only_administrators_add_for_the_instance(
    db: Database, enroll: Enroll, make_box: MakeBox
) -> None:
    root, other, box = await enroll("root", is_admin=True), await enroll("other"), make_box()
    for who in (other, replace(root, scope=Scope.WRITE)):
        with pytest.raises(Forbidden):
            await add(db, who, new(for_instance=True), box)
    made = await add(db, root, new("common", for_instance=True), box)
    mine = await add(db, other, new("mine"), box)
    assert made.owner_id is None
    async with db.read() as conn:
        assert await credentials.list_credentials(conn, other) == [made, mine]
        assert await credentials.list_credentials(conn, root) == [made]


async def test_a_removed_credential_takes_key_and_links_along(
    db: Database, enroll: Enroll, make_box: MakeBox
) -> None:
    who, old, fresh = await enroll("a"), make_box(), make_box()
    made = await add(db, who, new(), old)
    async with db.write() as conn:
        space_id = (await spaces.create_space(conn, who, name="s", now=NOW)).space.id
        await credentials.link_credential(conn, who, space_id, made.id, priority=0, weight=1, now=NOW)
    await _remove(db, who, made.id)
    async with db.read() as conn:
        assert await credentials.list_links(conn, who, space_id) == []
        assert await rows.get_encrypted_key(conn, made.id) is None
    await add(db, who, new("next"), fresh)  # no key of the former box is left to stand in the way
