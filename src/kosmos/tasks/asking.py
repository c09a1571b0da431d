"""Searching and answering over the spaces that a caller may read."""

from collections.abc import Sequence

from kosmos.agents.extractive import answer_extractively
from kosmos.domain.accounts import Principal
from kosmos.domain.answers import Answer, Findings, SearchHit
from kosmos.retrieval.search import Wanted
from kosmos.tasks import finding
from kosmos.tasks.workbench import Workbench

ASK_DEPTH = 8


async def search(
    bench: Workbench, who: Principal, query: str, *, space_ids: Sequence[str] | None = None, k: int = 10
) -> list[SearchHit]:
    """The k chunks that fit the query best, from the given spaces or all that the caller may read."""
    return list((await find(bench, who, Wanted(query, k), space_ids=space_ids)).hits)


async def find(
    bench: Workbench, who: Principal, wanted: Wanted, *, space_ids: Sequence[str] | None = None
) -> Findings:
    """What a search brings, with warnings about what it lacks."""
    return await finding.find(bench, who, wanted, space_ids=space_ids)


async def ask(
    bench: Workbench, who: Principal, question: str, *, space_ids: Sequence[str] | None = None
) -> Answer:
    """An answer with citations. Without a model it consists of exact quotes."""
    hits = await search(bench, who, question, space_ids=space_ids, k=ASK_DEPTH)
    return answer_extractively(question, hits)
