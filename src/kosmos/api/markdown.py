"""Routes: Markdown as safe HTML, for whoever shows it."""

import asyncio
from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, Field, StringConstraints

from kosmos.api.callers import Caller
from kosmos.api.rendering import render
from kosmos.api.shapes import Form

router = APIRouter(tags=["markdown"])
MAX_TEXT = 100_000


class MarkdownIn(Form):
    """Texts to be rendered."""

    texts: list[Annotated[str, StringConstraints(max_length=MAX_TEXT)]] = Field(
        max_length=100, examples=[["**Two** years [1]"]]
    )


class MarkdownOut(BaseModel):
    """The same as HTML. Tags in the text are shown as text; links name http, https or mailto."""

    items: list[str]


@router.post("/markdown")
async def render_markdown(_who: Caller, form: MarkdownIn) -> MarkdownOut:
    """Markdown as HTML that runs nothing and loads nothing."""
    return MarkdownOut(items=await asyncio.to_thread(lambda: [render(text) for text in form.texts]))
