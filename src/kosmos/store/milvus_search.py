"""Searching and reading a collection in Milvus."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kosmos.errors import InvalidInput
from kosmos.store.checks import check_dense, check_sparse
from kosmos.store.contract import Query
from kosmos.store.milvus_schema import Layout
from kosmos.store.rows import Found

PAGE = 1000
MOST = 16_384  # what Milvus gives at once


@dataclass(frozen=True, slots=True)
class Asked:
    """A query on a route, with a filter and the index that is used."""

    route: str
    query: Query
    expression: str
    index_type: str


def read_pages(
    client: Any, collection: str, expression: str, columns: Sequence[str], size: int = PAGE
) -> Iterator[list[Any]]:
    """All that match, by pk."""
    pages = client.query_iterator(collection, batch_size=size, filter=expression, output_fields=list(columns))
    try:
        while page := pages.next():
            yield list(page)
    finally:
        pages.close()


def count_rows(client: Any, collection: str, expression: str) -> int:
    """How many match."""
    (row,) = client.query(collection, filter=expression, output_fields=["count(*)"])
    return int(row["count(*)"])


def find_best(client: Any, collection: str, asked: Asked, k: int, layout: Layout) -> list[Found]:
    """Ask for some more than k, and for more while the last ones tie: Milvus orders ties anyhow."""
    data = _checked(asked, layout)
    if k < 1 or asked.route not in layout.routes or not len(data):
        return []
    limit = k + 16
    while True:
        found = _search(client, collection, asked, data, min(limit, MOST))
        if len(found) < limit or limit >= MOST or found[-1].score < max(found[k - 1].score, 1e-30):
            positive = [hit for hit in found if hit.score > 0]
            return sorted(positive, key=lambda hit: (-hit.score, hit.pk))[:k]
        limit *= 4


def _checked(asked: Asked, layout: Layout) -> Any:
    if not isinstance(asked.query, Mapping):
        return check_dense(asked.route, asked.query, layout.dense)
    if asked.route in layout.dense:
        raise InvalidInput(f"The route {asked.route} is dense; it is searched with a vector.")
    check_sparse(asked.route, asked.query)
    return dict(asked.query)


def _search(client: Any, collection: str, asked: Asked, data: Any, limit: int) -> list[Found]:
    (hits,) = client.search(
        collection,
        [data],
        anns_field=asked.route,
        limit=limit,
        filter=asked.expression,
        output_fields=["pk"],
        search_params={"params": {"ef": 2 * limit}} if asked.index_type == "HNSW" else {},
    )
    return [Found(hit["pk"], float(hit["distance"])) for hit in hits]
