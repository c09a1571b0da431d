"""Assets: figures and images that stand at a line of a document."""

import uuid
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

_IDS = uuid.UUID("3d7d0b2a-5c0e-4c0b-9f57-7f3e7f0b1a52")


class AnalysisStatus(StrEnum):
    """Whether somebody has looked at an asset."""

    NOT_ANALYSED = "NOT_ANALYSED"
    PENDING = "PENDING"
    DONE = "DONE"
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True)
class Asset:
    """One image of one generation of a document; the text refers to it as `![caption](asset:sha256)`."""

    id: str
    space_id: str
    document_id: str
    generation: int
    kind: str
    sha256: str
    media_type: str
    size: int
    line: int
    caption: str
    description: str | None
    analysis_status: AnalysisStatus
    error: str | None
    created_at: datetime
    updated_at: datetime


def asset_id(document_id: str, generation: int, position: int) -> str:
    """The id of the asset at a position: the same whenever it is made again."""
    return str(uuid.uuid5(_IDS, f"{document_id} {generation} {position}"))
