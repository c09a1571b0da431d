"""Keeping to quotas. They are checked before something is stored or a model is asked.

Those who work at the same moment do not see each other: a quota may be exceeded by what is under way.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.db import Database, spaces
from kosmos.db import quotas as table
from kosmos.domain.clock import Clock
from kosmos.domain.quotas import Quota, Quotas
from kosmos.domain.space_settings import read_settings
from kosmos.errors import OverQuota, TokensUsedUp
from kosmos.telemetry.measures import REFUSALS

LOOK_AGAIN = timedelta(seconds=5)  # sums of a day are kept for so long
MOST_KEPT = 10_000
_ASK = "Remove what is not needed, or ask for more: an owner sets the limits of a space, KOSMOS_QUOTA_… those"


@dataclass(frozen=True, slots=True)
class Quotient:
    """One limit: whose it is, how much is used, and how much may be."""

    whose: str
    used: int
    most: int | None

    def passes(self, more: int) -> bool:
        """Whether so much more fits."""
        return self.most is None or more <= 0 or self.used + more <= self.most


@dataclass(slots=True)
class QuotaBook:
    """The quotas of the instance, and sums of tokens that were looked up a moment ago."""

    quotas: Quotas = field(default_factory=Quotas)
    _sums: dict[tuple[str, str], tuple[datetime, int]] = field(default_factory=dict)

    async def space_quota(self, conn: AsyncConnection, space_id: str) -> Quota:
        """What holds for a space: the stricter of the instance's quota and its own."""
        own = read_settings(await spaces.get_settings(conn, space_id)).limits
        return self.quotas.space.within(own)

    async def check_room(
        self, conn: AsyncConnection, space_id: str, *, documents: int = 0, size: int = 0
    ) -> None:
        """OverQuota when so many more documents and bytes do not fit; all 0: when nothing fits any more."""
        nothing = not documents and not size
        wanted = (1, 1) if nothing else (documents, size)
        space, user = await self.space_quota(conn, space_id), self.quotas.user
        if space.documents is not None or space.bytes is not None:
            _refuse("the space", space, await table.stored_in_space(conn, space_id), wanted)
        if user.documents is not None or user.bytes is not None:
            owner = await table.owner_of(conn, space_id)
            if owner is not None:
                _refuse("the owner of the space", user, await table.stored_of_owner(conn, owner), wanted)

    async def check_tokens(
        self, db: Database, clock: Clock, *, space_id: str | None = None, user_id: str | None = None
    ) -> None:
        """TokensUsedUp when today's tokens of a space, of its owner or of a user are gone."""
        now = clock()
        day = now.replace(hour=0, minute=0, second=0, microsecond=0)
        async with db.glance() as conn:
            if space_id is not None:
                most = (await self.space_quota(conn, space_id)).tokens_per_day
                if most is not None and await self._spent(conn, ("space", space_id), day, now) >= most:
                    raise _used_up("the space", most, day, now)
            most = self.quotas.user.tokens_per_day
            if most is None:
                return
            whose = user_id or (await table.owner_of(conn, space_id) if space_id else None)
            if whose is not None and await self._spent(conn, ("user", whose), day, now) >= most:
                raise _used_up("the user", most, day, now)

    async def _spent(
        self, conn: AsyncConnection, whose: tuple[str, str], day: datetime, now: datetime
    ) -> int:
        known = self._sums.get(whose)
        if known is not None and day <= known[0] <= now < known[0] + LOOK_AGAIN:
            return known[1]
        look = table.tokens_of_space if whose[0] == "space" else table.tokens_of_user
        spent = await look(conn, whose[1], day)
        if len(self._sums) >= MOST_KEPT:
            self._sums.clear()
        self._sums[whose] = (now, spent)
        return spent


def _refuse(whose: str, quota: Quota, stored: table.Stored, more: tuple[int, int]) -> None:
    for what, limit, wanted in (
        ("documents", Quotient(whose, stored.documents, quota.documents), more[0]),
        ("bytes", Quotient(whose, stored.bytes, quota.bytes), more[1]),
    ):
        if not limit.passes(wanted):
            REFUSALS.add(f"quota_{what}")
            raise OverQuota(
                f"{whose.capitalize()} has {limit.used:,} of {limit.most:,} {what}; this would be more.",
                remedy=f"{_ASK} of the instance.",
            )


def _used_up(whose: str, most: int, day: datetime, now: datetime) -> TokensUsedUp:
    REFUSALS.add("quota_tokens")
    left = (day + timedelta(days=1) - now).total_seconds()
    return TokensUsedUp(
        f"Today's {most:,} tokens of {whose} are used up.",
        retry_after=left,
        remedy="They begin anew at midnight UTC; an owner or an administrator can raise the quota.",
    )
