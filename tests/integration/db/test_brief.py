"""Brief transactions: the same results as any other, without holding up the event loop."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.db import Database
from kosmos.db import jobs as table
from kosmos.db import sqlite as driver
from kosmos.db.brief import hot
from kosmos.db.migrate import ensure_current
from kosmos.db.tables import job as jobs
from kosmos.domain.clock import system_clock
from kosmos.domain.ids import new_id
from kosmos.domain.jobs import Job, JobStatus, NewJob, OnFailure
from kosmos.errors import Conflict, EngineUnavailable
from kosmos.jobs.creation import create_jobs
from kosmos.jobs.registry import JobType, Registry
from kosmos.jobs.run import Run


async def _nothing(run: Run) -> None:
    return


REGISTRY = Registry(JobType("x", _nothing))


async def make(conn: AsyncConnection, **more: object) -> Job:
    """A job."""
    (made,) = await create_jobs(conn, REGISTRY, [NewJob("x", **more)], system_clock())  # type: ignore[arg-type]
    return made


async def count(db: Database) -> int:
    """How many jobs there are."""
    async with db.read() as conn:
        return int(await conn.scalar(sa.select(sa.func.count()).select_from(jobs)) or 0)


async def test_what_is_made_briefly_reads_the_same_in_every_way(db: Database) -> None:
    context = {"文": ["a", 1, None, {"b": 2.5}], "quote": "'\"\\"}
    async with db.brief() as conn:
        made = await make(conn, context=context, priority=7, lane="l", lane_limit=2, deadline_seconds=5.0)
        seen = await table.get_job(conn, made.id)
    async with db.read() as conn:
        usual = await table.get_job(conn, made.id)
    assert usual == seen == made


async def test_a_glance_sees_one_state_of_what_is_committed(db: Database) -> None:
    async with db.brief() as conn:
        made = await make(conn, context={"文": ["a", 1]})
    async with db.glance() as first, db.glance() as second:
        assert await table.get_job(first, made.id) == made
        async with db.brief() as conn:
            await conn.execute(jobs.update().where(jobs.c.id == made.id).values(lane="x"))
        if db.is_sqlite:  # elsewhere each statement sees what is committed when it starts
            assert await table.get_job(first, made.id) == await table.get_job(second, made.id) == made
    async with db.glance() as again:
        found = await table.get_job(again, made.id)
        assert found is not None
        assert found.lane == "x"


async def test_a_failure_at_a_glance_harms_no_later_one(db: Database) -> None:
    for _ in range(20):  # more than there are connections
        with pytest.raises(KeyError):
            async with db.glance() as conn:
                await table.get_job(conn, "x")
                raise KeyError
    async with db.glance() as conn:
        assert await table.get_job(conn, "x") is None


async def test_lists_are_values_unless_the_statement_asks_for_several(db: Database) -> None:
    async with db.brief() as conn:
        made = await make(conn)
        changed = hot(
            jobs.update().where(jobs.c.id == sa.bindparam("which")).values(context=sa.bindparam("new"))
        )
        for context in (["a", "b"], ["c"]):
            await conn.execute(changed, {"which": made.id, "new": context})
            found: Any = (await table.get_job(conn, made.id) or made).context
            assert found == context


async def test_claims_are_the_same_in_every_way(db: Database) -> None:
    now = system_clock()
    async with db.write() as conn:
        made = [await make(conn) for _ in range(7)]
    ids, until = [job.id for job in made], now + timedelta(seconds=9)
    async with db.brief() as conn:
        brief = await table.take(conn, ids[:3], worker="w", now=now, until=until)
    async with db.write() as conn:
        usual = await table.take(conn, ids[3:], worker="w", now=now, until=until)
    normal = {replace_identity(job) for job in brief + usual}
    assert len(normal) == 1
    for part in (brief[:1], brief[1:], usual):  # lists of several lengths
        async with db.brief() as conn:
            claims = [(job.id, job.epoch) for job in part]
            assert await table.renew(conn, claims, now=now, until=until) == set(claims)
    async with db.brief() as conn:
        claims = [(job.id, job.epoch + (job.id == ids[0])) for job in brief]
        assert await table.complete_claims(conn, claims, now) == set(ids[1:3])


def replace_identity(job: Job) -> str:
    """The job without what makes it unique."""
    return repr(replace(job, id="", created_at=job.started_at or job.created_at, updated_at=job.updated_at))


async def test_a_failure_undoes_all_of_it(db: Database) -> None:
    for statement in ("hot", "usual"):
        with pytest.raises(KeyError):
            async with db.brief() as conn:
                made = await make(conn)
                if statement == "usual":
                    await conn.execute(jobs.update().where(jobs.c.id == made.id).values(lane="x"))
                raise KeyError
    assert await count(db) == 0
    async with db.brief() as conn:
        await make(conn)
    assert await count(db) == 1


async def test_hot_and_other_statements_share_the_transaction(db: Database) -> None:
    async with db.brief() as conn:
        first, second = await make(conn), await make(conn)
        await table.insert_dependencies(conn, [(second.id, first.id, OnFailure.FAIL)])
        states = await table.dependency_states(conn, [second.id])
    assert states[second.id][0].status is JobStatus.PENDING
    async with db.read() as conn:
        assert await table.dependency_states(conn, [second.id]) == states


async def test_a_broken_rule_is_the_error_it_always_is(db: Database) -> None:
    async with db.brief() as conn:
        made = await make(conn, dedupe_key="k")
    twin = replace(made, id=new_id())
    with pytest.raises(sa.exc.IntegrityError):
        async with db.brief() as conn:
            await table.insert_jobs(conn, [twin])
    with pytest.raises(Conflict):
        async with db.brief() as conn:
            await create_jobs(conn, REGISTRY, [NewJob("x", space_id=new_id())], system_clock())
    assert await count(db) == 1


@pytest.fixture
async def lite(tmp_path: Path) -> AsyncIterator[Database]:
    """SQLite alone."""
    database = Database(f"sqlite:///{tmp_path}/kosmos.db")
    await ensure_current(database, upgrade=True)
    yield database
    await database.close()


@pytest.fixture
def stranger(lite: Database) -> Iterator[sqlite3.Connection]:
    """Another process, as far as SQLite can tell, which holds the write lock."""
    conn = sqlite3.connect(str(lite.url.database), isolation_level=None)
    conn.execute("BEGIN IMMEDIATE")
    yield conn
    conn.close()


async def test_the_event_loop_goes_on_while_the_lock_is_waited_for(
    lite: Database, stranger: sqlite3.Connection
) -> None:
    async def create() -> None:
        async with lite.brief() as conn:
            await make(conn)

    waiting = asyncio.create_task(create())
    for _ in range(20):
        await asyncio.sleep(0.005)
        assert not waiting.done()
    stranger.execute("ROLLBACK")
    await waiting
    assert await count(lite) == 1


async def test_who_gives_up_waiting_leaves_nothing_behind(
    lite: Database, stranger: sqlite3.Connection
) -> None:
    async def create() -> None:
        async with lite.brief() as conn:
            await make(conn)

    waiting = asyncio.create_task(create())
    await asyncio.sleep(0.02)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert waiting.cancelled()
    stranger.execute("ROLLBACK")
    await create()
    stranger.execute("BEGIN IMMEDIATE")  # nobody holds the lock any more
    assert await count(lite) == 1


async def test_a_glance_waits_for_nobody_who_writes(lite: Database, stranger: sqlite3.Connection) -> None:
    assert stranger.in_transaction
    async with lite.glance() as conn:
        assert await table.get_job(conn, "x") is None


async def test_a_lock_that_is_never_released_is_reported(
    lite: Database, stranger: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "BUSY_SECONDS", 0.05)
    with pytest.raises(EngineUnavailable, match="locked"):
        async with lite.brief():
            pytest.fail("nobody can have the lock")


async def test_a_postgres_that_goes_away_is_told_as_such(postgres_url: str) -> None:
    db = Database(postgres_url)
    end = sa.text("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = :pid")
    for transaction in (db.read, db.write, db.brief, db.glance):
        with pytest.raises(EngineUnavailable):
            async with transaction() as conn:
                pid = await conn.scalar(sa.text("SELECT pg_backend_pid()"))
                async with db.read() as other:
                    await other.execute(end, {"pid": pid})
                await conn.execute(sa.text("SELECT 1"))
        async with transaction() as conn:
            assert await conn.scalar(sa.text("SELECT 1")) == 1
    await db.close()
