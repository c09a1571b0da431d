"""Searching and answering over the spaces that a caller may read."""

from collections.abc import Sequence
from dataclasses import replace

from kosmos.agents.extractive import answer_extractively, quotable
from kosmos.db import documents
from kosmos.domain.accounts import Principal
from kosmos.domain.answers import Answer, Findings, SearchHit
from kosmos.errors import KosmosError
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
    made = answer_extractively(question, hits, likeness=await likeness_of(bench, question, hits))
    async with bench.db.read() as conn:
        named = await documents.get_documents(conn, [item.document_id for item in made.citations])
    versions = {key: document.version for key, document in named.items()}
    dated = (replace(item, version=versions.get(item.document_id, 0)) for item in made.citations)
    return replace(made, citations=tuple(dated))


async def likeness_of(bench: Workbench, question: str, hits: Sequence[SearchHit]) -> dict[str, float]:
    """How like a question each sentence of the hits is, by their vectors; nothing without an encoder."""
    texts = quotable(hits)
    if bench.encoder is None or not texts:
        return {}
    try:
        asked = (await bench.encoder.encode_queries([question]))[0]
        scores = await bench.encoder.encode_passages(texts) @ asked
    except KosmosError:  # words do without it
        return {}
    return {text: float(score) for text, score in zip(texts, scores, strict=True)}
