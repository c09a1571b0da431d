"""What is configured, what is reachable, which extras are active, and what to do about each problem."""

import asyncio
import importlib.util
import os
import platform
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from enum import StrEnum

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos import __version__
from kosmos.accounts.tokens import authenticate
from kosmos.app import make_home, quarters_of, read_token
from kosmos.blobs.contract import Blobs
from kosmos.blobs.opening import open_blobs
from kosmos.config import Settings
from kosmos.db import Database, tables
from kosmos.db.credentials import foreign_keys_in_use
from kosmos.db.engine import parse_url
from kosmos.db.migrate import HEAD, current_revision, known_revisions
from kosmos.db.users import has_users
from kosmos.domain.clock import system_clock
from kosmos.domain.credentials import CredentialType
from kosmos.encoders.catalog import BUILTIN, NONE
from kosmos.encoders.contract import Encoder
from kosmos.encoders.opening import open_builtin, open_encoder
from kosmos.errors import ConfigError, KosmosError
from kosmos.llm.secrets import open_box, passing_box
from kosmos.store.opening import open_store, shown_location

EXTRAS = {
    "postgres": (("psycopg",), "PostgreSQL for the tables, and with pgvector for the index"),
    "redis": (("redis", "dramatiq"), "workers woken over Redis by Dramatiq"),
    "milvus": (("pymilvus",), "Milvus for the index"),
    "rescue": (("pdf_oxide",), "truncated PDF files"),
    "ocr": (("rapidocr",), "text in scanned pages and images"),
    "models": (("tokenizers",), "encoders from local model folders"),
    "otel": (("opentelemetry.sdk", "opentelemetry.exporter.otlp"), "traces for a collector"),
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
    for name, check in (
        ("database", _database),
        ("blobs", _blobs),
        ("index", _index),
        ("encryption key", _key),
    ):
        checks += await _guarded(name, check, settings)
    checks += await _guarded("token", _token, settings)
    checks += await _guarded("models", _models, settings)
    checks += await _guarded("encoder", _encoder, settings)
    checks += [_server(settings), *(_extra(name) for name in EXTRAS)]
    return checks


def inspect(settings: Settings) -> list[Check]:
    """What can be said of a configuration without reaching for anything: for images and manifests."""
    checks = [_python(), _location("database", lambda: parse_url(settings.database))]
    checks += [
        _location("blobs", lambda: _open_blobs(settings)),
        _location("index", lambda: open_store(settings.index)),
    ]
    checks += [_key_form(settings), _server(settings), *(_extra(name) for name in EXTRAS)]
    needed = {"postgres": not settings.embedded, "redis": settings.redis_url is not None}
    needed["milvus"] = settings.index.startswith(("milvus:", "http:", "https:"))
    needed["otel"] = settings.otel_endpoint is not None
    return [_required(check) if needed.get(check.name.removeprefix("extra ")) else check for check in checks]


def _location(name: str, parse: Callable[[], object]) -> Check:
    try:
        parse()
    except KosmosError as error:
        return Check(name, State.PROBLEM, error.message, error.remedy)
    return Check(name, State.OK, "understood; not reached for")


def _key_form(settings: Settings) -> Check:
    if settings.secret_key is None:
        detail = f"{settings.key_file}, made at the first start"
        if settings.embedded:
            return Check("encryption key", State.OK, detail)
        remedy = "Set KOSMOS_SECRET_KEY: several processes that share a database share a key."
        return Check("encryption key", State.PROBLEM, detail, remedy)
    try:
        open_box(settings.secret_key.get_secret_value(), settings.key_file)
    except KosmosError as error:
        return Check("encryption key", State.PROBLEM, error.message, error.remedy)
    return Check("encryption key", State.OK, "KOSMOS_SECRET_KEY")


def _required(check: Check) -> Check:
    """What is configured is needed, were it a note otherwise."""
    return replace(check, state=State.PROBLEM) if check.state is State.NOTE else check


async def _guarded(
    name: str, check: Callable[[Settings], Awaitable[list[Check]]], settings: Settings
) -> list[Check]:
    try:
        return await check(settings)
    except KosmosError as error:
        return [Check(name, State.PROBLEM, error.message, error.remedy)]
    except OSError as error:
        return [Check(name, State.PROBLEM, str(error), "Check the path and its permissions.")]


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
    shown = sa.make_url(settings.database).render_as_string(hide_password=True)
    async with _open(settings) as (revision, _):
        pass
    if revision == HEAD:
        return [Check("database", State.OK, f"{shown}, revision {revision}")]
    if revision is None and settings.embedded:
        return [Check("database", State.OK, f"{shown}, made at the first start")]
    if revision is not None and revision not in known_revisions():
        detail = f"{shown} is of revision {revision}, newer than this Kosmos knows"
        return [Check("database", State.PROBLEM, detail, "Install a newer Kosmos.")]
    detail = f"{shown} is of revision {revision or 'none'}; {HEAD} is needed"
    return [Check("database", State.PROBLEM, detail, "Make a backup, then run: kosmos db upgrade")]


@asynccontextmanager
async def _open(settings: Settings) -> AsyncIterator[tuple[str | None, AsyncConnection | None]]:
    """The revision of the database, and a connection if that is the one this version works with."""
    db = Database(settings.database)
    try:
        revision = await current_revision(db)
        if revision != HEAD:
            yield revision, None
            return
        async with db.read() as conn:
            yield revision, conn
    finally:
        await db.close()


def _open_blobs(settings: Settings) -> Blobs:
    secret = settings.s3_secret_key.get_secret_value() if settings.s3_secret_key else None
    return open_blobs(settings.blobs, access_key=settings.s3_access_key, secret_key=secret)


async def _blobs(settings: Settings) -> list[Check]:
    blobs = _open_blobs(settings)
    try:
        await blobs.check()
    finally:
        await blobs.close()
    return [Check("blobs", State.OK, settings.blobs.split("?", maxsplit=1)[0])]


async def _index(settings: Settings) -> list[Check]:
    store = open_store(settings.index)
    try:
        count = len(await store.collections())
    finally:
        await store.close()
    return [Check("index", State.OK, f"{shown_location(settings.index)}, {count} collections")]


async def _key(settings: Settings) -> list[Check]:
    name, given = "encryption key", settings.secret_key
    where = "KOSMOS_SECRET_KEY" if given else str(settings.key_file)
    missing = given is None and not settings.key_file.exists()
    key_id = ""
    if not missing:
        text = given.get_secret_value() if given else None
        key_id = (await asyncio.to_thread(open_box, text, settings.key_file)).key_id
    async with _open(settings) as (_, conn):
        foreign = await foreign_keys_in_use(conn, key_id) if conn else 0
    if foreign:
        detail = f"{foreign} stored keys were encrypted with another key than the one in {where}"
        if missing:
            detail = f"{where} is gone, and {foreign} stored keys were encrypted with it"
        remedy = "Restore the former key, or remove those credentials and add them again."
        return [Check(name, State.PROBLEM, detail, remedy)]
    return [Check(name, State.OK, f"{where}, made at the first start" if missing else where)]


async def _token(settings: Settings) -> list[Check]:
    given = settings.token
    where = "KOSMOS_TOKEN" if given else str(settings.token_file)
    async with _open(settings) as (_, conn):
        if given is None and not settings.token_file.exists():
            if conn is None or not await has_users(conn):
                return [Check("token", State.OK, f"{where}, made at the first start")]
            remedy = "Set KOSMOS_TOKEN, or put a token of yours into that file."
            return [Check("token", State.PROBLEM, f"{where} is gone", remedy)]
        if conn is None:
            return [Check("token", State.NOTE, f"{where}; the database is not ready to check it")]
        text = given.get_secret_value() if given else read_token(settings)
        who = await authenticate(conn, text, system_clock())
    return [Check("token", State.OK, f"{where}: user {who.user.name!r}, scope {who.scope}")]


async def _models(settings: Settings) -> list[Check]:
    """Kosmos works without any model."""
    query = sa.select(tables.credential.c.type, sa.func.count()).group_by(tables.credential.c.type)
    async with _open(settings) as (_, conn):
        counts = {row[0]: row[1] for row in await conn.execute(query)} if conn else {}
    found = [f"{kind} × {counts[kind]}" for kind in CredentialType if counts.get(kind)]
    if found:
        return [Check("models", State.OK, ", ".join(found))]
    remedy = "Add one: kosmos credentials add NAME --type LLM --base-url URL --model MODEL"
    return [Check("models", State.NOTE, "no credential; search and exact quotes need none", remedy)]


async def _encoder(settings: Settings) -> list[Check]:
    """Without an encoder search goes by words alone."""
    if settings.encoder == NONE:
        return [Check("encoder", State.NOTE, "none: search by words alone", "Set KOSMOS_ENCODER=builtin.")]
    try:
        builtin = settings.encoder == BUILTIN
        encoder = open_builtin(quarters_of(settings)) if builtin else await _named_encoder(settings)
    except ConfigError as error:
        return [Check("encoder", State.NOTE, f"search by words alone: {error.message}", error.remedy)]
    if encoder is None:
        return [Check("encoder", State.NOTE, f"{settings.encoder}; the database is not ready to check it")]
    await encoder.close()
    return [Check("encoder", State.OK, f"{settings.encoder}: {encoder.name}")]


async def _named_encoder(settings: Settings) -> Encoder | None:
    """A folder or a credential; looking makes no key file."""
    key = settings.secret_key.get_secret_value() if settings.secret_key else None
    known = key is not None or settings.key_file.exists()
    box = await asyncio.to_thread(open_box, key, settings.key_file) if known else passing_box()
    db = Database(settings.database)
    try:
        if await current_revision(db) != HEAD:
            return None
        return await open_encoder(settings.encoder, quarters_of(settings), db=db, box=box)
    finally:
        await db.close()


def _server(settings: Settings) -> Check:
    local = settings.host in ("127.0.0.1", "::1", "localhost")
    detail = f"http://{settings.host}:{settings.port}"
    if local:
        return Check("server", State.OK, detail)
    remedy = "Put a proxy with TLS before it, or set KOSMOS_HOST=127.0.0.1."
    return Check("server", State.NOTE, f"{detail}: open to the network, without TLS", remedy)


def _extra(name: str) -> Check:
    modules, purpose = EXTRAS[name]
    missing = [module for module in modules if not _found(module)]
    if not missing:
        return Check(f"extra {name}", State.OK, purpose)
    remedy = f"{os.path.basename(sys.executable)} -m pip install 'kosmos[{name}]'"  # noqa: PTH119
    return Check(f"extra {name}", State.NOTE, f"not installed: {purpose}", f"Add it: {remedy}")


def _found(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # not even the package around it
        return False
