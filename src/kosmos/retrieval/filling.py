"""Filling the dense routes: chunks are found by their words at once, and by their vectors as these come."""

from collections.abc import Callable, Iterator, Sequence

from kosmos.encoders.contract import Encoder
from kosmos.errors import ProviderUnavailable
from kosmos.retrieval.indexing import dense_texts
from kosmos.retrieval.routes import DENSE
from kosmos.store.contract import Store
from kosmos.store.rows import Dense, IndexRow

PAGE = 500

OnStep = Callable[[int, int, str], None]


async def fill_collection(
    store: Store, collection: str, encoder: Encoder, *, on_step: OnStep, tokens: int | None = None
) -> int:
    """Give the rows of a collection the vectors that they lack; how many rows took some.

    Vectors of another length are another encoder's and make room first. `tokens` limits what is encoded and
    written at once, where a single chunk does not have more.
    """
    stats = await store.stats(collection)
    for route in DENSE:
        if stats.dimensions.get(route, encoder.dimension) != encoder.dimension:
            await store.empty(collection, route)
    await store.ensure(collection, dict.fromkeys(DENSE, encoder.dimension))
    done = seen = 0
    after = ""
    while rows := await store.scan(collection, after=after, limit=PAGE, vectors=True):
        for batch in _batches(rows, tokens):
            done += await _fill(store, collection, encoder, batch)
        seen += len(rows)
        after = rows[-1].pk
        on_step(seen, stats.rows, collection)
    return done


def _batches(rows: Sequence[IndexRow], tokens: int | None) -> Iterator[list[IndexRow]]:
    batch: list[IndexRow] = []
    held = 0
    for row in rows:
        count = int(row.fields.get("token_count") or 0)
        if batch and tokens is not None and held + count > tokens:
            yield batch
            batch, held = [], 0
        batch.append(row)
        held += count
    if batch:
        yield batch


async def _fill(store: Store, collection: str, encoder: Encoder, rows: Sequence[IndexRow]) -> int:
    wanted = [
        (row.pk, route, text)
        for row in rows
        for route, text in dense_texts(row.fields).items()
        if route not in row.dense
    ]
    if not wanted:
        return 0
    texts = list(dict.fromkeys(text for _, _, text in wanted))  # the same text is encoded once
    made = await encoder.encode_passages(texts)
    if len(made) != len(texts):
        raise ProviderUnavailable(f"{encoder.name} gave {len(made)} vectors for {len(texts)} texts.")
    by_text = dict(zip(texts, made, strict=True))
    vectors: dict[str, dict[str, Dense]] = {}
    for pk, route, text in wanted:
        vectors.setdefault(pk, {})[route] = by_text[text]
    return await store.fill(collection, vectors)
