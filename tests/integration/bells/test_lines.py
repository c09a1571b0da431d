"""The bell over a real PostgreSQL and a real Redis."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
import sqlalchemy as sa

from kosmos.bells import Bell, open_bell
from kosmos.db import Database

LONG = 60.0
Mortal = tuple[str, Callable[[], None], Callable[[], None]]
CUT = sa.text(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE application_name = 'kosmos bell' AND datname = current_database()"
)


@pytest.fixture(params=["postgres", "redis"])
def engines(request: pytest.FixtureRequest) -> tuple[str, str | None]:
    """The addresses that a bell is made from."""
    if request.param == "redis":
        return "sqlite:///nowhere.db", request.getfixturevalue("mortal_redis")[0]
    return request.getfixturevalue("postgres_url"), None


@asynccontextmanager
async def two_bells(engines: tuple[str, str | None]) -> AsyncIterator[tuple[Bell, Bell]]:
    """The bells of two processes, both of which work."""
    one, two = open_bell(*engines), open_bell(*engines)
    try:
        with one.listen("-"), two.listen("-"):
            await until(lambda: one.carries and two.carries)
            yield one, two
    finally:
        await one.close()
        await two.close()


async def until(true: Callable[[], object]) -> None:
    async with asyncio.timeout(20):
        while not true():  # noqa: ASYNC110  (what happens elsewhere sets no event)
            await asyncio.sleep(0.01)


async def test_every_topic_reaches_the_other(engines: tuple[str, str | None]) -> None:
    async with two_bells(engines) as (one, two):
        names = [f"run:{number:036}" for number in range(500)]  # more than one payload holds
        names += ["hall:o'brien;\"--:1", "run:$1%s\\", "空间:一"]
        events = [asyncio.Event() for _ in names]
        with two.listen(names[0], events[0]):
            one.ring(names[0])
            await until(events[0].is_set)
        listens = [two.listen(name, event) for name, event in zip(names, events, strict=True)]
        for listen in listens:
            listen.__enter__()
        one.ring(*names)
        await until(lambda: all(event.is_set() for event in events))
        for listen in listens:
            listen.__exit__(None, None, None)


async def test_what_was_rung_last_is_sent_before_the_end(engines: tuple[str, str | None]) -> None:
    async with two_bells(engines) as (_, two):
        with two.listen("due") as ear:
            brief = open_bell(*engines)
            brief.ring("due")
            await brief.close()
            async with asyncio.timeout(20):
                await ear.rest(LONG)


async def test_a_connection_that_is_cut_is_made_anew(postgres_url: str) -> None:
    db = Database(postgres_url)
    async with two_bells((postgres_url, None)) as (one, two):
        with two.listen("a") as ear:
            await ear.rest(0.0)
            async with db.read() as conn:
                assert len((await conn.execute(CUT)).all()) == 2
            await until(lambda: not one.carries and not two.carries)
            await until(lambda: one.carries and two.carries)
            await ear.rest(0.0)
            one.ring("a")
            async with asyncio.timeout(20):
                await ear.rest(LONG)
    await db.close()


async def test_a_redis_that_dies_is_waited_for(mortal_redis: Mortal) -> None:
    url, kill, start = mortal_redis
    async with two_bells(("sqlite:///nowhere.db", url)) as (one, two):
        kill()
        await until(lambda: not one.carries and not two.carries)
        start()
        await until(lambda: one.carries and two.carries)
        with two.listen("a") as ear:
            one.ring("a")
            async with asyncio.timeout(20):
                await ear.rest(LONG)
