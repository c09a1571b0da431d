"""The index of a space, made anew from its chunks and known vectors: nothing is encoded."""

from dataclasses import dataclass

import numpy as np

from kosmos.archive.progress import Step, say_nothing
from kosmos.db import documents, space_encoders
from kosmos.db.embeddings import get_vectors
from kosmos.db.tables import knowledge_space
from kosmos.domain.documents import Document
from kosmos.encoders.cached import text_hash
from kosmos.retrieval.indexing import collection_of
from kosmos.store.rows import Dense
from kosmos.tasks.filling import CHUNKS_PER_BATCH, Texts, fill_rows, read_passages
from kosmos.tasks.reindexing import reindex_document
from kosmos.tasks.workbench import Workbench

PAGE = 100


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """Rows of the index: how many, how many of them have vectors, and how many wait for an encoder."""

    rows: int = 0
    vectors: int = 0
    waiting: int = 0

    def __add__(self, other: "Rebuilt") -> "Rebuilt":
        return Rebuilt(self.rows + other.rows, self.vectors + other.vectors, self.waiting + other.waiting)


async def space_ids(bench: Workbench) -> list[str]:
    """All spaces of the instance."""
    async with bench.db.read() as conn:
        query = knowledge_space.select().order_by(knowledge_space.c.id)
        return [row.id for row in await conn.execute(query)]


async def rebuild_indexes(bench: Workbench, step: Step = say_nothing) -> Rebuilt:
    """The index of every space."""
    total = Rebuilt()
    for space_id in await space_ids(bench):
        total += await rebuild_index(bench, space_id, step)
    return total


async def rebuild_index(bench: Workbench, space_id: str, step: Step = say_nothing) -> Rebuilt:
    """Whatever the index had of the space goes; then its rows are written, and what vectors there are."""
    await bench.store.drop(collection_of(space_id))
    async with bench.db.read() as conn:
        chosen = await space_encoders.get_encoder(conn, space_id)
        count = await documents.count_documents(conn, space_id)
    total, after, done = Rebuilt(), "", 0
    while True:
        async with bench.db.read() as conn:
            page = await documents.list_documents(conn, space_id, after=after, limit=PAGE)
        for document in page:
            if document.live_generation:
                rows = await reindex_document(bench, document)
                total += Rebuilt(rows=rows) + await _fill(bench, document, chosen.name if chosen else "")
            done, after = done + 1, document.id
            step(done, count, document.source)
        if not page:
            return total


async def _fill(bench: Workbench, document: Document, encoder: str) -> Rebuilt:
    wanted = await read_passages(bench, document) if encoder else {}
    pks, vectors, waiting = list(wanted), 0, 0
    for start in range(0, len(pks), CHUNKS_PER_BATCH):
        batch = {pk: wanted[pk] for pk in pks[start : start + CHUNKS_PER_BATCH]}
        known = await _known(bench, encoder, batch)
        vectors += await fill_rows(bench.store, document.space_id, known)
        waiting += len(batch) - len(known)
    return Rebuilt(vectors=vectors, waiting=waiting)


async def _known(bench: Workbench, encoder: str, batch: dict[str, Texts]) -> dict[str, dict[str, Dense]]:
    """The vectors of those chunks that have one for each route."""
    hashes = {pk: {route: text_hash(text) for route, text in texts.items()} for pk, texts in batch.items()}
    wanted = sorted({sha256 for by_route in hashes.values() for sha256 in by_route.values()})
    async with bench.db.read() as conn:
        found = await get_vectors(conn, encoder, wanted)
    return {
        pk: {route: np.frombuffer(found[sha], "<f4").astype(np.float32) for route, sha in by_route.items()}
        for pk, by_route in hashes.items()
        if all(sha in found for sha in by_route.values())
    }
