"""Queries on approvals."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.db.tables_agents import approval, run
from kosmos.db.types import Row
from kosmos.domain.approvals import Approval, ApprovalStatus
from kosmos.domain.sessions import RunStatus


def _approval(row: Row) -> Approval:
    values = dict(row._mapping)
    return Approval(**{**values, "status": ApprovalStatus(values["status"])})


async def insert_approval(conn: AsyncConnection, value: Approval) -> None:
    """Store a new one."""
    values = {column.name: getattr(value, column.name) for column in approval.c}
    await conn.execute(approval.insert().values(values | {"status": value.status.value}))


async def get_approval(conn: AsyncConnection, approval_id: str) -> Approval | None:
    """The approval of that id."""
    row = (await conn.execute(sa.select(approval).where(approval.c.id == approval_id))).first()
    return _approval(row) if row else None


async def last_approval(conn: AsyncConnection, run_id: str) -> Approval | None:
    """What a run asked for last."""
    query = sa.select(approval).where(approval.c.run_id == run_id).order_by(approval.c.id.desc()).limit(1)
    row = (await conn.execute(query)).first()
    return _approval(row) if row else None


async def list_approvals(
    conn: AsyncConnection, owner_id: str, *, status: ApprovalStatus | None, after: str = "", limit: int = 100
) -> list[Approval]:
    """The approvals of a user, oldest first."""
    query = sa.select(approval).where(approval.c.owner_id == owner_id, approval.c.id > after)
    if status is not None:
        query = query.where(approval.c.status == status.value)
    return [_approval(row) for row in await conn.execute(query.order_by(approval.c.id).limit(limit))]


async def move(
    conn: AsyncConnection, approval_id: str, before: ApprovalStatus, after: ApprovalStatus, **values: Any
) -> bool:
    """From one status to another; False when it was not in the first any more."""
    mine = (approval.c.id == approval_id) & (approval.c.status == before.value)
    found = await conn.execute(approval.update().where(mine).values(status=after.value, **values))
    return bool(found.rowcount == 1)


async def use(conn: AsyncConnection, approval_id: str, *, run_id: str, digest: str, now: datetime) -> bool:
    """Take an approval, once, for exactly one call."""
    mine = (
        (approval.c.id == approval_id)
        & (approval.c.run_id == run_id)
        & (approval.c.digest == digest)
        & (approval.c.status == ApprovalStatus.APPROVED.value)
        & (approval.c.expires_at > now)
    )
    values = {"status": ApprovalStatus.USED.value, "used_at": now}
    return bool((await conn.execute(approval.update().where(mine).values(values))).rowcount == 1)


async def expire_pending(conn: AsyncConnection, now: datetime) -> None:
    """What nobody decided in time is not allowed."""
    late = (approval.c.status == ApprovalStatus.PENDING.value) & (approval.c.expires_at <= now)
    values = {"status": ApprovalStatus.EXPIRED.value, "decided_at": now, "reason": "Nobody decided in time."}
    await conn.execute(approval.update().where(late).values(values))


async def decided_runs(conn: AsyncConnection) -> list[str]:
    """The runs that wait although what they asked for last is decided."""
    other = approval.alias()
    newest = sa.select(sa.func.max(other.c.id)).where(other.c.run_id == approval.c.run_id).scalar_subquery()
    query = (
        sa.select(run.c.id)
        .join(approval, approval.c.run_id == run.c.id)
        .where(run.c.status == RunStatus.WAITING.value, approval.c.id == newest)
        .where(approval.c.status != ApprovalStatus.PENDING.value)
    )
    return [row.id for row in await conn.execute(query)]


async def cancel_pending(conn: AsyncConnection, run_id: str, now: datetime) -> None:
    """What a run asked for is not asked any more."""
    mine = (approval.c.run_id == run_id) & (
        approval.c.status.in_((ApprovalStatus.PENDING.value, ApprovalStatus.APPROVED.value))
    )
    await conn.execute(
        approval.update().where(mine).values(status=ApprovalStatus.EXPIRED.value, decided_at=now)
    )
