"""Filling the dense routes of a space."""

from kosmos.retrieval.filling import OnStep, fill_collection
from kosmos.retrieval.indexing import collection_of
from kosmos.tasks.workbench import Workbench


async def fill_space(bench: Workbench, space_id: str, *, on_step: OnStep, tokens: int | None = None) -> int:
    """Give the chunks of a space the vectors that they lack; how many chunks took some."""
    if bench.encoder is None:
        return 0
    return await fill_collection(
        bench.store, collection_of(space_id), bench.encoder, on_step=on_step, tokens=tokens
    )
