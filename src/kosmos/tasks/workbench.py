"""What the tasks work with. Built by the composition root."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from kosmos.blobs.contract import Blobs
from kosmos.db import Database
from kosmos.domain.clock import Clock
from kosmos.jobs.waking import Waker
from kosmos.store.local import LocalStore


@dataclass(frozen=True, slots=True)
class Workbench:
    """The engines in use."""

    db: Database
    blobs: Blobs
    store: LocalStore
    clock: Clock
    rng: random.Random = field(default_factory=random.Random)  # chooses among equals, hides nothing
    waker: Waker = field(default_factory=Waker)

    def wake(self, job_ids: Sequence[str]) -> None:
        """Let workers look at these jobs now."""
        self.waker.wake(job_ids)
