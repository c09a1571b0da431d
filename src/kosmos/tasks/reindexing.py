"""Rebuilding the index of a space from its chunks: the index is derived, the tables are the truth."""

from collections.abc import Callable
from datetime import timedelta

from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.accounts.access import require_space
from kosmos.chunking.redaction import Kinds
from kosmos.db import chunks, documents
from kosmos.domain.accounts import Principal, Role
from kosmos.domain.chunks import Chunk
from kosmos.domain.documents import Document
from kosmos.domain.ids import made_at
from kosmos.domain.space_settings import read_settings
from kosmos.retrieval.indexing import collection_of, dead_rows, index_rows
from kosmos.store.filters import Filter, In
from kosmos.tasks.navigating import relate
from kosmos.tasks.pipeline import describe_chunks
from kosmos.tasks.showing import shown_chunks
from kosmos.tasks.workbench import Workbench

BATCH = 100
YOUNG = timedelta(hours=1)


async def reindex_space(
    bench: Workbench, who: Principal, space_id: str, *, on_step: Callable[[int, int, str], None]
) -> int:
    """Write the rows of every live chunk again and drop dead ones; how many live rows there are then."""
    async with bench.db.read() as conn:
        space = (await require_space(conn, who, space_id, need=Role.EDITOR)).space
    kinds = read_settings(space.settings).hidden_kinds
    collection = collection_of(space_id)
    known: set[str] = set()
    rows, after = 0, ""
    while True:
        async with bench.db.read() as conn:
            batch = await documents.list_documents(conn, space_id, after=after, limit=BATCH)
            found = [(document, *await _live(conn, document, kinds)) for document in batch]
            sources = await bench.sources.get(conn, space_id)
        if not batch:
            break
        for document, its_chunks, described in found:
            related = relate(document, its_chunks, sources)
            fresh = index_rows(document, shown_chunks(its_chunks), described, related=related)
            await bench.store.upsert(collection, fresh)
            await bench.store.delete(collection, dead_rows(document, fresh))
            known.add(document.id)
            rows += len(fresh)
            on_step(len(known), 0, document.source)
        after = batch[-1].id
    await bench.store.delete(collection, await _orphans(bench, collection, known))
    return rows


async def _live(
    conn: AsyncConnection, document: Document, kinds: Kinds
) -> tuple[list[Chunk], dict[str, str]]:
    live = await chunks.live_chunks(conn, document.id)
    return live, await describe_chunks(conn, document.id, document.live_generation, live, kinds=kinds)


async def _orphans(bench: Workbench, collection: str, known: set[str]) -> Filter:
    """Rows of documents that are gone, or were never finished; one that is just being added is young."""
    owners: set[str] = set()
    after = ""
    while rows := await bench.store.scan(collection, after=after, vectors=False):
        owners |= {str(row.fields.get("document_id")) for row in rows}
        after = rows[-1].pk
    horizon = bench.clock() - YOUNG
    return In("document_id", frozenset(owner for owner in owners - known if made_at(owner) < horizon))
