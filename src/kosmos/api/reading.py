"""Routes: the lines of documents, patterns in them, search and questions."""

from typing import Annotated

from fastapi import APIRouter, Query

from kosmos.api.callers import Caller, Id, TheApp
from kosmos.api.document_shapes import FoundOut, GrepIn, LinesOut, PlaceIn
from kosmos.api.recall_shapes import RecallIn, RecallOut
from kosmos.api.search_shapes import SearchIn, SearchOut
from kosmos.api.shapes import AnswerOut, AskIn
from kosmos.tasks import asking, grep
from kosmos.tasks.reading import read_place
from kosmos.tasks.recalling import recall

router = APIRouter()


@router.get("/documents/{document_id}/lines", tags=["documents"])
async def read_lines(
    app: TheApp, who: Caller, document_id: Id, query: Annotated[PlaceIn, Query()]
) -> LinesOut:
    """Lines start..end of the canonical text, those of a page, or those below a heading; at most 5,000.

    What is hidden is replaced by marks like `⟦email⟧`; line numbers stay the same.
    """
    reading = await read_place(app.bench, who, document_id, query.place(), verbatim=query.verbatim)
    return LinesOut.of(reading)


@router.post("/grep", tags=["search"])
async def grep_lines(app: TheApp, who: Caller, form: GrepIn) -> FoundOut:
    """The lines in which a pattern occurs, in the order of the documents, in bounded time."""
    return FoundOut.model_validate(await grep.grep_documents(app.bench, who, form.wanted()))


@router.post("/search", tags=["search"])
async def search(app: TheApp, who: Caller, form: SearchIn) -> SearchOut:
    """The chunks that fit best, with the rank that each route gave them."""
    return SearchOut.of(await asking.find(app.bench, who, form.wanted(), space_ids=form.space_ids))


@router.post("/retrieval", tags=["search"])
async def retrieval(app: TheApp, who: Caller, form: RecallIn) -> RecallOut:
    """The recall API: chunks that are like enough, in the shape that clients of RAGFlow expect."""
    return RecallOut.of(await recall(app.bench, who, form.wanted()), form)


@router.post("/ask", tags=["search"])
async def ask(app: TheApp, who: Caller, form: AskIn) -> AnswerOut:
    """An answer whose citations can be checked to the letter."""
    answer = await asking.ask(app.bench, who, form.question, space_ids=form.space_ids)
    return AnswerOut.model_validate(answer)
