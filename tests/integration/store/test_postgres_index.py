"""Large tables in PostgreSQL: an HNSW index that still finds nearly all, also behind a filter."""

import numpy as np
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import create_async_engine

from kosmos.store.filters import Eq, Filter
from kosmos.store.postgres import PostgresStore
from kosmos.store.rows import IndexRow


async def test_an_index_of_near_vectors(postgres_url: str) -> None:
    chance = np.random.default_rng(4)
    vectors = chance.standard_normal((1500, 16)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    store = PostgresStore(postgres_url, exact_rows=1000)
    await store.ensure("c", {"vector": 16})
    rows = [IndexRow(f"{at:04}", {"part": at % 50}, {}, {"vector": v}) for at, v in enumerate(vectors)]
    await store.upsert("c", rows)
    await store.optimize("c")
    wheres: tuple[Filter | None, ...] = (None, Eq("part", 7))
    for where in wheres:
        kept = [at for at in range(1500) if where is None or at % 50 == 7]
        hits = total = 0
        for query in vectors[:20]:
            best = sorted(kept, key=lambda at: -float(vectors[at] @ query))[:10]
            best = [at for at in best if float(vectors[at] @ query) > 0]
            found = await store.search("c", "vector", query, k=10, where=where)
            assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
            hits += len({f"{at:04}" for at in best} & {hit.pk for hit in found})
            total += len(best)
        assert hits >= 0.95 * total
    engine = create_async_engine(sa.make_url(postgres_url).set(drivername="postgresql+psycopg"))
    async with engine.connect() as conn:
        used = await conn.execute(sa.text("SELECT count(*) FROM pg_indexes WHERE indexdef LIKE '%hnsw%'"))
        assert used.scalar_one() == 1
    await engine.dispose()
    await store.close()
