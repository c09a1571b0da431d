"""Links between spaces and credentials, and the order in which credentials are tried."""

import asyncio
import math
import random
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from kosmos.accounts import credentials, spaces
from kosmos.accounts.credentials import NewCredential
from kosmos.db import Database
from kosmos.domain.accounts import Principal, Role
from kosmos.domain.credentials import Credential, CredentialType
from kosmos.errors import InvalidInput, NotFound
from kosmos.llm.secrets import SecretBox

Enroll = Callable[..., Awaitable[Principal]]
MakeBox = Callable[[], SecretBox]
NOW = datetime(2026, 1, 1, tzinfo=UTC)
LLM, EMBEDDING = CredentialType.LLM, CredentialType.EMBEDDING


async def add(db: Database, who: Principal, box: SecretBox, name: str, **options: Any) -> Credential:
    given = {"type": LLM, "base_url": "http://127.0.0.1:1/v1", "model": "m"} | options
    async with db.write() as conn:
        form = NewCredential(name=name, **given)
        return await credentials.add_credential(conn, who, form, box=box, now=NOW)


async def create(db: Database, who: Principal, *members: str) -> str:
    async with db.write() as conn:
        space_id = (await spaces.create_space(conn, who, name="s", now=NOW)).space.id
        for name in members:
            await spaces.put_member(conn, who, space_id, user=name, role=Role.VIEWER, now=NOW)
        return space_id


async def link(
    db: Database, who: Principal, space_id: str, identity: str, *, priority: int = 0, weight: float = 1
) -> None:
    async with db.write() as conn:
        await credentials.link_credential(
            conn, who, space_id, identity, priority=priority, weight=weight, now=NOW
        )


async def tried(
    db: Database, who: Principal, space_id: str | None, kind: CredentialType = LLM, seed: int = 1
) -> list[str]:
    async with db.read() as conn:
        found = await credentials.candidates(conn, who, kind, space_id=space_id, rng=random.Random(seed))
    return [credential.name for credential in found]


async def test_links_are_listed_by_priority_and_changed_in_place(
    db: Database, enroll: Enroll, make_box: MakeBox
) -> None:
    who, box = await enroll("a"), make_box()
    space_id = await create(db, who)
    low, high = await add(db, who, box, "low"), await add(db, who, box, "high")
    await link(db, who, space_id, low.id, priority=-5, weight=0.25)
    await link(db, who, space_id, high.id, priority=5)
    async with db.read() as conn:
        links = await credentials.list_links(conn, who, space_id)
    assert [(one.credential, one.priority, one.weight) for one in links] == [(high, 5, 1), (low, -5, 0.25)]
    await link(db, who, space_id, low.id, priority=9, weight=3)
    async with db.write() as conn:
        links = await credentials.list_links(conn, who, space_id)
        assert [(one.credential, one.priority, one.weight) for one in links] == [(low, 9, 3), (high, 5, 1)]
        await credentials.unlink_credential(conn, who, space_id, low.id)
        with pytest.raises(NotFound):
            await credentials.unlink_credential(conn, who, space_id, low.id)
        assert [one.credential for one in await credentials.list_links(conn, who, space_id)] == [high]


async def test_numbers_that_make_no_sense_are_refused(
    db: Database, enroll: Enroll, make_box: MakeBox
) -> None:
    who = await enroll("a")
    space_id, mine = await create(db, who), await add(db, who, make_box(), "mine")
    wrong = [*((0, weight) for weight in (0, -1, math.nan, math.inf, 1_000_001)), (10**7, 1), (-(10**7), 1)]
    async with db.write() as conn:
        for priority, weight in wrong:
            with pytest.raises(InvalidInput):
                await credentials.link_credential(
                    conn, who, space_id, mine.id, priority=priority, weight=weight, now=NOW
                )
        assert await credentials.list_links(conn, who, space_id) == []
    for priority, weight in ((1_000_000, 1_000_000), (-1_000_000, 1e-9)):
        await link(db, who, space_id, mine.id, priority=priority, weight=weight)
        assert await tried(db, who, space_id) == ["mine"]


