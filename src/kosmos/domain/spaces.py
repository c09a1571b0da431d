"""Knowledge spaces: what the seeds also call knowledge bases."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kosmos.domain.accounts import Role


@dataclass(frozen=True, slots=True)
class Space:
    """A collection of documents with members and settings of its own."""

    id: str
    owner_id: str
    name: str
    description: str
    metadata: Mapping[str, Any]
    settings: Mapping[str, Any]
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class SpaceView:
    """A space as one caller sees it."""

    space: Space
    role: Role


@dataclass(frozen=True, slots=True)
class SpaceEncoder:
    """Whose vectors the index of a space holds: the encoder's own name, and the setting that opens it."""

    name: str
    setting: str
