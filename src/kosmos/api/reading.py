"""Routes: the lines of documents, patterns in them, search and questions."""

from typing import Annotated

from fastapi import APIRouter, Query

from kosmos.api.callers import Caller, Id, TheApp
from kosmos.api.document_shapes import FoundOut, GrepIn, LinesOut
from kosmos.api.shapes import AnswerOut, AskIn, HitOut, Page, SearchIn
from kosmos.tasks import asking, grep
from kosmos.tasks.reading import Place, read_place

router = APIRouter()
Line = Annotated[int | None, Query(ge=1, le=2**31 - 1)]
PageNumber = Annotated[int | None, Query(ge=1, le=2**31 - 1, description="Page or slide of the original.")]
Heading = Annotated[
    str | None,
    Query(
        max_length=1000,
        description="Words of a heading, `Setup > Linux` for one below another, or `#anchor`.",
        examples=["Setup > Linux"],
    ),
]


@router.get("/documents/{document_id}/lines", tags=["documents"])
async def read_lines(
    app: TheApp,
    who: Caller,
    document_id: Id,
    start: Line = None,
    end: Line = None,
    page: PageNumber = None,
    heading: Heading = None,
) -> LinesOut:
    """Lines start..end of the canonical text, those of a page, or those below a heading; at most 5,000."""
    place = Place(start=start, end=end, page=page, heading=heading)
    return LinesOut.of(await read_place(app.bench, who, document_id, place))


@router.post("/grep", tags=["search"])
async def grep_lines(app: TheApp, who: Caller, form: GrepIn) -> FoundOut:
    """The lines in which a pattern occurs, in the order of the documents, in bounded time."""
    return FoundOut.model_validate(await grep.grep_documents(app.bench, who, form.wanted()))


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
