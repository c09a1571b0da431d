"""What is configured, what is reachable, which extras are active, and what to do about each problem."""

import asyncio
import importlib.util
import os
import platform
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum

import sqlalchemy as sa

from kosmos import __version__
from kosmos.accounts.tokens import authenticate
from kosmos.app import make_home, read_token
from kosmos.blobs.opening import open_blobs
from kosmos.config import Settings
from kosmos.db import Database, tables
from kosmos.db.credentials import foreign_keys_in_use
from kosmos.db.migrate import HEAD, current_revision, known_revisions
from kosmos.domain.clock import system_clock
from kosmos.domain.credentials import CredentialType
from kosmos.errors import KosmosError
from kosmos.llm.secrets import open_box

EXTRAS = {
    "postgres": (("psycopg",), "PostgreSQL for the tables"),
    "redis": (("redis", "dramatiq"), "Redis and Dramatiq workers"),
    "milvus": (("pymilvus",), "Milvus for the index"),
    "ocr": (("rapidocr", "onnxruntime"), "text in scanned pages and images"),
    "office": (("mammoth", "openpyxl", "pptx"), "Word, Excel and PowerPoint files"),
}


class State(StrEnum):
    """How a check ended."""

    OK = "ok"
    NOTE = "note"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the doctor's report."""

    name: str
    state: State
    detail: str
    remedy: str | None = None


async def examine(settings: Settings) -> list[Check]:
    """All checks; one that fails does not keep the others from running."""
    checks = [_python(), *await _guarded("home", _home, settings)]
    for name, check in (("database", _database), ("blobs", _blobs), ("encryption key", _key)):
        checks += await _guarded(name, check, settings)
    checks += await _guarded("token", _token, settings)
    checks += await _guarded("models", _models, settings)
    checks += [_server(settings), *(_extra(name) for name in EXTRAS)]
    return checks


async def _guarded(
    name: str, check: Callable[[Settings], Awaitable[list[Check]]], settings: Settings
) -> list[Check]:
    try:
        return await check(settings)
    except KosmosError as error:
        return [Check(name, State.PROBLEM, error.message, error.remedy)]


def _python() -> Check:
    detail = f"Kosmos {__version__} on Python {platform.python_version()}, {platform.system()}"
    return Check("version", State.OK, f"{detail}, {os.cpu_count()} cores")


async def _home(settings: Settings) -> list[Check]:
    await asyncio.to_thread(make_home, settings)
    loose = settings.home.stat().st_mode & 0o077
    if loose:
        remedy = f"Close it: chmod 700 {settings.home}"
        return [Check("home", State.NOTE, f"{settings.home} is open to other users", remedy)]
    return [Check("home", State.OK, str(settings.home))]


async def _database(settings: Settings) -> list[Check]:
    db = Database(settings.database)
    shown = db.url.render_as_string(hide_password=True)
    try:
        revision = await current_revision(db)
    finally:
        await db.close()
    if revision == HEAD:
        return [Check("database", State.OK, f"{shown}, revision {revision}")]
    if revision is None and settings.embedded:
        return [Check("database", State.OK, f"{shown}, made at the first start")]
    if revision is not None and revision not in known_revisions():
        detail = f"{shown} is of revision {revision}, newer than this Kosmos knows"
        return [Check("database", State.PROBLEM, detail, "Install a newer Kosmos.")]
    detail = f"{shown} is of revision {revision or 'none'}; {HEAD} is needed"
    return [Check("database", State.PROBLEM, detail, "Make a backup, then run: kosmos db upgrade")]


async def _blobs(settings: Settings) -> list[Check]:
    secret = settings.s3_secret_key.get_secret_value() if settings.s3_secret_key else None
    blobs = open_blobs(settings.blobs, access_key=settings.s3_access_key, secret_key=secret)
    try:
        await blobs.check()
    finally:
        await blobs.close()
    return [Check("blobs", State.OK, settings.blobs.split("?", maxsplit=1)[0])]


async def _key(settings: Settings) -> list[Check]:
    if settings.secret_key is None and not settings.key_file.exists():
        return [Check("encryption key", State.OK, f"{settings.key_file}, made at the first start")]
    key = settings.secret_key.get_secret_value() if settings.secret_key else None
    box = await asyncio.to_thread(open_box, key, settings.key_file)
    where = "KOSMOS_SECRET_KEY" if key else str(settings.key_file)
    db = Database(settings.database)
    try:
        if await current_revision(db) == HEAD:
            async with db.read() as conn:
                if foreign := await foreign_keys_in_use(conn, box.key_id):
                    remedy = "Restore the former key, or remove those credentials and add them again."
                    detail = f"{foreign} stored keys were encrypted with another key than the one in {where}"
                    return [Check("encryption key", State.PROBLEM, detail, remedy)]
    finally:
        await db.close()
    return [Check("encryption key", State.OK, where)]


async def _token(settings: Settings) -> list[Check]:
    where = "KOSMOS_TOKEN" if settings.token else str(settings.token_file)
    if settings.token is None and not settings.token_file.exists():
        state = State.OK if settings.embedded else State.NOTE
        return [Check("token", state, f"{where}, made at the first start")]
    text = settings.token.get_secret_value() if settings.token else read_token(settings)
    db = Database(settings.database)
    try:
        if await current_revision(db) != HEAD:
            return [Check("token", State.NOTE, f"{where}; the database is not ready to check it")]
        async with db.read() as conn:
            who = await authenticate(conn, text, system_clock())
    finally:
        await db.close()
    return [Check("token", State.OK, f"{where}: user {who.user.name!r}, scope {who.scope}")]


async def _models(settings: Settings) -> list[Check]:
    """Kosmos works without any model; what a credential of each type would add is said."""
    db = Database(settings.database)
    counts: dict[str, int] = {}
    try:
        if await current_revision(db) == HEAD:
            query = sa.select(tables.credential.c.type, sa.func.count()).group_by(tables.credential.c.type)
            async with db.read() as conn:
                counts = {row[0]: row[1] for row in await conn.execute(query)}
    finally:
        await db.close()
    found = [f"{kind} × {counts[kind]}" for kind in CredentialType if counts.get(kind)]
    if found:
        return [Check("models", State.OK, ", ".join(found))]
    remedy = "kosmos credentials add NAME --type LLM --base-url URL --model MODEL"
    return [
        Check("models", State.NOTE, "no credential: answers are exact quotes", f"For written ones: {remedy}")
    ]


def _server(settings: Settings) -> Check:
    local = settings.host in ("127.0.0.1", "::1", "localhost")
    detail = f"http://{settings.host}:{settings.port}"
    if local:
        return Check("server", State.OK, detail)
    remedy = "Put a proxy with TLS before it, or set KOSMOS_HOST=127.0.0.1."
    return Check("server", State.NOTE, f"{detail}: open to the network, without TLS", remedy)


def _extra(name: str) -> Check:
    modules, purpose = EXTRAS[name]
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    if not missing:
        return Check(f"extra {name}", State.OK, purpose)
    remedy = f"{os.path.basename(sys.executable)} -m pip install 'kosmos[{name}]'"  # noqa: PTH119
    return Check(f"extra {name}", State.NOTE, f"not installed: {purpose}", f"Add it: {remedy}")
