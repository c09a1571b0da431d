"""Quotas of documents, bytes and tokens, on both engines."""

from datetime import timedelta

import pytest

from kosmos.db import Database, ledger, spaces, users
from kosmos.domain.accounts import User
from kosmos.domain.ids import new_id
from kosmos.domain.ledger import Charge
from kosmos.domain.quotas import Quota, Quotas
from kosmos.domain.spaces import Space
from kosmos.doubles.clock import FixedClock
from kosmos.errors import OverQuota, TokensUsedUp
from kosmos.tasks.quotas import LOOK_AGAIN, QuotaBook

NONE = Quota()


@pytest.fixture
def clock() -> FixedClock:
    """The time of the test."""
    return FixedClock()


@pytest.fixture
async def space(db: Database, clock: FixedClock) -> Space:
    """A space with a limit of its own."""
    now = clock()
    owner = User(new_id(), "owner", False, now)
    made = Space(new_id(), owner.id, "s", "", {}, {"limits": {"tokens_per_day": 100}}, now, now)
    async with db.write() as conn:
        await users.insert_user(conn, owner)
        await spaces.insert_space(conn, made)
    return made


async def _charge(db: Database, clock: FixedClock, space: Space, tokens: int) -> None:
    charge = Charge(
        new_id(), space.id, None, new_id(), "c", "m", "chunking", None, None, tokens, 0, 10, None, clock()
    )
    async with db.write() as conn:
        await ledger.insert_charge(conn, charge)


async def test_without_quotas_everything_fits(db: Database, clock: FixedClock, space: Space) -> None:
    book = QuotaBook()
    async with db.read() as conn:
        await book.check_room(conn, space.id, documents=10**6, size=10**12)
    await book.check_tokens(db, clock, space_id=space.id)


async def test_the_tokens_of_a_space_are_used_up_until_midnight(
    db: Database, clock: FixedClock, space: Space
) -> None:
    book = QuotaBook()
    await book.check_tokens(db, clock, space_id=space.id)
    await _charge(db, clock, space, 95)
    clock.advance(LOOK_AGAIN.total_seconds())
    with pytest.raises(TokensUsedUp) as caught:
        await book.check_tokens(db, clock, space_id=space.id)
    now = clock()
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    assert caught.value.retry_after == pytest.approx((midnight - now).total_seconds())
    assert caught.value.retryable
    clock.advance((midnight - now).total_seconds())
    await book.check_tokens(db, clock, space_id=space.id)


async def test_the_sum_is_kept_for_a_moment(db: Database, clock: FixedClock, space: Space) -> None:
    book = QuotaBook()
    await book.check_tokens(db, clock, space_id=space.id)
    await _charge(db, clock, space, 1000)
    await book.check_tokens(db, clock, space_id=space.id)
    clock.advance(LOOK_AGAIN.total_seconds())
    with pytest.raises(TokensUsedUp):
        await book.check_tokens(db, clock, space_id=space.id)


async def test_an_owner_answers_for_all_their_spaces(db: Database, clock: FixedClock, space: Space) -> None:
    book = QuotaBook(Quotas(NONE, Quota(tokens_per_day=50)))
    await _charge(db, clock, space, 45)
    for whose in ({"user_id": space.owner_id}, {"space_id": space.id}):
        with pytest.raises(TokensUsedUp) as caught:
            await book.check_tokens(db, clock, **whose)
        assert "50 tokens of the user" in caught.value.message
    await book.check_tokens(db, clock, user_id=new_id())


async def test_the_stricter_quota_holds(db: Database, space: Space) -> None:
    book = QuotaBook(Quotas(Quota(documents=0, bytes=10, tokens_per_day=500), NONE))
    async with db.read() as conn:
        assert await book.space_quota(conn, space.id) == Quota(0, 10, 100)
        with pytest.raises(OverQuota):
            await book.check_room(conn, space.id, documents=1)
        with pytest.raises(OverQuota):
            await book.check_room(conn, space.id, size=11)
        await book.check_room(conn, space.id, size=10)
        await book.check_room(conn, space.id, size=-5)  # what shrinks always fits
