"""Spaces share the workers: one with very many jobs does not make the others wait."""

from collections import Counter

import pytest

from kosmos.db import Database, spaces, users
from kosmos.domain.accounts import User
from kosmos.domain.clock import Clock
from kosmos.domain.ids import new_id
from kosmos.domain.jobs import NewJob
from kosmos.domain.spaces import Space
from kosmos.jobs.claiming import Claimer
from kosmos.jobs.turns import LOOK_AGAIN

from .stage import Stage

CROWD = 300


async def _space(db: Database, clock: Clock, name: str) -> str:
    """A space of a new user."""
    now = clock()
    owner = User(new_id(), f"user of {name}", False, now)
    space = Space(new_id(), owner.id, name, "", {}, {}, now, now)
    async with db.write() as conn:
        await users.insert_user(conn, owner)
        await spaces.insert_space(conn, space)
    return space.id


@pytest.fixture
async def crowd(stage: Stage) -> str:
    """A space with many jobs that have waited for long."""
    space = await _space(stage.db, stage.clock, "crowd")
    await stage.make(*[NewJob("work", space_id=space)] * CROWD)
    stage.clock.advance(60)
    return space


async def _taken(claimer: Claimer, stage: Stage, rounds: int) -> list[str | None]:
    found = []
    for _ in range(rounds):
        found += [job.space_id for job in await claimer.claim(4)]
        stage.clock.advance(LOOK_AGAIN.total_seconds())
    return found


async def test_a_small_space_is_served_beside_a_crowd(stage: Stage, crowd: str) -> None:
    small = await _space(stage.db, stage.clock, "small")
    await stage.make(*[NewJob("work", space_id=small)] * 3)
    taken = await _taken(stage.claimer(), stage, 3)
    assert len(taken) == 12
    assert Counter(taken)[small] == 3  # after one page, which told that there is a crowd
    assert set(taken[:4]) == {crowd}


async def test_what_comes_later_is_seen_at_the_next_look(stage: Stage, crowd: str) -> None:
    claimer = stage.claimer()
    await _taken(claimer, stage, 3)
    small = await _space(stage.db, stage.clock, "late")
    await stage.make(*[NewJob("work", space_id=small)] * 2)
    assert Counter(await _taken(claimer, stage, 2))[small] == 2


async def test_jobs_without_a_space_take_turns_too(stage: Stage, crowd: str) -> None:
    await stage.make(NewJob("work"))
    assert None in await _taken(stage.claimer(), stage, 3)


async def test_urgent_jobs_still_come_first(stage: Stage, crowd: str) -> None:
    small = await _space(stage.db, stage.clock, "patient")
    await stage.make(*[NewJob("work", space_id=crowd, priority=3)] * 8)
    await stage.make(NewJob("work", space_id=small))
    claimer = stage.claimer()
    first = await _taken(claimer, stage, 2)
    assert first == [crowd] * 8
    assert small in await _taken(claimer, stage, 2)


async def test_everything_is_taken_once_by_several_claimers(stage: Stage, crowd: str) -> None:
    small = await _space(stage.db, stage.clock, "other")
    await stage.make(*[NewJob("work", space_id=small)] * 40)
    claimers = [stage.claimer(name) for name in ("ann", "bob", "cid")]
    seen: Counter[str] = Counter()
    for _ in range(200):
        taken = [job for claimer in claimers for job in await claimer.claim(4)]
        seen.update(job.id for job in taken)
        stage.clock.advance(0.01)
        if not taken:
            break
    assert len(seen) == CROWD + 40
    assert set(seen.values()) == {1}


async def test_several_crowds_hide_nobody(stage: Stage, crowd: str) -> None:
    for name in ("second crowd", "third crowd"):
        space = await _space(stage.db, stage.clock, name)
        await stage.make(*[NewJob("work", space_id=space)] * 100)
        stage.clock.advance(1)
    small = await _space(stage.db, stage.clock, "behind them all")
    await stage.make(NewJob("work", space_id=small))
    assert small in await _taken(stage.claimer(), stage, 3)
