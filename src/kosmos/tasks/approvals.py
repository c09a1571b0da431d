"""Approvals: listed, decided, used. Only whose run it is may decide, with a token of full scope."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from kosmos.accounts.access import require_scope
from kosmos.bells import topics
from kosmos.db import approvals as table
from kosmos.domain.accounts import Principal, Scope
from kosmos.domain.approvals import Approval, ApprovalStatus
from kosmos.domain.ids import new_id
from kosmos.domain.sessions import Run, Session
from kosmos.domain.values import check_text, storable
from kosmos.errors import Conflict, NotFound
from kosmos.tasks.workbench import Workbench

ASKED_FOR = timedelta(days=7)  # so long may a run wait for a word
GOOD_FOR = timedelta(hours=1)  # so soon must an approved call be made
MAX_REASON = 2000
_STARTED = (
    "This call was started before under its approval, and whether it came to its end is not known. It is not "
    "made again. Look at the present state before anything else."
)


def make_approval(bench: Workbench, run: Run, session: Session, request: Mapping[str, Any]) -> Approval:
    """A new request for a call."""
    now = bench.clock()
    return Approval(
        id=new_id(),
        run_id=run.id,
        session_id=session.id,
        owner_id=session.owner_id,
        status=ApprovalStatus.PENDING,
        digest=str(request["digest"]),
        request=request,
        created_at=now,
        expires_at=now + ASKED_FOR,
    )


async def list_approvals(
    bench: Workbench,
    who: Principal,
    *,
    status: ApprovalStatus | None = ApprovalStatus.PENDING,
    after: str = "",
    limit: int = 100,
) -> list[Approval]:
    """What the caller's runs ask or have asked."""
    require_scope(who, Scope.READ)
    async with bench.db.read() as conn:
        return await table.list_approvals(conn, who.user.id, status=status, after=after, limit=limit)


async def get_approval(bench: Workbench, who: Principal, approval_id: str) -> Approval:
    """One of them."""
    require_scope(who, Scope.READ)
    async with bench.db.read() as conn:
        found = await table.get_approval(conn, approval_id) if storable(approval_id) else None
    if found is None or found.owner_id != who.user.id:
        raise NotFound(f"There is no approval {approval_id}.", remedy="List them with: kosmos approvals list")
    return found


async def record_decision(
    bench: Workbench, who: Principal, approval_id: str, *, approved: bool, reason: str = "", ring: bool = True
) -> Approval:
    """Store a person's word. Conflict when it was decided before; too late a word is a no.

    With `ring` a server is told to let the run go on.
    """
    require_scope(who, Scope.ADMIN)
    check_text(reason, what="reason", most=MAX_REASON)
    found = await get_approval(bench, who, approval_id)
    now = bench.clock()
    status = ApprovalStatus.APPROVED if approved else ApprovalStatus.REFUSED
    if found.status is ApprovalStatus.PENDING and found.expires_at <= now:
        status, reason = ApprovalStatus.EXPIRED, "Nobody decided in time."
    until = now + GOOD_FOR if status is ApprovalStatus.APPROVED else found.expires_at
    values = {"decided_by": who.user.id, "decided_at": now, "reason": reason, "expires_at": until}
    async with bench.db.write() as conn:
        if not await table.move(conn, approval_id, ApprovalStatus.PENDING, status, **values):
            raise Conflict(
                f"This was decided before: {found.status}.", remedy="List what is open: kosmos approvals list"
            )
    if ring:
        bench.bell.ring(topics.DECIDED)
    return replace(found, **{**values, "status": status})  # type: ignore[arg-type]


def verdict_of(found: Approval) -> dict[str, Any] | None:
    """What the run is told; None while nobody has decided."""
    if found.status is ApprovalStatus.PENDING:
        return None
    approved = found.status in (ApprovalStatus.APPROVED, ApprovalStatus.USED)
    return {"approval_id": found.id, "approved": approved, "reason": found.reason}


@dataclass(frozen=True, slots=True)
class RunApprovals:
    """The approvals of one run, as its graph uses them."""

    bench: Workbench
    run_id: str

    async def use(self, approval_id: str, digest: str) -> str | None:
        """Take an approval for exactly this call, once; else why it cannot be used."""
        now = self.bench.clock()
        async with self.bench.db.write() as conn:
            if await table.use(conn, approval_id, run_id=self.run_id, digest=digest, now=now):
                return None
            found = await table.get_approval(conn, approval_id)
        if found is None or found.run_id != self.run_id or found.digest != digest:
            return "The approval is for another call. Nothing was done."
        if found.status is ApprovalStatus.USED:
            return _STARTED
        return "The approval has expired. Nothing was done."
