"""What the tasks work with. Built by the composition root."""

from dataclasses import dataclass

from kosmos.blobs.contract import Blobs
from kosmos.db import Database
from kosmos.domain.clock import Clock
from kosmos.store.local import LocalStore


@dataclass(frozen=True, slots=True)
class Workbench:
    """The engines in use."""

    db: Database
    blobs: Blobs
    store: LocalStore
    clock: Clock
