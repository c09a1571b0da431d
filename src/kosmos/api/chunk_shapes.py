"""The forms in which failed chunks, proofs and costs leave over HTTP."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from kosmos.api.document_shapes import ChunkOut
from kosmos.api.job_shapes import EstimateOut, JobOut, SpentOut
from kosmos.api.shapes import Form, Shape
from kosmos.tasks.rechunking import Failed


class FailedChunkOut(ChunkOut):
    """A region that could not be chunked; its summary says why."""

    document_id: str
    source: str

    @classmethod
    def of_failed(cls, failed: Failed) -> "FailedChunkOut":
        """From a failed region."""
        shown = ChunkOut.of(failed.chunk).model_dump()
        return cls(**shown, document_id=failed.chunk.document_id, source=failed.source)


class RechunkingOut(Shape):
    """The jobs that chunk something again; the last ends when readers see the new chunks."""

    jobs: list[JobOut]


class FaultOut(Shape):
    """What does not hold, and what to do about it. Without a document it is about the index as a whole."""

    document_id: str
    source: str
    check: str
    message: str
    remedy: str


class VerificationOut(Shape):
    """`verified` of `documents` are without fault; `waiting` have no text yet.

    `next` goes into `after` to look at more, and is null at the end.
    """

    documents: int
    verified: int
    waiting: int
    faults: list[FaultOut]
    next: str | None


class CostIn(Form):
    """What to tell: what was taken, or with `estimate` what chunking again would take."""

    estimate: bool = False
    producer: Literal["structure", "indexer"] | None = Field(
        default=None, description="Of the estimate. Default: the producer of the space."
    )


class SumOut(Shape):
    """Many calls together; `unpriced` of them are not in the cost: their credentials name no prices."""

    calls: int
    spent: SpentOut
    unpriced: int


class CostLineOut(Shape):
    """What one model took for one purpose."""

    purpose: str
    model: str
    sum: SumOut


class DocumentCostOut(Shape):
    """What one document took; null for documents that were removed since."""

    document_id: str | None
    source: str | None
    sum: SumOut


class ForecastOut(Shape):
    """What chunking would take: `asked` of the documents are long enough to be asked about."""

    producer: str
    documents: int
    asked: int
    estimate: EstimateOut


class CostOut(Shape):
    """What calls of models took, by purpose and model, and by document; or an estimate."""

    sum: SumOut
    lines: list[CostLineOut]
    documents: list[DocumentCostOut]
    forecast: ForecastOut | None = None


class ChargeOut(Shape):
    """One call of a model, and the lines that it was about; `cost` is null where nobody knows it."""

    id: str
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
