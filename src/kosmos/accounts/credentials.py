"""Credentials: stored encrypted, linked to spaces, looked up space → user → instance."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

import httpx2
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.accounts.access import require_admin, require_credential, require_scope, require_space
from kosmos.db import credentials as rows
from kosmos.db.spaces import lock_space
from kosmos.domain.accounts import Principal, Role, Scope
from kosmos.domain.credentials import Credential, CredentialLink, CredentialType
from kosmos.domain.ids import new_id
from kosmos.domain.names import clean_name
from kosmos.domain.values import check_json, storable
from kosmos.errors import ConfigError, InvalidInput, NotFound
from kosmos.llm.choice import order_links
from kosmos.llm.secrets import SecretBox

MAX_KEY = 4096
MAX_OPTIONS = 8192
MAX_PRIORITY = 1_000_000


@dataclass(frozen=True, slots=True)
class NewCredential:
    """What a user gives to store a credential; the key goes straight into the box."""

    name: str
    type: CredentialType
    base_url: str
    model: str
    key: str | None = field(default=None, repr=False)
    options: Mapping[str, Any] = field(default_factory=dict)
    is_default: bool = False
    for_instance: bool = False


async def add_credential(
    conn: AsyncConnection, who: Principal, new: NewCredential, *, box: SecretBox, now: datetime
) -> Credential:
    """Store a credential of the caller, or of the instance if an administrator says so."""
    require_scope(who, Scope.ADMIN)
    if new.for_instance:
        require_admin(who)
    sealed = await _seal(conn, new.key, box)
    credential = Credential(
        id=new_id(),
        owner_id=None if new.for_instance else who.user.id,
        name=clean_name(new.name, what="credential name"),
        type=new.type,
        base_url=check_url(new.base_url),
        model=clean_name(new.model, what="model name"),
        options=check_json(new.options, what="options", most=MAX_OPTIONS),
        is_default=new.is_default,
        has_key=sealed is not None,
        key_id=box.key_id if sealed else None,
        created_at=now,
        updated_at=now,
    )
    await rows.insert_credential(conn, credential, sealed)
    return credential


async def change_credential(
    conn: AsyncConnection,
    who: Principal,
    credential_id: str,
    *,
    changes: Mapping[str, Any],
    box: SecretBox,
    now: datetime,
) -> Credential:
    """Change fields of a credential; `key` replaces the stored one."""
    await require_credential(conn, who, credential_id, change=True)
    values = dict(changes)
    if "key" in values:
        sealed = await _seal(conn, values.pop("key"), box)
        values |= {"encrypted_key": sealed, "key_id": box.key_id if sealed else None}
    checks: dict[str, Callable[[Any], Any]] = {
        "name": lambda value: clean_name(value, what="credential name"),
        "model": lambda value: clean_name(value, what="model name"),
        "base_url": check_url,
        "options": lambda value: check_json(value, what="options", most=MAX_OPTIONS),
    }
    values = {key: checks[key](value) if key in checks else value for key, value in values.items()}
    await rows.update_credential(conn, credential_id, values, now)
    return await require_credential(conn, who, credential_id, change=True)


async def list_credentials(conn: AsyncConnection, who: Principal) -> list[Credential]:
    """The caller's credentials and those of the instance."""
    require_scope(who, Scope.READ)
    return await rows.list_credentials(conn, who.user.id)


async def find_credential(conn: AsyncConnection, who: Principal, name_or_id: str) -> Credential:
    """The caller's credential of that name or id."""
    found = [c for c in await list_credentials(conn, who) if name_or_id in (c.id, c.name)]
    if not found:
        raise NotFound(
            f"There is no credential {name_or_id!r}.", remedy="List yours with: kosmos credentials list"
        )
    if len(found) > 1:
        ids = ", ".join(credential.id for credential in found)
        raise InvalidInput(f"Several credentials are called {name_or_id!r}.", remedy=f"Give the id: {ids}")
    return found[0]


async def remove_credential(conn: AsyncConnection, who: Principal, credential_id: str) -> None:
    """Remove a credential and its links."""
    await require_credential(conn, who, credential_id, change=True)
    await rows.delete_credential(conn, credential_id)


