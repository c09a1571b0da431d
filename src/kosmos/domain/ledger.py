"""The ledger: what each call of a model took, and sums over calls."""

from dataclasses import dataclass, field
from datetime import datetime

from kosmos.domain.jobs import Spent


@dataclass(frozen=True, slots=True)
class Charge:
    """One call. `start_line` to `end_line` are the lines of the batch that it was about.

    `cost` is None where the credential names no prices.
    """

    id: str
    space_id: str
    document_id: str | None
    job_id: str
    credential_id: str
    model: str
    purpose: str
    start_line: int | None
    end_line: int | None
    prompt_tokens: int
    cached_tokens: int
    output_tokens: int
    cost: float | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Sum:
    """Many calls together; `unpriced` of them are not in the cost, since nobody knows what they cost."""

    calls: int = 0
    spent: Spent = field(default_factory=Spent)
    unpriced: int = 0

    def __add__(self, other: "Sum") -> "Sum":
        return Sum(self.calls + other.calls, self.spent + other.spent, self.unpriced + other.unpriced)


@dataclass(frozen=True, slots=True)
class Line:
    """What one model took for one purpose."""

    purpose: str
    model: str
    sum: Sum
