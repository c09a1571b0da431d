"""The key of a provider goes in and never comes out: not in an answer, a log line or a stored byte."""

import asyncio
import base64
import logging
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from acceptance.http.operations import operations
from acceptance.http.world import Person, World, furnish
from kosmos.doubles.model_server import ModelServer, Reply, fingerprint

KEY = "sk-Zx81-verysecretkey-Kj02"
FORM = {"name": "keyed", "type": "LLM", "model": "scripted", "key": KEY}
TRACES = (KEY, KEY[4:20], base64.b64encode(KEY.encode()).decode()[:24], KEY.encode().hex())


def _traces_in(text: str) -> list[str]:
    return [trace for trace in TRACES if trace in text]


@pytest.fixture
def keyed(world: World) -> Person:
    """Somebody who stores a key; there is one of them for each test."""
    count = len(world.admin.ok("GET", "/api/v1/users")["items"])
    return world.join(f"Keyed {count}")


async def _stored(world: World, keyed: Person, script: list[Reply]) -> tuple[list[str], list[str]]:
    """Every answer, and what the provider saw, after a key was stored, changed, used and refused."""
    async with ModelServer(script) as provider:
        answers = await asyncio.to_thread(_use, world, keyed, provider.base_url)
        return answers, [request.headers.get("authorization", "") for request in provider.requests]


def _use(world: World, keyed: Person, base_url: str) -> list[str]:
    ids = furnish(world.served, keyed, "Keyedthing")
    answers = [keyed.call("POST", "/api/v1/credentials", {**FORM, "base_url": base_url})]
    ids["credential_id"] = answers[0].json()["id"]
    path = f"/api/v1/credentials/{ids['credential_id']}"
    answers.append(
        keyed.call("PUT", f"/api/v1/spaces/{ids['space_id']}/credentials/{ids['credential_id']}", {})
    )
    answers += [keyed.call("POST", f"{path}/test") for _ in range(6)]
    answers.append(keyed.call("PATCH", path, {"key": KEY, "model": "other"}))
    for operation in operations(world.served.api):
        if operation.method == "GET":
            answers.append(keyed.call("GET", operation.fill(ids)))
    return [f"{answer.status_code} {answer.text} {answer.headers}" for answer in answers]


async def test_neither_answers_nor_log_lines_hold_a_key(
    world: World, keyed: Person, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    echo = f"Incorrect API key provided: {KEY}"
    script = [
        Reply(content="fine"),
        Reply(status=401, content=echo),
        Reply(status=400, content=echo),
        Reply(status=500, content=echo),
        Reply(status=429, content=echo, retry_after=1),
        Reply(malformed=f"<html>{KEY}"),
    ]
    answers, seen = await _stored(world, keyed, script)
    assert seen == [fingerprint(f"Bearer {KEY}")] * 6  # it did reach the provider
    assert [answer[:3] for answer in answers[2:8]] == ["200", "502", "502", "502", "502", "502"]
    assert [answer for answer in answers if _traces_in(answer)] == []
    lines = [logging.Formatter().format(record) for record in caplog.records]
    lines += [str(vars(record)) for record in caplog.records]
    assert len(lines) > 10
    assert [line[:300] for line in lines if _traces_in(line)] == []


@pytest.mark.parametrize(
    "key",
    [KEY + "é", [KEY], {KEY: KEY}, 10**10, KEY * 500, KEY + "\x00", KEY + "\ud800", f"{KEY}\n{KEY}"],
)
def test_a_refused_key_is_not_repeated(
    world: World, keyed: Person, key: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    form = {**FORM, "base_url": "http://127.0.0.1:9/v1", "key": key}
    for body in (form, {**form, "nonsense": KEY}, {**form, KEY[:3]: 1}):
        answer = keyed.call("POST", "/api/v1/credentials", body)
        assert answer.status_code == 422
        assert _traces_in(answer.text) == []
    assert _traces_in(caplog.text) == []
    assert keyed.ok("GET", "/api/v1/credentials")["items"] == []


async def test_no_stored_byte_holds_a_key(world: World, keyed: Person, home: Path) -> None:
    await _stored(world, keyed, [])
    folders = [home]
    if "postgresql" in world.served.settings.database:
        folders.append(_data_folder(world.served.settings.database))
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    assert any(path.suffix == ".db" or "base" in path.parts for path in files)
    for path in files:
        data = path.read_bytes()
        assert [trace for trace in TRACES if trace.encode() in data] == [], path


def _data_folder(url: str) -> Path:
    """Where PostgreSQL keeps its files, with everything written down."""
    engine = sa.create_engine(
        sa.make_url(url).set(drivername="postgresql+psycopg"), poolclass=sa.pool.NullPool
    )
    with engine.connect() as conn:
        conn.execute(sa.text("CHECKPOINT"))
        found = Path(str(conn.scalar(sa.text("SHOW data_directory"))))
    engine.dispose()
    return found