async def link_credential(
    conn: AsyncConnection,
    who: Principal,
    space_id: str,
    credential_id: str,
    *,
    priority: int,
    weight: float,
    now: datetime,
) -> CredentialLink:
    """Let a space use a credential. The caller must own the space, and may use the credential."""
    await require_space(conn, who, space_id, need=Role.OWNER)
    credential = await require_credential(conn, who, credential_id, change=False)
    if credential.owner_id is not None and credential.owner_id != who.user.id:
        raise NotFound(f"There is no credential {credential_id}.", remedy="Add one of your own.")
    if not 0 < weight <= 1_000_000 or abs(priority) > MAX_PRIORITY:
        raise InvalidInput(
            "The weight must be above 0 and at most 1,000,000; the priority within ±1,000,000.",
            remedy="Use 1 unless several credentials share the work.",
        )
    await lock_space(conn, space_id)
    await rows.put_link(conn, space_id, credential_id, priority=priority, weight=weight, now=now)
    return CredentialLink(space_id=space_id, credential=credential, priority=priority, weight=weight)


async def unlink_credential(conn: AsyncConnection, who: Principal, space_id: str, credential_id: str) -> None:
    """Take a credential away from a space."""
    await require_space(conn, who, space_id, need=Role.OWNER)
    if not storable(credential_id) or not await rows.delete_link(conn, space_id, credential_id):
        raise NotFound("That credential is not linked to this space.", remedy="List the links first.")


async def list_links(conn: AsyncConnection, who: Principal, space_id: str) -> list[CredentialLink]:
    """The credentials that a space uses."""
    await require_space(conn, who, space_id)
    return await rows.list_links(conn, space_id)


async def candidates(
    conn: AsyncConnection, who: Principal, kind: CredentialType, *, space_id: str | None, rng: random.Random
) -> list[Credential]:
    """The credentials to try, in order: those of the space, the user's defaults, the instance's defaults."""
    found: list[Credential] = []
    if space_id is not None:
        links = await list_links(conn, who, space_id)
        found += order_links((link for link in links if link.credential.type is kind), rng)
    found += await rows.default_credentials(conn, who.user.id, kind)
    found += await rows.default_credentials(conn, None, kind)
    return list({credential.id: credential for credential in found}.values())


async def reveal_key(conn: AsyncConnection, credential: Credential, box: SecretBox) -> str | None:
    """The provider key in clear, for the call that needs it and nothing else."""
    sealed = await rows.get_encrypted_key(conn, credential.id)
    return box.open(sealed) if sealed is not None else None


def check_url(url: str) -> str:
    """The base URL without a final slash, or InvalidInput."""
    remedy = "Give the address of an OpenAI-compatible endpoint, e.g. http://127.0.0.1:11434/v1"
    try:
        parts = urlsplit(url.strip())
        well_formed = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        httpx2.URL(url.strip())  # what the client cannot read, nobody can call
    except (ValueError, httpx2.InvalidURL):
        raise InvalidInput("The base URL cannot be read.", remedy=remedy) from None
    if not well_formed or len(url) > 2000 or any(ord(char) <= 32 for char in url.strip()):
        raise InvalidInput("The base URL must be an http or https address.", remedy=remedy)
    if parts.username is not None or "?" in url or "#" in url:
        raise InvalidInput(
            "The base URL may hold no user, query or fragment.", remedy="Give the key apart from the address."
        )
    return url.strip().rstrip("/")


async def _seal(conn: AsyncConnection, key: str | None, box: SecretBox) -> bytes | None:
    if not key:
        return None
    if len(key) > MAX_KEY or not key.isprintable() or not key.isascii() or key != key.strip():
        raise InvalidInput(
            f"A key is at most {MAX_KEY} printable ASCII characters without blanks around them.",
            remedy="Check what you pasted.",
        )
    if count := await rows.foreign_keys_in_use(conn, box.key_id):
        raise ConfigError(
            f"{count} stored keys were encrypted with another encryption key than the present one.",
            remedy="Restore the former secret.key (or KOSMOS_SECRET_KEY), or remove those credentials.",
        )
    return box.seal(key)
