"""The simulator is worth something only if it notices a broken product: here it is broken on purpose."""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from datetime import timedelta
from typing import Any
from unittest import mock

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.db import jobs as table
from kosmos.db.tables import job
from kosmos.jobs import claiming, creation, worker
from kosmos.jobs.registry import JobType
from kosmos.jobs.run import Run

from . import test_simulation
from .world import simulate

MOST_SEEDS = 400


@contextmanager
def _replaced(*changes: tuple[Any, str, Any]) -> Iterator[None]:
    with ExitStack() as stack:
        for owner, name, new in changes:
            stack.enter_context(mock.patch.object(owner, name, new))
        yield


async def _epoch_now(conn: AsyncConnection, job_id: str) -> int:
    present = await table.get_job(conn, job_id)
    return present.epoch if present else 0


async def _advance(conn: AsyncConnection, job_id: str, _epoch: int, step: Any, **times: Any) -> bool:
    return await ADVANCE(conn, job_id, await _epoch_now(conn, job_id), step, **times)


async def _complete(conn: AsyncConnection, claims: Sequence[tuple[str, int]], now: Any) -> set[str]:
    return await COMPLETE(conn, [(job_id, await _epoch_now(conn, job_id)) for job_id, _ in claims], now)


async def _end(conn: AsyncConnection, ending: table.Ending, now: Any) -> bool:
    values = {name: getattr(ending, name) for name in table.Ending.__slots__}
    return await END(conn, table.Ending(**values | {"epoch": await _epoch_now(conn, ending.job_id)}), now)


async def _renew(conn: AsyncConnection, claims: Sequence[tuple[str, int]], **times: Any) -> Any:
    await RENEW(conn, [(job_id, await _epoch_now(conn, job_id)) for job_id, _ in claims], **times)
    return set(claims)


async def _move(conn: AsyncConnection, job_id: str, *, allowed: Any, values: Any, now: Any) -> bool:
    where = sa.and_(job.c.id == job_id, job.c.status.in_([status.value for status in allowed]))
    done = await conn.execute(job.update().where(where).values(**values, updated_at=now))
    return done.rowcount == 1


async def _take(conn: AsyncConnection, ids: Sequence[str], *, worker: str, now: Any, until: Any) -> Any:
    values = {"status": "RUNNING", "reason": None, "due_at": until, "worker": worker, "updated_at": now}
    found = await conn.execute(job.update().where(job.c.id.in_(ids)).values(**values).returning(job))
    return [table.as_job(row) for row in found]


async def _take_early(conn: AsyncConnection, now: Any, **options: Any) -> Any:
    return await CANDIDATES(conn, now + timedelta(minutes=1), **options)


async def _leave_the_dead(conn: AsyncConnection, now: Any, **options: Any) -> Any:
    found = await CANDIDATES(conn, now, **options)
    return [item for item in found if item.status != "RUNNING"]


async def _wake_nobody(_conn: AsyncConnection, _ended: Sequence[str], _now: Any) -> int:
    return 0


async def _wait_for_nobody(_conn: AsyncConnection, found: Any, _now: Any) -> Any:
    return found


async def _never_give_up(kind: JobType, run: Run) -> Mapping[str, Any] | None:
    return await kind.handler(run)


@asynccontextmanager
async def _two_transactions(run: Run, progress: Any = None) -> AsyncIterator[AsyncConnection]:
    async with BATCH(run, progress):
        pass
    async with run.db.write() as conn:
        yield conn


ADVANCE, COMPLETE, END, RENEW = table.advance, table.complete_claims, table.end_claim, table.renew
CANDIDATES, BATCH = table.due_candidates, Run.batch
AGES = timedelta(days=1000)
MUTATIONS: dict[str, list[tuple[Any, str, Any]]] = {
    "progress is not fenced": [(table, "advance", _advance)],
    "completion is not fenced": [(table, "complete_claims", _complete)],
    "other endings are not fenced": [(table, "end_claim", _end)],
    "renewal is not fenced": [(table, "renew", _renew)],
    "pause and cancel do not raise the epoch": [(table, "move", _move)],
    "a claim does not raise the epoch": [(table, "take", _take)],
    "leases are not respected": [(table, "due_candidates", _take_early)],
    "nobody takes over from the dead": [(table, "due_candidates", _leave_the_dead)],
    "dependants sleep for ever": [
        (table, "wake_dependants", _wake_nobody),
        (claiming, "RECHECK", AGES),
        (creation, "RECHECK", AGES),
    ],
    "dependencies are ignored": [(claiming, "_settle_waiting", _wait_for_nobody)],
    "limits are ignored": [(claiming.Room, "admit", lambda _room, _item: True)],
    "rows and progress in two transactions": [(Run, "batch", _two_transactions)],
    "a batch in doubt is written again": [(Run, "check", lambda _run: None)],
    "crash loops never end": [(worker, "_call", _never_give_up)],
    "money is not booked": [(table, "_more_spent", lambda _spent: {})],
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_the_simulator_notices_that(name: str) -> None:
    with _replaced(*MUTATIONS[name]):
        assert any(simulate(seed).violations for seed in range(MOST_SEEDS))


def test_a_seed_that_fails_is_printed_with_the_way_to_replay_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(test_simulation, "FIRST", 3)
    monkeypatch.setattr(test_simulation, "SEEDS", 1)
    shown = r"seed 3: .*booked 0 tokens.*\n.*python -m tests\.simulation\.replay 3"
    with _replaced(*MUTATIONS["money is not booked"]), pytest.raises(AssertionError, match=shown):
        test_simulation.test_whatever_happens_the_rules_hold(0)
