"""Credentials: where a model is served and how it is paid for. Keys never appear in these values."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any


class CredentialType(StrEnum):
    """What kind of model a credential opens."""

    SLM = "SLM"
    LLM = "LLM"
    VLM = "VLM"
    EMBEDDING = "EMBEDDING"
    RERANK = "RERANK"


@dataclass(frozen=True, slots=True)
class Credential:
    """A model endpoint. `owner_id` is None for one that the whole instance may use."""

    id: str
    owner_id: str | None
    name: str
    type: CredentialType
    base_url: str
    model: str
    options: Mapping[str, Any]
    is_default: bool
    has_key: bool
    key_id: str | None
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class CredentialLink:
    """A credential in use by a space: higher priority first, weighted choice within a priority."""

    space_id: str
    credential: Credential
    priority: int
    weight: float
