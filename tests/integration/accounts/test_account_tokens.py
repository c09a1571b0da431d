"""Tokens: who presents one, what it opens, and that its secret is nowhere."""

import hashlib
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from kosmos.accounts import tokens
from kosmos.db import Database, users
from kosmos.domain.accounts import Principal, Scope, Token, User
from kosmos.domain.ids import new_id
from kosmos.doubles.clock import FixedClock
from kosmos.errors import Forbidden, InvalidInput, NotFound, Unauthenticated

Enroll = Callable[..., Awaitable[Principal]]
Dump = Callable[[], Awaitable[str]]
DAY = 24 * 60 * 60


async def issue(
    db: Database, who: Principal, clock: FixedClock, *, scope: Scope = Scope.READ, days: int | None = None
) -> tuple[Token, str]:
    async with db.write() as conn:
        return await tokens.create_token(conn, who, name="laptop", scope=scope, now=clock(), days=days)


async def sign_in(db: Database, text: str, clock: FixedClock) -> Principal:
    async with db.read() as conn:
        return await tokens.authenticate(conn, text, clock())


async def test_a_token_names_its_user_and_scope(db: Database, enroll: Enroll) -> None:
    who, other, clock = await enroll("李雷"), await enroll("other"), FixedClock()
    for scope in Scope:
        token, text = await issue(db, who, clock, scope=scope)
        seen = await sign_in(db, text, clock)
        assert (seen.user, seen.scope, seen.token_id) == (who.user, scope, token.id)
    _, text = await issue(db, other, clock)
    assert (await sign_in(db, text, clock)).user == other.user


async def test_a_token_ends_with_its_last_day(db: Database, enroll: Enroll) -> None:
    who, clock = await enroll("a"), FixedClock()
    token, text = await issue(db, who, clock, days=2)
    _, lasting = await issue(db, who, clock)
    assert token.expires_at == clock() + timedelta(days=2)
    clock.advance(2 * DAY - 1)
    assert (await sign_in(db, text, clock)).user == who.user
    clock.advance(1)
    with pytest.raises(Unauthenticated, match="expired") as caught:
        await sign_in(db, text, clock)
    assert "kosmos tokens create" in (caught.value.remedy or "")
    clock.advance(3650 * DAY)
    assert (await sign_in(db, lasting, clock)).user == who.user


async def test_an_expired_token_with_a_wrong_secret_is_just_wrong(db: Database, enroll: Enroll) -> None:
    who, clock = await enroll("a"), FixedClock()
    token, _ = await issue(db, who, clock, days=1)
    clock.advance(DAY)
    with pytest.raises(Unauthenticated, match="valid token"):
        await sign_in(db, f"kosmos_{token.id}_guess", clock)


async def test_everything_but_the_token_itself_is_refused_alike(db: Database, enroll: Enroll) -> None:
    who, clock = await enroll("a"), FixedClock()
    token, text = await issue(db, who, clock)
    secret = text.removeprefix(f"kosmos_{token.id}_")
    wrong = [
        *("", "_", "__", "kosmos", "kosmos_", "kosmos__", "Bearer", secret, token.id, f"{token.id}_{secret}"),
        *(f"kosmos_{token.id}", f"kosmos_{token.id}_", f"kosmos_{token.id}_{secret[:-1]}"),
        *(f"kosmos_{token.id}_{secret}x", f"kosmos_{token.id}_{secret} ", f"KOSMOS_{token.id}_{secret}"),
        *(
            f"kosmos_{token.id}_{secret.swapcase()}",
            f"kosmos_{new_id()}_{secret}",
            f"kosmos_{token.id}_{token.id}",
        ),
        f"kosmos_{token.id}_{hashlib.sha256(secret.encode()).hexdigest()}",
        *("kosmos_' OR '1'='1_x", "kosmos_%_x", "kosmos_中文_é", "kosmos_\x00_x", f"kosmos_{token.id}_\x00"),
        *(
            "kosmos_\ud800_x",
            f"kosmos_{token.id}_\ud800",
            "\n",
            f"{text}\n",
            "_" * 150,
            f"kosmos_{'9' * 150}_x",
        ),
    ]
    messages = set()
    for attempt in wrong:
        with pytest.raises(Unauthenticated) as caught:
            await sign_in(db, attempt, clock)
        messages.add((caught.value.message, caught.value.remedy))
    assert len(messages) == 1
    assert (await sign_in(db, text, clock)).user == who.user


