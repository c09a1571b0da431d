"""Routes: what `kosmos eval` measured."""

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Query

from kosmos.accounts.access import require_admin
from kosmos.api.callers import Caller, TheApp
from kosmos.api.shapes import Page, Shape
from kosmos.eval.results import list_results

router = APIRouter(prefix="/evaluations", tags=["evaluations"])


class EvaluationOut(Shape):
    """A run of `kosmos eval`: when, of what, and what it found, without the single questions."""

    name: str
    at: str
    kind: str
    body: Mapping[str, Any]


@router.get("")
async def list_evaluations(
    app: TheApp, who: Caller, limit: Annotated[int, Query(ge=1, le=200)] = 50
) -> Page[EvaluationOut]:
    """The last runs of `kosmos eval`, newest first. Administrators only."""
    require_admin(who)
    found = await asyncio.to_thread(list_results, app.settings.home / "evals", limit=limit)
    return Page(items=[EvaluationOut.model_validate(item) for item in found])
