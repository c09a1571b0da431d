"""Rebuilding the index of a space from its chunks: the index is derived, the tables are the truth."""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta

from kosmos.accounts.access import require_space
from kosmos.db import chunks, documents
from kosmos.domain.accounts import Principal, Role
from kosmos.domain.documents import Document
from kosmos.domain.ids import made_at
from kosmos.retrieval.indexing import collection_of, index_rows
from kosmos.store.filters import And, Eq, Filter, In, Not
from kosmos.store.rows import IndexRow
from kosmos.tasks.workbench import Workbench

BATCH = 100
YOUNG = timedelta(hours=1)


async def reindex_space(
    bench: Workbench, who: Principal, space_id: str, *, on_step: Callable[[int, int, str], None]
) -> int:
    """Write the rows of every live chunk again and drop dead ones; how many live rows there are then."""
    async with bench.db.read() as conn:
        await require_space(conn, who, space_id, need=Role.EDITOR)
    collection = collection_of(space_id)
    live: dict[str, int] = {}  # the live generation of each document
    rows, after = 0, ""
    while True:
        async with bench.db.read() as conn:
            batch = await documents.list_documents(conn, space_id, after=after, limit=BATCH)
            found = [(document, await chunks.live_chunks(conn, document.id)) for document in batch]
        if not batch:
            break
        for document, its_chunks in found:
            fresh = index_rows(document, its_chunks)
            await bench.store.upsert(collection, fresh)
            await bench.store.delete(collection, _older_than(document, fresh))
            live[document.id] = document.live_generation
            rows += len(fresh)
            on_step(len(live), 0, document.source)
        after = batch[-1].id
    await bench.store.delete(collection, await _orphans(bench, collection, live))
    return rows


def _older_than(document: Document, fresh: Sequence[IndexRow]) -> Filter:
    """Rows of a document that are of no use; those of a version that is just being added are of use."""
    return And(
        (
            Eq("document_id", document.id),
            In("generation", frozenset(range(document.live_generation + 1))),
            Not(In("pk", frozenset(row.pk for row in fresh))),
        )
    )


async def _orphans(bench: Workbench, collection: str, known: Mapping[str, int]) -> Filter:
    """Rows of documents that are gone, or were never finished; one that is just being added is young."""
    owners = {str(row.fields.get("document_id")) for row in await bench.store.scan(collection)}
    horizon = bench.clock() - YOUNG
    return In("document_id", frozenset(owner for owner in owners - set(known) if made_at(owner) < horizon))
