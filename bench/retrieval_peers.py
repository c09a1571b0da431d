"""Peers behind the same calls: LanceDB and Milvus Lite, where they are installed. Does nothing when run.

They get keys, vectors and the field of the filter, and no other fields.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from retrieval_data import DENSE, DIMENSION, SPARSE, Question, blocks, document_of, pk_of
from retrieval_engines import Engine, Ranked


def _words(terms: Any) -> str:
    return " ".join(f"t{term}" for term in terms)


class Lance:
    """LanceDB: exact vector search; for sparse routes its own full text index over the same terms."""

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder / "lance")
        self._table: Any = None

    def ingest(self, rows: int) -> None:
        """Arrow batches, then the indexes for text and filter."""
        import lancedb
        import pyarrow as pa

        base = lancedb.connect(self._folder)
        for part in blocks(rows):
            count = len(part.dense[DENSE[0]])
            numbers = range(part.first, part.first + count)
            columns: dict[str, Any] = {
                "pk": [pk_of(row) for row in numbers],
                "document_id": [document_of(row) for row in numbers],
                **{route: [_words(terms) for terms in part.terms[route]] for route in SPARSE},
            }
            for route in DENSE:
                flat = pa.array(part.dense[route].ravel())
                columns[route] = pa.FixedSizeListArray.from_arrays(flat, DIMENSION)
            data = pa.table(columns)
            self._table = (
                self._table.add(data) and self._table if self._table else base.create_table("bench", data)
            )
        for route in SPARSE:
            self._table.create_fts_index(route, with_position=False)
        self._table.create_scalar_index("document_id")
        self._table.optimize()

    def open(self) -> None:
        """Open the table again."""
        import lancedb

        self._table = lancedb.connect(self._folder).open_table("bench")

    def search(self, question: Question, k: int, *, filtered: bool) -> Ranked:
        """One query a route."""
        found: Ranked = {}
        for route, query in question.dense.items():
            found[route] = self._ask(
                self._table.search(query, vector_column_name=route).distance_type("dot"),
                question,
                k,
                filtered,
            )
        for route, terms in question.sparse.items():
            asked = self._table.search(_words(terms), query_type="fts", fts_columns=route)
            found[route] = self._ask(asked, question, k, filtered)
        return found

    def _ask(self, asked: Any, question: Question, k: int, filtered: bool) -> list[str]:
        if filtered:
            asked = asked.where(f"document_id = '{question.document}'", prefilter=True)
        keys: list[str] = asked.select(["pk"]).limit(k).to_arrow()["pk"].to_pylist()
        return keys


class MilvusLite:
    """Milvus Lite: FLAT for dense, an inverted index for sparse routes."""

    def __init__(self, folder: Path) -> None:
        self._file = str(folder / "milvus.db")
        self._client: Any = None

    def ingest(self, rows: int) -> None:
        """A collection with four vector columns."""
        from pymilvus import DataType

        self.open()
        schema = self._client.create_schema(auto_id=False, enable_dynamic_field=False)
        schema.add_field("pk", DataType.VARCHAR, max_length=64, is_primary=True)
        schema.add_field("document_id", DataType.VARCHAR, max_length=64)
        indexes = self._client.prepare_index_params()
        for route in DENSE:
            schema.add_field(route, DataType.FLOAT_VECTOR, dim=DIMENSION)
            indexes.add_index(route, index_type="FLAT", metric_type="IP")
        for route in SPARSE:
            schema.add_field(route, DataType.SPARSE_FLOAT_VECTOR)
            indexes.add_index(route, index_type="SPARSE_INVERTED_INDEX", metric_type="IP")
        self._client.create_collection("bench", schema=schema, index_params=indexes)
        for part in blocks(rows):
            made = [self._entity(part, at) for at in range(len(part.dense[DENSE[0]]))]
            for start in range(0, len(made), 1000):
                self._client.insert("bench", made[start : start + 1000])
        self._client.flush("bench")

    def _entity(self, part: Any, at: int) -> dict[str, Any]:
        row = part.first + at
        entity: dict[str, Any] = {"pk": pk_of(row), "document_id": document_of(row)}
        entity |= {route: part.dense[route][at] for route in DENSE}
        for route in SPARSE:
            entity[route] = dict(
                zip(part.terms[route][at].tolist(), part.weights[route][at].tolist(), strict=True)
            )
        return entity

    def open(self) -> None:
        """Start Milvus Lite on the file."""
        from pymilvus import MilvusClient

        if self._client is not None:
            self._client.close()
        self._client = MilvusClient(self._file)
        if self._client.has_collection("bench"):
            self._client.load_collection("bench")

    def search(self, question: Question, k: int, *, filtered: bool) -> Ranked:
        """One query a route."""
        where = f'document_id == "{question.document}"' if filtered else ""
        found: Ranked = {}
        for route, query in {**question.dense, **question.sparse}.items():
            (hits,) = self._client.search(
                "bench", [query], anns_field=route, limit=k, filter=where, output_fields=["pk"]
            )
            found[route] = [hit["pk"] for hit in hits]
        return found


PEERS: dict[str, Callable[[Path], Engine]] = {"LanceDB": Lance, "Milvus Lite": MilvusLite}