async def test_credentials_of_others_cannot_be_linked(
    db: Database, enroll: Enroll, make_box: MakeBox
) -> None:
    """Not even by a co-owner who sees one through a space: they would spend somebody else's money."""
    owner, other, root = await enroll("owner"), await enroll("other"), await enroll("root", is_admin=True)
    box = make_box()
    hidden, seen = await add(db, owner, box, "hidden"), await add(db, owner, box, "seen")
    shared, own = await create(db, owner, "other"), await create(db, other)
    await link(db, owner, shared, seen.id)
    for who, space_id in ((other, own), (root, await create(db, root))):
        for identity in (hidden.id, seen.id):
            with pytest.raises(NotFound):
                await link(db, who, space_id, identity)
    common = await add(db, root, box, "common", for_instance=True)
    await link(db, other, own, common.id)
    assert await tried(db, other, own) == ["common"]


async def test_one_credential_linked_twice_at_once(db: Database, enroll: Enroll, make_box: MakeBox) -> None:
    who = await enroll("a")
    space_id, mine = await create(db, who), await add(db, who, make_box(), "mine")
    async with db.write() as conn:
        await credentials.link_credential(conn, who, space_id, mine.id, priority=1, weight=1, now=NOW)
        meanwhile = asyncio.create_task(link(db, who, space_id, mine.id, priority=2))
        await asyncio.sleep(0.15)
    await meanwhile
    async with db.read() as conn:
        assert [one.priority for one in await credentials.list_links(conn, who, space_id)] == [2]


async def test_the_space_comes_first_then_the_user_then_the_instance(
    db: Database, enroll: Enroll, make_box: MakeBox
) -> None:
    owner, member, root, box = (
        await enroll("o"),
        await enroll("m"),
        await enroll("r", is_admin=True),
        make_box(),
    )
    space_id = await create(db, owner, "m")
    await add(db, root, box, "instance default", for_instance=True, is_default=True)
    await add(db, root, box, "instance spare", for_instance=True)
    await add(db, root, box, "of an administrator", is_default=True)
    await add(db, member, box, "my default", is_default=True)
    await add(db, member, box, "my spare")
    await add(db, member, box, "my encoder", is_default=True, type=EMBEDDING)
    second, first = await add(db, owner, box, "second"), await add(db, owner, box, "first", is_default=True)
    encoder = await add(db, owner, box, "encoder", type=EMBEDDING)
    await link(db, owner, space_id, second.id, priority=1)
    await link(db, owner, space_id, first.id, priority=2)
    await link(db, owner, space_id, encoder.id, priority=3)
    assert await tried(db, member, space_id) == ["first", "second", "my default", "instance default"]
    assert await tried(db, member, None) == ["my default", "instance default"]
    assert await tried(db, member, space_id, EMBEDDING) == ["encoder", "my encoder"]
    # Linked and default at once: tried once, at its first place.
    assert await tried(db, owner, space_id) == ["first", "second", "instance default"]
    assert await tried(db, owner, None) == ["first", "instance default"]
    assert await tried(db, owner, None, CredentialType.RERANK) == []
    with pytest.raises(NotFound):
        await tried(db, root, space_id)


async def test_weights_decide_within_a_priority(db: Database, enroll: Enroll, make_box: MakeBox) -> None:
    who, box = await enroll("a"), make_box()
    space_id = await create(db, who)
    for name, weight in (("often", 9.0), ("seldom", 1.0)):
        await link(db, who, space_id, (await add(db, who, box, name)).id, weight=weight)
    firsts = [(await tried(db, who, space_id, seed=seed))[0] for seed in range(100)]
    assert set(firsts) == {"often", "seldom"}
    assert 75 <= firsts.count("often") < 100
