"""Approvals: a person's yes or no to exactly one call."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any


class ApprovalStatus(StrEnum):
    """How far an approval has come."""

    PENDING = "PENDING"
    APPROVED = "APPROVED"
    REFUSED = "REFUSED"
    USED = "USED"  # the call was started; it counts for no other one
    EXPIRED = "EXPIRED"


@dataclass(frozen=True, slots=True)
class Approval:
    """What a run asks to be allowed. `request` shows the call; `digest` is what the answer counts for."""

    id: str
    run_id: str
    session_id: str
    owner_id: str
    status: ApprovalStatus
    digest: str
    request: Mapping[str, Any]
    created_at: datetime
    expires_at: datetime
    reason: str = ""  # why it was refused
    decided_by: str | None = None
    decided_at: datetime | None = None
    used_at: datetime | None = None
