"""Routes: chunks that failed, the proof of what is stored, and what models were paid."""

from typing import Annotated

from fastapi import APIRouter, Query

from kosmos.api.callers import After, Caller, Id, Limit, TheApp
from kosmos.api.chunk_shapes import (
    ChargeOut,
    CostIn,
    CostOut,
    FailedChunkOut,
    ForecastOut,
    RechunkingOut,
    VerificationOut,
)
from kosmos.api.shapes import Page
from kosmos.tasks import costing, rechunking, verifying

router = APIRouter()
Place = Annotated[
    str,
    Query(pattern=r"^([0-9a-zA-Z-]{1,36}\.[0-9]{1,9})?$", description="`next` of the page before."),
]


@router.get("/spaces/{space_id}/chunk-errors", tags=["chunks"])
async def list_chunk_errors(
    app: TheApp, who: Caller, space_id: Id, after: Place = "", limit: Limit = 100
) -> Page[FailedChunkOut]:
    """The regions of a space that could not be chunked, in the order of the documents."""
    document_id, _, position = after.partition(".")
    found = await rechunking.list_failed(
        app.bench, who, space_id, after=(document_id, int(position or -1)), limit=limit
    )
    last = found[-1].chunk if len(found) == limit else None
    return Page(
        items=[FailedChunkOut.of_failed(item) for item in found],
        next=f"{last.document_id}.{last.position}" if last else None,
    )


@router.post("/chunks/{chunk_id}/retry", status_code=201, tags=["chunks"])
async def retry_chunk(app: TheApp, who: Caller, chunk_id: Id) -> RechunkingOut:
    """Let a model try the lines of one chunk again, without redoing the document. Editors only."""
    return RechunkingOut.model_validate(await rechunking.retry_chunk(app.bench, who, chunk_id))


@router.post("/spaces/{space_id}/verify", tags=["chunks"])
async def verify_space(
    app: TheApp, who: Caller, space_id: Id, after: After = "", limit: Limit = 200
) -> VerificationOut:
    """Prove so many documents: their chunks are their text to the byte, and the index says the same."""
    return VerificationOut.model_validate(
        await verifying.verify_space(app.bench, who, space_id, after=after, limit=limit)
    )


@router.get("/documents/{document_id}/cost", tags=["documents"])
async def document_cost(
    app: TheApp, who: Caller, document_id: Id, query: Annotated[CostIn, Query()]
) -> CostOut:
    """What models were paid for a document; with `estimate`, what chunking it again would take."""
    cost = CostOut.model_validate(await costing.document_cost(app.bench, who, document_id))
    if query.estimate:
        forecast = await costing.foresee_document(app.bench, who, document_id, producer=query.producer)
        cost.forecast = ForecastOut.model_validate(forecast)
    return cost


@router.get("/documents/{document_id}/calls", tags=["documents"])
async def list_calls(
    app: TheApp, who: Caller, document_id: Id, after: After = "", limit: Limit = 100
) -> Page[ChargeOut]:
    """Every call of a model about a document, oldest first."""
    found = await costing.list_calls(app.bench, who, document_id, after=after, limit=limit)
    return Page(
        items=[ChargeOut.model_validate(item) for item in found],
        next=found[-1].id if len(found) == limit else None,
    )


@router.get("/spaces/{space_id}/cost", tags=["spaces"])
async def space_cost(app: TheApp, who: Caller, space_id: Id, query: Annotated[CostIn, Query()]) -> CostOut:
    """What models were paid for a space; with `estimate`, what chunking all of it again would take."""
    cost = CostOut.model_validate(await costing.space_cost(app.bench, who, space_id))
    if query.estimate:
        forecast = await costing.foresee_space(app.bench, who, space_id, producer=query.producer)
        cost.forecast = ForecastOut.model_validate(forecast)
    return cost
