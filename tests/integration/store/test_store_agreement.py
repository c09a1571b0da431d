"""The same rows in all three stores give the same ranks."""

from pathlib import Path

import numpy as np

from kosmos.store.contract import Query, Store
from kosmos.store.filters import And, Filter, Prefix, Range
from kosmos.store.local import LocalStore
from kosmos.store.milvus import MilvusStore
from kosmos.store.postgres import PostgresStore
from kosmos.store.rows import IndexRow

DIMENSION = 24
FILTERS: list[Filter | None] = [None, And((Range("level", 1, 3), Prefix("source", "docs/中")))]


def _rows(count: int) -> list[IndexRow]:
    chance = np.random.default_rng(3)
    vectors = chance.standard_normal((2, count, DIMENSION)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=2, keepdims=True)
    return [
        IndexRow(
            f"{chance.integers(10**9):09}-{at}",
            {"level": at % 5, "source": f"docs/{'中a'[at % 2]}/{at}.md"},
            {
                route: {int(term): float(chance.integers(1, 40)) / 8 for term in chance.integers(0, 60, 12)}
                for route in ("sparse_vector", "title_sparse")
            },
            {"vector": vectors[0, at], "summary_vector": vectors[1, at]},
        )
        for at in range(count)
    ]


def _queries(seed: int) -> dict[str, Query]:
    chance = np.random.default_rng(seed)
    dense = chance.standard_normal(DIMENSION).astype(np.float32)
    dense /= np.linalg.norm(dense)
    terms = {int(term): float(chance.integers(1, 16)) / 4 for term in chance.integers(0, 60, 6)}
    return {"vector": dense, "summary_vector": dense, "sparse_vector": terms, "title_sparse": terms}


async def test_ranks_agree(tmp_path: Path, milvus: MilvusStore, postgres_url: str) -> None:
    postgres = PostgresStore(postgres_url)
    stores: list[Store] = [LocalStore(tmp_path), milvus, postgres]
    rows = _rows(150)
    for store in stores:
        await store.ensure("agreed", {"vector": DIMENSION, "summary_vector": DIMENSION})
        await store.upsert("agreed", rows)
    for seed, where in ((seed, where) for seed in range(4) for where in FILTERS):
        answers = [await store.search_many("agreed", _queries(seed), k=20, where=where) for store in stores]
        for route in answers[0]:
            ranks = [[hit.pk for hit in answer[route]] for answer in answers]
            assert ranks[0] == ranks[1] == ranks[2], (route, seed, where)
            assert len(ranks[0]) > 3
            scores = [[hit.score for hit in answer[route]] for answer in answers]
            np.testing.assert_allclose(scores[1:], [scores[0]] * 2, rtol=1e-5, atol=1e-6)
    await postgres.close()
