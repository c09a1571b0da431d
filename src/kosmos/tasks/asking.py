"""Searching and answering over the spaces that a caller may read."""

from collections.abc import Sequence

from kosmos.accounts.access import require_space, visible_space_ids
from kosmos.agents.extractive import answer_extractively
from kosmos.db import chunks, documents
from kosmos.domain.accounts import Principal
from kosmos.domain.answers import Answer, SearchHit
from kosmos.domain.blocks import without_comments
from kosmos.retrieval.indexing import collection_of
from kosmos.retrieval.search import MAX_K, Ranked, check_query, search_collections
from kosmos.tasks.showing import shown_chunk
from kosmos.tasks.workbench import Workbench

ASK_DEPTH = 8


async def search(
    bench: Workbench, who: Principal, query: str, *, space_ids: Sequence[str] | None = None, k: int = 10
) -> list[SearchHit]:
    """The k chunks that fit the query best, from the given spaces or all that the caller may read."""
    check_query(query, k)
    async with bench.db.read() as conn:
        if space_ids is None:
            space_ids = await visible_space_ids(conn, who)
        else:
            for space_id in space_ids:
                await require_space(conn, who, space_id)
    # More than wanted, and more again: rows whose chunk is not live drop out.
    collections, depth = [collection_of(space_id) for space_id in space_ids], min(k + 10, MAX_K)
    while True:
        ranked = await search_collections(bench.store, collections, query, k=depth)
        hits = await _live_hits(bench, ranked, space_ids)
        if len(hits) >= k or len(ranked) < depth or depth == MAX_K:
            return hits[:k]
        depth = min(4 * depth, MAX_K)


async def _live_hits(bench: Workbench, ranked: Sequence[Ranked], space_ids: Sequence[str]) -> list[SearchHit]:
    async with bench.db.read() as conn:
        live = await chunks.live_chunks_by_id(conn, [item.chunk_id for item in ranked])
        sources = await documents.get_documents(conn, list({chunk.document_id for chunk in live.values()}))
    hits = []
    for item in ranked:
        chunk = live.get(item.chunk_id)
        document = sources.get(chunk.document_id) if chunk else None
        if chunk is None or document is None or chunk.space_id not in space_ids:
            continue
        shown = shown_chunk(chunk)
        hits.append(
            SearchHit(
                document_id=document.id,
                source=document.source,
                title=document.title,
                chunk_id=chunk.id,
                start_line=chunk.start_line,
                end_line=chunk.end_line,
                page=chunk.metadata.get("page"),
                text=shown.raw_content,
                summary=without_comments(chunk.summary),
                score=item.score,
                routes=item.routes,
            )
        )
    return hits


async def ask(
    bench: Workbench, who: Principal, question: str, *, space_ids: Sequence[str] | None = None
) -> Answer:
    """An answer with citations. Without a model it consists of exact quotes."""
    hits = await search(bench, who, question, space_ids=space_ids, k=ASK_DEPTH)
    return answer_extractively(question, hits)
