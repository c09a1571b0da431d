"""Runs while the database comes and goes: what a client sees is what is stored, once."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.db import Database
from kosmos.db import runs as table
from kosmos.domain.events import EventType
from kosmos.domain.sessions import MessageRole
from kosmos.doubles.model_server import ModelServer, Reply
from kosmos.errors import EngineUnavailable
from kosmos.tasks import run_closing, run_hall

from .scene import Scene
from .talks import PUMP, Talk, final, talk_with, use_model

SCRIPT = [Reply(content="Every forty days [1]. " * 4, repeat=True)]
Opening = Callable[[Database], AbstractAsyncContextManager[AsyncConnection]]


def failing(real: Opening, *, commits: bool, times: int) -> Any:
    """The same transaction, whose success is not told, or that never happens, so many times."""
    left = times

    @asynccontextmanager
    async def open_it(self: Database) -> AsyncIterator[AsyncConnection]:
        nonlocal left
        if left <= 0:
            async with real(self) as conn:
                yield conn
            return
        left -= 1
        async with real(self) as conn:
            yield conn
            if not commits:
                raise EngineUnavailable("the server is away")
        raise EngineUnavailable("the connection broke after the commit")

    return open_it


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    for place in (run_hall, run_closing):
        monkeypatch.setattr(place, "pause_before", lambda _attempt: 0.001)


async def check_whole(talk: Talk) -> None:
    """One answer, numbers without a hole, the same in the table, one message of each side."""
    numbers = [event.sequence for event in talk.seen]
    assert numbers == list(range(1, len(numbers) + 1))
    assert final(talk.seen)["answer"].startswith("Every forty days")
    assert talk.seen[-1].type is EventType.RUN_END
    async with talk.scene.bench.db.read() as conn:
        stored = await table.events_after(conn, talk.seen[0].run_id, 0)
    assert [(event.sequence, event.type) for event in stored] == [
        (event.sequence, event.type) for event in talk.seen
    ]
    roles = [message.role for message in await talk.messages()]
    assert (roles.count(MessageRole.USER), roles[-1]) == (1, MessageRole.ASSISTANT)


@pytest.mark.parametrize("commits", [True, False])
async def test_events_are_stored_once_when_the_database_breaks(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, commits: bool
) -> None:
    await scene.add(PUMP, "pump.md")
    async with ModelServer(SCRIPT) as server:
        await use_model(scene, server)
        talk = await talk_with(scene, chat_options={"title": False})
        monkeypatch.setattr(Database, "brief", failing(Database.brief, commits=commits, times=3))
        await talk.ask("How often is the blue pump oiled?")
        await check_whole(talk)


@pytest.mark.parametrize("commits", [True, False])
async def test_a_run_ends_once_when_the_database_breaks_at_its_end(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, commits: bool
) -> None:
    await scene.add(PUMP, "pump.md")
    real, tried = run_closing._store_end, 0

    async def end(*given: Any) -> bool:
        nonlocal tried
        tried += 1
        if tried > 1:
            return await real(*given)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Database, "write", failing(Database.write, commits=commits, times=1))
            return await real(*given)

    async with ModelServer(SCRIPT) as server:
        await use_model(scene, server)
        talk = await talk_with(scene, chat_options={"title": False})
        monkeypatch.setattr(run_closing, "_store_end", end)
        await talk.ask("How often is the blue pump oiled?")
        await check_whole(talk)
        assert tried == 2