async def test_a_huge_token_is_refused_without_asking_the_database(
    db: Database, caplog: pytest.LogCaptureFixture
) -> None:
    huge = f"kosmos_{new_id()}_{'x' * 2**20}"
    caplog.set_level(logging.INFO, "sqlalchemy.engine")
    for text, asked in ((huge, False), (huge[:100], True)):
        with pytest.raises(Unauthenticated):
            await sign_in(db, text, FixedClock())
        assert ("FROM api_token" in caplog.text) is asked


async def test_a_revoked_token_opens_nothing(db: Database, enroll: Enroll) -> None:
    who, clock = await enroll("a"), FixedClock()
    first, text = await issue(db, who, clock)
    _, kept = await issue(db, who, clock)
    async with db.write() as conn:
        await tokens.revoke_token(conn, who, first.id)
    with pytest.raises(Unauthenticated):
        await sign_in(db, text, clock)
    assert (await sign_in(db, kept, clock)).user == who.user
    with pytest.raises(NotFound):
        async with db.write() as conn:
            await tokens.revoke_token(conn, who, first.id)


async def test_tokens_of_others_do_not_exist(db: Database, enroll: Enroll) -> None:
    owner, admin, clock = await enroll("a"), await enroll("root", is_admin=True), FixedClock()
    token, text = await issue(db, owner, clock)
    for unknown in (token.id, new_id(), "\x00", "\ud800", "x" * 500):
        with pytest.raises(NotFound):
            async with db.write() as conn:
                await tokens.revoke_token(conn, admin, unknown)
    async with db.read() as conn:
        assert await tokens.list_tokens(conn, admin) == []
        assert await tokens.list_tokens(conn, owner) == [token]
    assert (await sign_in(db, text, clock)).user == owner.user


@pytest.mark.parametrize("scope", [Scope.READ, Scope.WRITE])
async def test_a_narrow_token_makes_and_revokes_none(db: Database, enroll: Enroll, scope: Scope) -> None:
    who, clock = await enroll("a"), FixedClock()
    token, _ = await issue(db, who, clock)
    narrow = replace(who, scope=scope)
    async with db.write() as conn:
        with pytest.raises(Forbidden, match=scope.value):
            await tokens.create_token(conn, narrow, name="x", scope=Scope.READ, now=clock())
        with pytest.raises(Forbidden):
            await tokens.revoke_token(conn, narrow, token.id)
        assert await tokens.list_tokens(conn, narrow) == [token]


async def test_wrong_forms_of_a_token_are_refused_and_leave_nothing(db: Database, enroll: Enroll) -> None:
    who, clock = await enroll("a"), FixedClock()
    async with db.write() as conn:
        for days in (0, -1, tokens.MAX_DAYS + 1, 10**12):
            with pytest.raises(InvalidInput, match="days"):
                await tokens.create_token(conn, who, name="x", scope=Scope.READ, now=clock(), days=days)
        with pytest.raises(InvalidInput, match="token name"):
            await tokens.create_token(conn, who, name="\x00", scope=Scope.READ, now=clock())
        assert await tokens.list_tokens(conn, who) == []


async def test_only_a_hash_of_the_secret_is_stored(
    db: Database, enroll: Enroll, dump: Dump, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    who = await enroll("a")
    token, text = await issue(db, who, FixedClock(), scope=Scope.ADMIN, days=3)
    secret = text.removeprefix(f"kosmos_{token.id}_")
    async with db.read() as conn:
        shown = repr(token) + repr(await tokens.list_tokens(conn, who))
    stored = await dump()
    assert hashlib.sha256(secret.encode()).hexdigest() in stored
    assert len(secret) >= 43
    for part in (secret, secret[:20], secret[20:]):
        assert part not in stored + shown + caplog.text


async def test_a_user_named_like_the_id_of_another_does_not_take_their_place(db: Database) -> None:
    clock, known = FixedClock(), new_id()
    # The intruder stands first in the table and in every index.
    intruder = User(id="0" * 36, name=known, is_admin=True, created_at=clock())
    victim = User(id=known, name="victim", is_admin=False, created_at=clock())
    async with db.write() as conn:
        await users.insert_user(conn, intruder)
        await users.insert_user(conn, victim)
        _, text = await tokens.issue_token(conn, known, name="x", scope=Scope.READ, now=clock())
    assert (await sign_in(db, text, clock)).user == victim
