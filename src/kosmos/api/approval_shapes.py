"""Approvals as they go over HTTP."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic import Field

from kosmos.api.shapes import Form, Shape
from kosmos.domain.approvals import ApprovalStatus


class ApprovalOut(Shape):
    """What a run asks to be allowed. `request` has tool, arguments, argv, level, reason and preview."""

    id: str
    run_id: str
    session_id: str
    status: ApprovalStatus
    digest: str
    request: Mapping[str, Any]
    reason: str
    decided_by: str | None
    created_at: datetime
    expires_at: datetime
    decided_at: datetime | None
    used_at: datetime | None


class DecisionIn(Form):
    """A person's word. It counts for exactly the call that was asked for, once."""

    approved: bool = Field(examples=[True])
    reason: str = Field(
        default="", max_length=2000, description="Why not: the run is told.", examples=["Not on Fridays."]
    )
