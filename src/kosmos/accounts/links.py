"""Links that sign somebody in once: what `kosmos serve` prints for the page."""

import hashlib
import hmac
import secrets
from datetime import datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.accounts.access import require_scope
from kosmos.accounts.tokens import issue_token
from kosmos.db import users
from kosmos.domain.accounts import Principal, Scope, Token
from kosmos.domain.ids import new_id
from kosmos.domain.values import storable
from kosmos.errors import Unauthenticated

NAME = "link for the page"
PAGE = "page"
LINK_LIFE = timedelta(days=1)
PAGE_DAYS = 30
_REMEDY = "Start `kosmos serve` again for a new link, or sign in with a token: kosmos tokens create page"


def _hash(secret: str) -> str:
    # Not the hash of a token: a link opens nothing by itself, and a token is no link.
    return hashlib.sha256(f"link:{secret}".encode()).hexdigest()


async def make_link(conn: AsyncConnection, who: Principal, now: datetime) -> str:
    """A code that signs the caller in once, within a day. Those that ran out are removed."""
    require_scope(who, Scope.ADMIN)
    for old in await users.list_tokens(conn, who.user.id):
        if old.name == NAME and old.expires_at is not None and old.expires_at <= now:
            await users.delete_token(conn, who.user.id, old.id)
    secret = secrets.token_urlsafe(24)
    token = Token(new_id(), who.user.id, NAME, Scope.ADMIN, now + LINK_LIFE, now)
    await users.insert_token(conn, token, _hash(secret))
    return f"{token.id}_{secret}"


async def use_link(conn: AsyncConnection, code: str, now: datetime) -> str:
    """The text of a token for the page; the code is of no use afterwards."""
    token_id, _, secret = code.partition("_")
    found = await users.find_token(conn, token_id) if len(code) < 200 and storable(code) else None
    known = found is not None and hmac.compare_digest(found[1], _hash(secret))
    if found is None or not known or found[0].expires_at is None or found[0].expires_at <= now:
        raise Unauthenticated("This link was used, or has run out.", remedy=_REMEDY)
    link = found[0]
    if not await users.delete_token(conn, link.user_id, link.id):
        raise Unauthenticated("This link was used, or has run out.", remedy=_REMEDY)
    _, text = await issue_token(conn, link.user_id, name=PAGE, scope=link.scope, now=now, days=PAGE_DAYS)
    return text
