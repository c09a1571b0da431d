"""Routes: what runs ask to be allowed, and the word of whose runs they are."""

from fastapi import APIRouter

from kosmos.api.approval_shapes import ApprovalOut, DecisionIn
from kosmos.api.callers import After, Caller, Id, Limit, TheApp
from kosmos.api.shapes import Page
from kosmos.domain.approvals import ApprovalStatus
from kosmos.tasks import approvals
from kosmos.tasks.run_resuming import decide

router = APIRouter(prefix="/approvals", tags=["approvals"])


@router.get("")
async def list_approvals(
    app: TheApp, who: Caller, status: ApprovalStatus | None = None, after: After = "", limit: Limit = 100
) -> Page[ApprovalOut]:
    """What your runs ask or have asked, oldest first."""
    found = await approvals.list_approvals(app.bench, who, status=status, after=after, limit=limit)
    return Page(
        items=[ApprovalOut.model_validate(item) for item in found],
        next=found[-1].id if len(found) == limit else None,
    )


@router.get("/{approval_id}")
async def get_approval(app: TheApp, who: Caller, approval_id: Id) -> ApprovalOut:
    """One of them."""
    return ApprovalOut.model_validate(await approvals.get_approval(app.bench, who, approval_id))


@router.post("/{approval_id}/decide")
async def decide_approval(app: TheApp, who: Caller, approval_id: Id, form: DecisionIn) -> ApprovalOut:
    """Allow or refuse it. The run goes on at once; after a refusal it plans anew."""
    decided = await decide(app.bench, who, approval_id, approved=form.approved, reason=form.reason)
    return ApprovalOut.model_validate(decided)
