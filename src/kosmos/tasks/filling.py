"""Dense vectors for rows that are in the index already: batch by batch, so that a job goes on where it was.

A document is found by its sparse routes at once; this is what follows. A batch is filled into the store
before it is recorded: one that was lost in between is taken from the cache of vectors and filled again.
"""

from collections.abc import Mapping

from kosmos.db import chunks, documents, space_encoders
from kosmos.domain.documents import Document
from kosmos.encoders.cached import encode_cached
from kosmos.encoders.contract import Encoder
from kosmos.encoders.spending import spending_told
from kosmos.jobs.run import Run
from kosmos.retrieval.indexing import collection_of, passages
from kosmos.retrieval.routes import SUMMARY_DENSE, TEXT_DENSE
from kosmos.store.contract import Store
from kosmos.store.rows import Dense
from kosmos.tasks.generations import get_document, superseded
from kosmos.tasks.pipeline import Result, describe_chunks
from kosmos.tasks.showing import settings_of, shown_chunks
from kosmos.tasks.space_encoders import claim_encoder
from kosmos.tasks.workbench import Workbench

TEXT_ROUTE = TEXT_DENSE
SUMMARY_ROUTE = SUMMARY_DENSE
CHUNKS_PER_BATCH = 64
Texts = Mapping[str, str]  # by route


async def encode_document(bench: Workbench, run: Run) -> Result:
    """`encoding`: the rows of the live version get their dense vectors."""
    document = await get_document(run)
    told = run.job.context.get("version", document.live_generation)
    if told != document.live_generation:
        raise superseded(document)
    while True:
        encoder = await claim_encoder(bench, document.space_id)
        if encoder is None:
            return {"vectors": 0, "encoder": None}
        filled = await fill_vectors(bench, run, document, encoder)
        if filled is not None:
            return {"vectors": filled, "encoder": encoder.name}


async def fill_vectors(bench: Workbench, run: Run, document: Document, encoder: Encoder) -> int | None:
    """Encode the live chunks of a document and give their rows the vectors; how many rows took some.

    A newer version that becomes live meanwhile ends it: that one is filled by its own job. None when the
    space has changed to another encoder.
    """
    wanted = await read_passages(bench, document)
    pks = list(wanted)
    done = await _begin(run, document, encoder, len(pks))
    filled = 0
    while done < len(pks):
        run.check()
        batch = {pk: wanted[pk] for pk in pks[done : done + CHUNKS_PER_BATCH]}
        with spending_told(run.spend):
            vectors = await encode_batch(bench, encoder, batch)
        filled += await fill_rows(bench.store, document.space_id, vectors)
        done += len(batch)
        async with run.batch({**run.progress, "current_vectors": done}) as conn:
            present = await documents.get_document(conn, document.id)
            chosen = await space_encoders.get_encoder(conn, document.space_id)
        if chosen is not None and chosen.name != encoder.name:
            return None
        if present is None or present.live_generation != document.live_generation:
            break
    return filled


async def read_passages(bench: Workbench, document: Document) -> Mapping[str, Texts]:
    """What of each live chunk is encoded, by route: as it may be shown, since an encoder may be anywhere."""
    async with bench.db.read() as conn:
        found = await chunks.live_chunks(conn, document.id)
        kinds = (await settings_of(conn, document.space_id)).hidden_kinds
        described = await describe_chunks(conn, document.id, document.live_generation, found, kinds=kinds)
    return passages(document, shown_chunks(found), described)


async def _begin(run: Run, document: Document, encoder: Encoder, total: int) -> int:
    """How many chunks have their vectors already; other vectors or another version begin anew."""
    same = {"encoder": encoder.name, "vectors_of": document.live_generation, "total_vectors": total}
    if all(run.progress.get(key) == value for key, value in same.items()):
        return int(run.progress.get("current_vectors", 0))
    async with run.restart({**run.progress, **same, "current_vectors": 0}):
        return 0


async def encode_batch(
    bench: Workbench, encoder: Encoder, batch: Mapping[str, Texts]
) -> dict[str, dict[str, Dense]]:
    """The vectors of some chunks by route; those that were made before are only looked up."""
    places = [(pk, route, text) for pk, texts in batch.items() for route, text in texts.items()]
    made = await encode_cached(bench.db, encoder, [text for _, _, text in places], clock=bench.clock)
    vectors: dict[str, dict[str, Dense]] = {}
    for (pk, route, _), vector in zip(places, made, strict=True):
        vectors.setdefault(pk, {})[route] = vector
    return vectors


async def fill_rows(store: Store, space_id: str, vectors: Mapping[str, Mapping[str, Dense]]) -> int:
    """Give rows of a space their vectors; how many rows took some."""
    if not vectors:
        return 0
    collection = collection_of(space_id)
    length = len(next(iter(vectors.values()))[TEXT_ROUTE])
    await store.ensure(collection, {TEXT_ROUTE: length, SUMMARY_ROUTE: length})
    return await store.fill(collection, vectors)
