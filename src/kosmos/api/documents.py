"""Routes: documents and their lines, search, questions."""

from typing import Annotated

from fastapi import APIRouter, Query

from kosmos.api.callers import After, Caller, Id, Limit, TheApp
from kosmos.api.shapes import AnswerOut, AskIn, DocumentOut, HitOut, LinesOut, Page, SearchIn
from kosmos.tasks import asking, documents

router = APIRouter()


@router.get("/spaces/{space_id}/documents", tags=["documents"])
async def list_documents(
    app: TheApp, who: Caller, space_id: Id, after: After = "", limit: Limit = 100
) -> Page[DocumentOut]:
    """The documents of a space."""
    found = await documents.list_documents(app.bench, who, space_id, after=after, limit=limit)
    return Page(
        items=[DocumentOut.model_validate(item) for item in found],
        next=found[-1].id if len(found) == limit else None,
    )


@router.get("/documents/{document_id}", tags=["documents"])
async def get_document(app: TheApp, who: Caller, document_id: Id) -> DocumentOut:
    """One document."""
    return DocumentOut.model_validate(await documents.get_document(app.bench, who, document_id))


@router.delete("/documents/{document_id}", status_code=204, tags=["documents"])
async def remove_document(app: TheApp, who: Caller, document_id: Id) -> None:
    """Remove a document with its chunks, index rows and unshared blobs. Editors only."""
    await documents.remove_document(app.bench, who, document_id)


@router.get("/documents/{document_id}/lines", tags=["documents"])
async def read_lines(
    app: TheApp,
    who: Caller,
    document_id: Id,
    start: Annotated[int, Query(ge=1, le=2**31 - 1)] = 1,
    end: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None,
) -> LinesOut:
    """Lines start..end of the canonical text, at most 5,000 at a time."""
    found = await documents.read_lines(app.bench, who, document_id, start=start, end=end)
    return LinesOut(
        document_id=found.document.id,
        start_line=found.start_line,
        end_line=found.start_line + len(found.lines) - 1,
        line_count=found.document.line_count,
        lines=list(found.lines),
    )


@router.post("/search", tags=["search"])
async def search(app: TheApp, who: Caller, form: SearchIn) -> Page[HitOut]:
    """The chunks that fit best, with the rank that each route gave them."""
    hits = await asking.search(app.bench, who, form.query, space_ids=form.space_ids, k=form.k)
    return Page(items=[HitOut.model_validate(hit) for hit in hits])


@router.post("/ask", tags=["search"])
async def ask(app: TheApp, who: Caller, form: AskIn) -> AnswerOut:
    """An answer whose citations can be checked to the letter."""
    answer = await asking.ask(app.bench, who, form.question, space_ids=form.space_ids)
    return AnswerOut.model_validate(answer)
