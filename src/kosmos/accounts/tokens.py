"""API tokens: shown once, stored as a hash, limited by scope and time."""

import hashlib
import hmac
import secrets
from datetime import datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.accounts.access import require_scope
from kosmos.db import users
from kosmos.domain.accounts import Principal, Scope, Token
from kosmos.domain.ids import new_id
from kosmos.domain.names import clean_name
from kosmos.domain.values import storable
from kosmos.errors import InvalidInput, NotFound, Unauthenticated

PREFIX = "kosmos"
MAX_DAYS = 3650
_SIGN_IN = "Check KOSMOS_TOKEN or the token file; over HTTP send: Authorization: Bearer kosmos_…"


def _hash(secret: str) -> str:
    # A random secret of 256 bits needs no slow hash: it cannot be guessed.
    return hashlib.sha256(secret.encode()).hexdigest()


async def issue_token(
    conn: AsyncConnection,
    user_id: str,
    *,
    name: str,
    scope: Scope,
    now: datetime,
    days: int | None = None,
) -> tuple[Token, str]:
    """A new token of a user and its text, which is given out here and never again."""
    if days is not None and not 1 <= days <= MAX_DAYS:
        raise InvalidInput(
            f"A token lives 1 to {MAX_DAYS} days, not {days}.", remedy="Choose a day count in range."
        )
    token = Token(
        id=new_id(),
        user_id=user_id,
        name=clean_name(name, what="token name"),
        scope=scope,
        expires_at=now + timedelta(days=days) if days else None,
        created_at=now,
    )
    secret = secrets.token_urlsafe(32)
    await users.insert_token(conn, token, _hash(secret))
    return token, f"{PREFIX}_{token.id}_{secret}"


async def create_token(
    conn: AsyncConnection, who: Principal, *, name: str, scope: Scope, now: datetime, days: int | None = None
) -> tuple[Token, str]:
    """A new token for the caller, reaching no further than the one they use."""
    require_scope(who, Scope.ADMIN)
    return await issue_token(conn, who.user.id, name=name, scope=scope, now=now, days=days)


async def authenticate(conn: AsyncConnection, text: str, now: datetime) -> Principal:
    """Who presents this token; one answer for every way in which it can be wrong."""
    prefix, _, rest = text.partition("_")
    token_id, _, secret = rest.partition("_")
    well_formed = prefix == PREFIX and len(text) < 200 and storable(text)
    found = await users.find_token(conn, token_id) if well_formed else None
    if found is None or not hmac.compare_digest(found[1], _hash(secret)):
        raise Unauthenticated(remedy=_SIGN_IN)
    token = found[0]
    if token.expires_at is not None and token.expires_at <= now:
        raise Unauthenticated("The token has expired.", remedy="Make a new one: kosmos tokens create NAME")
    user = await users.find_user(conn, token.user_id)
    if user is None:
        raise Unauthenticated(remedy=_SIGN_IN)
    return Principal(user=user, scope=token.scope, token_id=token.id)


async def list_tokens(conn: AsyncConnection, who: Principal) -> list[Token]:
    """The caller's tokens."""
    return await users.list_tokens(conn, who.user.id)


async def revoke_token(conn: AsyncConnection, who: Principal, token_id: str) -> None:
    """Remove one of the caller's tokens; from then on it opens nothing."""
    require_scope(who, Scope.ADMIN)
    if not storable(token_id) or not await users.delete_token(conn, who.user.id, token_id):
        raise NotFound(f"There is no token {token_id}.", remedy="List yours with: kosmos tokens list")
