"""The collection in Milvus: its columns and indexes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kosmos.store.contract import Query
from kosmos.store.milvus_rows import (
    FLAGS,
    LINKS,
    LIST_ITEM,
    LISTS,
    MAX_TERMS,
    NUMBERS,
    TEXTS,
    filled_field,
    terms_field,
)

SPARSE = ("sparse_vector", "title_sparse")
PK_BYTES = 512
INDEXED = ("source", "node_type", "level", "title")  # columns with an index of their own
HNSW = {"M": 16, "efConstruction": 200}


@dataclass(frozen=True, slots=True)
class Layout:
    """The routes of a collection."""

    dense: Mapping[str, int]
    sparse: tuple[str, ...]

    @classmethod
    def of(cls, known: "Layout | None", dense: Mapping[str, int], sparse: Sequence[str]) -> "Layout":
        """What is known, with more routes."""
        before = known or cls({}, SPARSE)
        return cls({**before.dense, **dense}, tuple(sorted({*before.sparse, *sparse})))

    def without(self, route: str) -> "Layout":
        """The same without a dense route."""
        return Layout({name: size for name, size in self.dense.items() if name != route}, self.sparse)

    @property
    def routes(self) -> frozenset[str]:
        """The names of all routes."""
        return frozenset({*self.dense, *self.sparse})

    def suits(self, route: str, query: Query) -> bool:
        """Whether a query on a route makes sense."""
        if isinstance(query, Mapping):
            return route in self.sparse
        return self.dense.get(route) == len(query)

    @property
    def columns(self) -> list[str]:
        """The columns that make up the fields of a row."""
        return ["pk", *TEXTS, *NUMBERS, *FLAGS, *LISTS, LINKS, "rest"]


def read_layout(client: Any, collection: str) -> Layout:
    """The routes of a collection that is there."""
    from pymilvus import DataType

    fields = client.describe_collection(collection)["fields"]
    dense = {f["name"]: int(f["params"]["dim"]) for f in fields if f["type"] == DataType.FLOAT_VECTOR}
    sparse = [f["name"] for f in fields if f["type"] == DataType.SPARSE_FLOAT_VECTOR]
    return Layout(dense, tuple(sorted(sparse)))


def create(client: Any, collection: str, layout: Layout, *, lite: bool, index_type: str) -> None:
    """Make the collection with its indexes and load it."""
    if client.has_collection(collection):
        client.drop_collection(collection)
    client.create_collection(
        collection,
        schema=_schema(client, layout),
        index_params=_indexes(client, layout, lite=lite, index_type=index_type),
        consistency_level="Strong",  # what was written is found
    )


def _schema(client: Any, layout: Layout) -> Any:
    from pymilvus import DataType

    schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
    schema.add_field("pk", DataType.VARCHAR, max_length=PK_BYTES, is_primary=True)
    for name, size in TEXTS.items():
        schema.add_field(name, DataType.VARCHAR, max_length=size)
    for name in NUMBERS:
        schema.add_field(name, DataType.INT64)
    for name in FLAGS:
        schema.add_field(name, DataType.BOOL)
    for name, size in LISTS.items():
        schema.add_field(
            name, DataType.ARRAY, element_type=DataType.VARCHAR, max_capacity=size, max_length=LIST_ITEM
        )
    for name in (LINKS, "rest", "filters"):
        schema.add_field(name, DataType.JSON)
    for route, dimension in layout.dense.items():
        schema.add_field(route, DataType.FLOAT_VECTOR, dim=dimension)
        schema.add_field(filled_field(route), DataType.BOOL)
    for route in layout.sparse:
        schema.add_field(route, DataType.SPARSE_FLOAT_VECTOR)
        schema.add_field(
            terms_field(route), DataType.ARRAY, element_type=DataType.INT64, max_capacity=MAX_TERMS
        )
    return schema


def _indexes(client: Any, layout: Layout, *, lite: bool, index_type: str) -> Any:
    indexes = client.prepare_index_params()
    for route in layout.dense:
        params: dict[str, Any] = HNSW if index_type == "HNSW" else {}
        indexes.add_index(route, index_type=index_type, metric_type="COSINE", params=params)
    for route in layout.sparse:
        # Milvus Lite does without: dropping small weights makes results inexact.
        params = {} if lite else {"drop_ratio_build": 0.2}
        indexes.add_index(route, index_type="SPARSE_INVERTED_INDEX", metric_type="IP", params=params)
    for name in INDEXED if not lite else ():
        indexes.add_index(name, index_type="INVERTED")
    for route in layout.sparse if not lite else ():
        indexes.add_index(terms_field(route), index_type="INVERTED")
    return indexes
