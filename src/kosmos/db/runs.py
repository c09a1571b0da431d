"""Queries on runs and their events."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.db.brief import hot
from kosmos.db.tables_agents import event, run
from kosmos.db.types import Row
from kosmos.domain.events import EventType, StoredEvent
from kosmos.domain.jobs import Spent
from kosmos.domain.sessions import Run, RunStatus

_GET = hot(sa.select(run).where(run.c.id == sa.bindparam("wanted")))
_INSERT = hot(run.insert())
_INSERT_EVENTS = hot(event.insert())
_AFTER = hot(
    sa.select(event.c.run_id, event.c.sequence, event.c.type, event.c.payload, event.c.created_at)
    .where(event.c.run_id == sa.bindparam("run"), event.c.sequence > sa.bindparam("last"))
    .order_by(event.c.sequence)
    .limit(sa.bindparam("most"))
)
_END = hot(
    run.update()
    .where(
        run.c.id == sa.bindparam("wanted"),
        run.c.status.in_((RunStatus.RUNNING.value, RunStatus.WAITING.value)),
    )
    .values(
        status=sa.bindparam("new_status"),
        error=sa.bindparam("new_error"),
        prompt_tokens=sa.bindparam("prompt"),
        cached_tokens=sa.bindparam("cached"),
        output_tokens=sa.bindparam("output"),
        cost=sa.bindparam("new_cost"),
        finished_at=sa.bindparam("now"),
    )
)
_SPENT = ("prompt_tokens", "cached_tokens", "output_tokens", "cost")


def _run(row: Row) -> Run:
    values = dict(row._mapping)
    spent = Spent(**{name: values.pop(name) for name in _SPENT})
    return Run(**{**values, "status": RunStatus(values["status"])}, spent=spent)


async def insert_run(conn: AsyncConnection, value: Run) -> None:
    """Store a new run; IntegrityError when its session has one under way."""
    names = [column.name for column in run.c if column.name not in _SPENT]
    values = {name: getattr(value, name) for name in names} | {"status": value.status.value}
    await conn.execute(_INSERT, values | {name: getattr(value.spent, name) for name in _SPENT})


async def get_run(conn: AsyncConnection, run_id: str) -> Run | None:
    """The run of that id."""
    row = (await conn.execute(_GET, {"wanted": run_id})).first()
    return _run(row) if row else None


async def list_runs(conn: AsyncConnection, session_id: str, *, limit: int = 100) -> list[Run]:
    """The runs of a session, newest first."""
    query = sa.select(run).where(run.c.session_id == session_id).order_by(run.c.id.desc()).limit(limit)
    return [_run(row) for row in await conn.execute(query)]


async def open_runs(conn: AsyncConnection, session_id: str | None = None) -> list[Run]:
    """The runs that have not ended, of one session or of all."""
    query = sa.select(run).where(run.c.status == RunStatus.RUNNING.value)
    if session_id is not None:
        query = query.where(run.c.session_id == session_id)
    return [_run(row) for row in await conn.execute(query)]


async def end_run(
    conn: AsyncConnection, run_id: str, status: RunStatus, *, error: str | None, spent: Spent, now: datetime
) -> bool:
    """Let a run end; False when it had ended before."""
    values: dict[str, Any] = {"wanted": run_id, "new_status": status.value, "new_error": error, "now": now}
    values |= {"prompt": spent.prompt_tokens, "cached": spent.cached_tokens}
    values |= {"output": spent.output_tokens, "new_cost": spent.cost}
    return bool((await conn.execute(_END, values)).rowcount == 1)


async def park_run(conn: AsyncConnection, run_id: str, spent: Spent) -> bool:
    """Let a run wait for somebody; False when it does not run."""
    values = {name: getattr(spent, name) for name in _SPENT} | {"status": RunStatus.WAITING.value}
    mine = (run.c.id == run_id) & (run.c.status == RunStatus.RUNNING.value)
    return bool((await conn.execute(run.update().where(mine).values(values))).rowcount == 1)


async def claim_run(
    conn: AsyncConnection, run_id: str, status: RunStatus, *, before: str, worker: str, now: datetime
) -> bool:
    """Take over a run that waits, or whose process is gone; False when somebody else was faster."""
    mine = (run.c.id == run_id) & (run.c.status == status.value) & (run.c.worker == before)
    values = {"status": RunStatus.RUNNING.value, "worker": worker, "seen_at": now}
    return bool((await conn.execute(run.update().where(mine).values(values))).rowcount == 1)


async def let_go(conn: AsyncConnection, run_id: str, now: datetime) -> None:
    """Let any process take a run that this one does not go on with: it counts as dead at once."""
    still = (run.c.id == run_id) & (run.c.status == RunStatus.RUNNING.value)
    await conn.execute(run.update().where(still).values(seen_at=now - timedelta(days=1)))


async def request_stop(conn: AsyncConnection, run_id: str) -> None:
    """Ask the process that runs it to stop."""
    await conn.execute(run.update().where(run.c.id == run_id).values(stop_requested=True))


async def touch_runs(conn: AsyncConnection, run_ids: Sequence[str], now: datetime) -> list[str]:
    """Say that these runs live; those of them that somebody wants to stop."""
    mine = run.c.id.in_(run_ids)
    await conn.execute(run.update().where(mine).values(seen_at=now))
    asked = await conn.execute(sa.select(run.c.id).where(mine, run.c.stop_requested))
    return [row.id for row in asked]


async def insert_events(
    conn: AsyncConnection, events: Sequence[StoredEvent], session_ids: Mapping[str, str]
) -> None:
    """Store events of any runs."""
    rows: list[dict[str, Any]] = [
        {
            "run_id": item.run_id,
            "sequence": item.sequence,
            "session_id": session_ids[item.run_id],
            "type": item.type.value,
            "payload": item.payload,
            "created_at": item.created_at,
        }
        for item in events
    ]
    if rows:
        await conn.execute(_INSERT_EVENTS, rows)


async def events_after(
    conn: AsyncConnection, run_id: str, sequence: int, *, limit: int = 1000
) -> list[StoredEvent]:
    """The events of a run behind a number, in their order."""
    found = await conn.execute(_AFTER, {"run": run_id, "last": sequence, "most": limit})
    return [
        StoredEvent(row.run_id, row.sequence, EventType(row.type), row.payload, row.created_at)
        for row in found
    ]
