"""Rebuilding the index of a space from its chunks: the index is derived, the tables are the truth.

Rows are replaced one document after another, so readers always have the old ones or the new ones.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.chunking.redaction import Kinds
from kosmos.db import chunks, documents
from kosmos.domain.chunks import Chunk
from kosmos.domain.documents import Document
from kosmos.domain.ids import made_at
from kosmos.jobs.run import Run
from kosmos.retrieval.indexing import collection_of, dead_rows, index_rows
from kosmos.store.filters import Filter, In
from kosmos.tasks.navigating import relate
from kosmos.tasks.pipeline import Result, describe_chunks, let_encode, write_rows
from kosmos.tasks.showing import settings_of, shown_chunks
from kosmos.tasks.workbench import Workbench

REINDEXING = "reindexing"
BATCH = 100
YOUNG = timedelta(hours=1)


async def reindexing_of(_conn: AsyncConnection, space_id: str, _context: Mapping[str, Any]) -> dict[str, Any]:
    """What all jobs that rebuild the index of a space have in common: there is one at a time."""
    return {"dedupe_key": f"{REINDEXING}:{space_id}"}


async def reindex(bench: Workbench, run: Run) -> Result:
    """`reindexing`: the rows of every live chunk are written again, and dead ones dropped."""
    space_id = run.job.space_id or ""
    done, rows = int(run.progress.get("current_documents", 0)), int(run.progress.get("rows", 0))
    after = str(run.progress.get("after", ""))
    while True:
        run.check()
        async with bench.db.read() as conn:
            batch = await documents.list_documents(conn, space_id, after=after, limit=BATCH)
            total = await documents.count_documents(conn, space_id)
        if not batch:
            break
        for document in batch:
            rows += await reindex_document(bench, document)
        after, done = batch[-1].id, done + len(batch)
        counts = {"current_documents": done, "total_documents": max(total, done), "rows": rows}
        made = []
        async with run.batch({**counts, "after": after}) as conn:
            for document in batch:
                made += await let_encode(bench, conn, run, document)
        bench.wake([job.id for job in made])
    collection = collection_of(space_id)
    await bench.store.delete(collection, await _orphans(bench, collection))
    return {"rows": rows, "documents": done}


async def reindex_document(bench: Workbench, document: Document) -> int:
    """Write the rows of a document again, and drop its dead ones; how many it has."""
    async with bench.db.read() as conn:
        kinds = (await settings_of(conn, document.space_id)).hidden_kinds
        found, described = await _live(conn, document, kinds)
        sources = await bench.sources.get(conn, document.space_id)
    collection = collection_of(document.space_id)
    fresh = index_rows(document, shown_chunks(found), described, related=relate(document, found, sources))
    await write_rows(bench.store, collection, fresh)
    await bench.store.delete(collection, dead_rows(document, fresh))
    return len(fresh)


async def _live(
    conn: AsyncConnection, document: Document, kinds: Kinds
) -> tuple[list[Chunk], dict[str, str]]:
    live = await chunks.live_chunks(conn, document.id)
    return live, await describe_chunks(conn, document.id, document.live_generation, live, kinds=kinds)


async def _orphans(bench: Workbench, collection: str) -> Filter:
    """Rows of documents that are gone, or were never finished; one that is just being added is young."""
    owners: set[str] = set()
    after = ""
    while rows := await bench.store.scan(collection, after=after, vectors=False):
        owners |= {str(row.fields.get("document_id")) for row in rows}
        after = rows[-1].pk
    async with bench.db.read() as conn:
        known = await documents.get_documents(conn, sorted(owners))
    horizon = bench.clock() - YOUNG
    return In("document_id", frozenset(owner for owner in owners - known.keys() if made_at(owner) < horizon))
