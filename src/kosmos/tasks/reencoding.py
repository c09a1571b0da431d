"""Changing the encoder of a space: the new vectors are made beside the old ones, then the index changes over.

While they are made, search goes on with the old ones. Vectors that are made lie in the table of all that
encoders have made, so the change itself only writes them into the index.
"""

from collections.abc import AsyncIterator, Mapping
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.db import documents
from kosmos.db import space_encoders as table
from kosmos.domain.documents import Document
from kosmos.domain.spaces import SpaceEncoder
from kosmos.encoders.catalog import NONE
from kosmos.encoders.contract import Encoder
from kosmos.encoders.spending import spending_told
from kosmos.jobs.run import Run
from kosmos.retrieval.indexing import collection_of
from kosmos.retrieval.routes import DENSE
from kosmos.store.rows import Dense
from kosmos.tasks.filling import CHUNKS_PER_BATCH, encode_batch, fill_rows, read_passages
from kosmos.tasks.pipeline import Result
from kosmos.tasks.space_encoders import check_encoder
from kosmos.tasks.workbench import Workbench

REENCODING = "reencoding"
PAGE = 100


async def reencoding_of(_conn: AsyncConnection, space_id: str, context: Mapping[str, Any]) -> dict[str, Any]:
    """What all jobs that change the encoder of a space have in common: there is one at a time."""
    check_encoder(context.get("encoder"))
    return {"dedupe_key": f"{REENCODING}:{space_id}"}


async def change_encoder(bench: Workbench, run: Run) -> Result:
    """`reencoding`: every chunk of the space gets a vector of the new encoder, then these are the ones."""
    setting = check_encoder(run.job.context.get("encoder"))
    encoder = None if setting == NONE else await _open(bench, setting)
    chosen = SpaceEncoder(encoder.name if encoder else "", setting)
    if not run.progress.get("changed"):
        if encoder is not None:
            async for _ in _made(bench, run, encoder, "current_encoded"):
                pass
        await _change_over(bench, run, chosen)
    filled = 0
    if encoder is not None:
        async for vectors in _made(bench, run, encoder, "current_documents"):
            filled += await fill_rows(bench.store, run.job.space_id or "", vectors)
    return {"encoder": chosen.name or None, "vectors": filled}


async def _open(bench: Workbench, setting: str) -> Encoder | None:
    """The encoder of the instance, if that is the one; none is opened twice."""
    return bench.encoder if setting == bench.encoder_setting else await bench.encoders.get(setting)


async def _made(
    bench: Workbench, run: Run, encoder: Encoder, counter: str
) -> AsyncIterator[dict[str, dict[str, Dense]]]:
    """The vectors of all chunks, some at a time; what is behind a yield is done and recorded by document."""
    space_id, place = run.job.space_id or "", f"after_{counter}"
    done, after = int(run.progress.get(counter, 0)), str(run.progress.get(place, ""))
    while True:
        async with bench.db.read() as conn:
            batch = await documents.list_documents(conn, space_id, after=after, limit=PAGE)
            total = await documents.count_documents(conn, space_id)
        for document in batch:
            async for vectors in _of_document(bench, run, encoder, document):
                yield vectors
            after, done = document.id, done + 1
            numbers = {counter: done, "total_documents": max(total, done), place: after}
            async with run.batch({**run.progress, **numbers}):
                pass
        if not batch:
            return


async def _of_document(
    bench: Workbench, run: Run, encoder: Encoder, document: Document
) -> AsyncIterator[dict[str, dict[str, Dense]]]:
    wanted = await read_passages(bench, document)
    pks = list(wanted)
    for start in range(0, len(pks), CHUNKS_PER_BATCH):
        run.check()
        with spending_told(run.spend):
            vectors = await encode_batch(
                bench, encoder, {pk: wanted[pk] for pk in pks[start : start + CHUNKS_PER_BATCH]}
            )
        yield vectors


async def _change_over(bench: Workbench, run: Run, chosen: SpaceEncoder) -> None:
    """From here on the space has the new encoder. The old vectors go first: two kinds never mix."""
    space_id = run.job.space_id or ""
    for route in DENSE:
        await bench.store.empty(collection_of(space_id), route)
    async with run.batch({**run.progress, "changed": True}) as conn:
        await table.put_encoder(conn, space_id, chosen, run.clock())
