"""MilvusStore: the index in Milvus: a server, a cluster, or Milvus Lite in a file for trying things out.

Every call is a blocking one of pymilvus in a thread. What Milvus cannot do by itself is done here: fields
that are missing, rows without vectors, ties in order of pk, counting terms.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from kosmos.errors import EngineUnavailable, NotFound
from kosmos.store.checks import (
    check_dense,
    check_dimension,
    check_name,
    check_routes,
    check_rows,
)
from kosmos.store.contract import Capabilities, Query, Stats
from kosmos.store.filters import And, Filter, In, Range
from kosmos.store.milvus_connection import Connection
from kosmos.store.milvus_filters import ALL, to_expression
from kosmos.store.milvus_rows import filled_field, from_entity, terms_field, to_entity
from kosmos.store.milvus_schema import Layout, create, read_layout
from kosmos.store.milvus_search import PAGE, Asked, count_rows, find_best, read_pages
from kosmos.store.rows import Dense, Found, IndexRow, TermCounts
from kosmos.telemetry.routes import watched_route

BATCH = 200  # rows in one request: those with long texts must stay below the limit of gRPC
_NEXT = "__next"
T = TypeVar("T")


class MilvusStore:
    """One Milvus collection for each collection."""

    def __init__(self, uri: str, *, token: str = "", database: str = "", index_type: str = "FLAT") -> None:
        self._lite = "://" not in uri
        self._layouts: dict[str, Layout] = {}
        # Another process may have changed a collection: what is known is forgotten when something fails.
        self._connection = Connection(uri, token, database, forget=self._layouts.clear)
        self._index_type = "FLAT" if self._lite else index_type

    async def ensure(self, collection: str, dense: Mapping[str, int] | None = None) -> None:
        """Make the collection and its dense routes (name -> dimension) unless they are there."""
        await asyncio.to_thread(self._ensure, check_name(collection), check_routes(dense), ())

    async def drop(self, collection: str) -> None:
        """Remove the collection with all its rows."""
        await asyncio.to_thread(self._drop, check_name(collection))

    async def collections(self) -> list[str]:
        """The collections there are."""
        return await asyncio.to_thread(self._collections)

    async def upsert(self, collection: str, rows: Sequence[IndexRow]) -> None:
        """Store rows, each replacing the one of the same pk; if it fails, some batches may be there."""
        await asyncio.to_thread(self._upsert, check_name(collection), rows)

    async def fill(self, collection: str, vectors: Mapping[str, Mapping[str, Dense]]) -> int:
        """Give rows that are there (by pk) dense vectors (by route); how many rows took them."""
        return await asyncio.to_thread(self._fill, check_name(collection), vectors)

    async def empty(self, collection: str, route: str) -> int:
        """Take the vectors of a dense route away and forget its dimension; how many rows had one."""
        return await asyncio.to_thread(self._empty, check_name(collection), route)

    async def delete(self, collection: str, where: Filter) -> int:
        """Remove the rows that match; how many there were."""
        return await asyncio.to_thread(self._delete, check_name(collection), where)

    async def get(self, collection: str, pks: Sequence[str], *, vectors: bool = False) -> dict[str, IndexRow]:
        """The rows of these pks that there are."""
        return await asyncio.to_thread(self._read, self._get, check_name(collection), pks, vectors)

    async def query(self, collection: str, where: Filter, *, limit: int, after: str = "") -> list[IndexRow]:
        """Rows that match, by pk, without their vectors; `after` goes on behind a pk."""
        return await asyncio.to_thread(
            self._read, self._page, check_name(collection), where, limit, after, False
        )

    async def scan(
        self, collection: str, *, after: str = "", limit: int = 1000, vectors: bool = True
    ) -> list[IndexRow]:
        """Rows by pk, for export and rebuilding."""
        return await asyncio.to_thread(
            self._read, self._page, check_name(collection), None, limit, after, vectors
        )

    async def count(self, collection: str, where: Filter | None = None) -> int:
        """How many rows there are, or match."""
        return await asyncio.to_thread(self._read, self._count, check_name(collection), where)

    async def search(
        self, collection: str, route: str, query: Query, *, k: int, where: Filter | None = None
    ) -> list[Found]:
        """The k best rows of a route by inner product; scores of zero or less dropped, ties broken by pk."""
        with watched_route(route):
            return await asyncio.to_thread(
                self._read, self._search, check_name(collection), route, query, k, where
            )

    async def search_many(
        self, collection: str, queries: Mapping[str, Query], *, k: int, where: Filter | None = None
    ) -> dict[str, list[Found]]:
        """The same for several routes, one after another."""
        return {
            route: await self.search(collection, route, query, k=k, where=where)
            for route, query in queries.items()
        }

    async def term_counts(self, collection: str, route: str, terms: Sequence[int]) -> TermCounts:
        """In how many rows each of the terms occurs."""
        return await asyncio.to_thread(self._read, self._term_counts, check_name(collection), route, terms)

    async def stats(self, collection: str) -> Stats:
        """How full the collection is; Milvus does not tell its bytes."""
        return await asyncio.to_thread(self._read, self._stats, check_name(collection))

    async def optimize(self, collection: str) -> None:
        """Let Milvus write what it holds in memory and compact it."""
        await asyncio.to_thread(self._optimize, check_name(collection))

    def capabilities(self) -> Capabilities:
        """Exact unless HNSW was asked for."""
        return Capabilities(exact=self._index_type == "FLAT", several_processes=True)

    async def close(self) -> None:
        """Close the connection."""
        await asyncio.to_thread(self._connection.close)

    def _layout(self, client: Any, collection: str) -> Layout | None:
        """The routes of a collection; None if it is not there."""
        known = self._layouts.get(collection)
        if known is None:
            if not client.has_collection(collection) and not self._recover(collection):
                return None
            known = self._layouts[collection] = read_layout(client, collection)
            client.load_collection(collection)
        return known

    def _recover(self, collection: str) -> bool:
        """A rebuilt collection takes the place of another now, or was to when somebody died."""
        with self._connection.write() as client:
            if client.has_collection(collection):
                return True
            if not client.has_collection(collection + _NEXT):
                return False
            client.rename_collection(collection + _NEXT, collection)
            return True

    def _read(self, work: Callable[..., T], *arguments: Any) -> T:
        """Read beside a writer; what fails because a collection is being written anew is tried again."""
        try:
            return work(*arguments)
        except EngineUnavailable:
            if not self._lite:
                raise
        with self._connection.write():
            return work(*arguments)

    def _look(self, client: Any, collection: str) -> Layout | None:
        """The routes as they are now, whatever was known of them."""
        self._layouts.pop(collection, None)
        return self._layout(client, collection)

    def _require(self, client: Any, collection: str) -> Layout:
        layout = self._layout(client, collection)
        if layout is None:
            raise NotFound(f"There is no collection {collection}.", remedy="Make it with `ensure` first.")
        return layout

    def _ensure(self, collection: str, dense: Mapping[str, int], sparse: Sequence[str]) -> Layout:
        """Milvus cannot add vector columns: a collection that needs more of them is written anew."""
        with self._connection.write() as client:
            layout = self._layout(client, collection)
            for route, dimension in dense.items():
                check_dimension(route, layout.dense.get(route) if layout else None, dimension)
            wanted = Layout.of(layout, dense, sparse)
            if layout is None:
                create(client, collection, wanted, lite=self._lite, index_type=self._index_type)
            elif wanted != layout:
                self._rebuild(client, collection, layout, wanted)
            self._layouts[collection] = wanted
            return wanted

    def _rebuild(self, client: Any, collection: str, layout: Layout, wanted: Layout) -> None:
        fresh = collection + _NEXT
        create(client, fresh, wanted, lite=self._lite, index_type=self._index_type)
        for entities in read_pages(client, collection, ALL, ["*"]):
            rows = [from_entity(entity, sorted(layout.dense), vectors=True) for entity in entities]
            kept = [
                replace(row, dense={r: v for r, v in row.dense.items() if r in wanted.dense}) for row in rows
            ]
            self._insert(client, fresh, wanted, kept)
        client.drop_collection(collection)
        client.rename_collection(fresh, collection)
        client.load_collection(collection)
        self._layouts.pop(collection, None)

    def _drop(self, collection: str) -> None:
        with self._connection.write() as client:
            self._layouts.pop(collection, None)
            for name in (collection + _NEXT, collection):
                if client.has_collection(name):
                    client.drop_collection(name)

    def _collections(self) -> list[str]:
        with self._connection.use() as client:
            return sorted({name.removesuffix(_NEXT) for name in client.list_collections()})

    def _upsert(self, collection: str, rows: Sequence[IndexRow]) -> None:
        sparse = sorted({route for row in rows for route in row.sparse})
        with self._connection.write() as client:
            known = self._layout(client, collection)
            checked = check_rows(rows, known.dense if known else {})
            layout = self._ensure(collection, {}, sparse)
            self._insert(client, collection, layout, checked)

    def _insert(self, client: Any, collection: str, layout: Layout, rows: Sequence[IndexRow]) -> None:
        for start in range(0, len(rows), BATCH):
            part = rows[start : start + BATCH]
            client.upsert(collection, [to_entity(row, layout.dense, layout.sparse) for row in part])

    def _fill(self, collection: str, vectors: Mapping[str, Mapping[str, Dense]]) -> int:
        with self._connection.write() as client:
            layout = self._require(client, collection)
            checked = {
                pk: {route: check_dense(route, vector, layout.dense) for route, vector in routes.items()}
                for pk, routes in vectors.items()
            }
            there = self._get(collection, [pk for pk, routes in checked.items() if routes], True)
            rows = [replace(row, dense={**row.dense, **checked[pk]}) for pk, row in there.items()]
            self._insert(client, collection, layout, rows)
            return len(rows)

    def _empty(self, collection: str, route: str) -> int:
        with self._connection.write() as client:
            layout = self._require(client, collection)
            if route not in layout.dense:
                return 0
            filled = count_rows(client, collection, f"{filled_field(route)} == true")
            self._rebuild(client, collection, layout, layout.without(route))
            return filled

    def _delete(self, collection: str, where: Filter) -> int:
        with self._connection.write() as client:
            if self._layout(client, collection) is None:
                return 0
            pages = read_pages(client, collection, to_expression(where), ["pk"])
            pks = [entity["pk"] for page in pages for entity in page]
            for start in range(0, len(pks), PAGE):
                client.delete(collection, ids=pks[start : start + PAGE])
            return len(pks)

    def _get(self, collection: str, pks: Sequence[str], vectors: bool) -> dict[str, IndexRow]:
        found: dict[str, IndexRow] = {}
        for start in range(0, len(pks), PAGE):
            where = In("pk", frozenset(pks[start : start + PAGE]))
            found |= {row.pk: row for row in self._page(collection, where, PAGE, "", vectors)}
        return {pk: found[pk] for pk in dict.fromkeys(pks) if pk in found}

    def _page(
        self, collection: str, where: Filter | None, limit: int, after: str, vectors: bool
    ) -> list[IndexRow]:
        with self._connection.use() as client:
            layout = self._look(client, collection) if vectors else self._layout(client, collection)
            if layout is None or limit < 1:
                return []
            behind = (Range("pk", low=after),) if after else ()
            expression = to_expression(And((*behind, *((where,) if where else ()))))
            columns = ["*"] if vectors else layout.columns
            rows: list[IndexRow] = []
            for page in read_pages(client, collection, expression, columns, size=min(limit + 1, PAGE)):
                shown = [from_entity(item, sorted(layout.dense), vectors=vectors) for item in page]
                rows += [row for row in shown if row.pk > after]
                if len(rows) >= limit:
                    break
            return rows[:limit]

    def _count(self, collection: str, where: Filter | None) -> int:
        with self._connection.use() as client:
            if self._layout(client, collection) is None:
                return 0
            return count_rows(client, collection, to_expression(where) if where else "")

    def _search(self, collection: str, route: str, query: Query, k: int, where: Filter | None) -> list[Found]:
        with self._connection.use() as client:
            layout = self._layout(client, collection)
            if layout is not None and not layout.suits(route, query):
                layout = self._look(client, collection)  # another process may have given it this route
            if layout is None:
                return []
            asked = Asked(route, query, to_expression(where) if where else "", self._index_type)
            return find_best(client, collection, asked, k, layout)

    def _term_counts(self, collection: str, route: str, terms: Sequence[int]) -> TermCounts:
        with self._connection.use() as client:
            layout = self._layout(client, collection)
            if layout is None:
                return TermCounts(0, dict.fromkeys(terms, 0))
            rows = count_rows(client, collection, "")
            if route not in layout.sparse:
                return TermCounts(rows, dict.fromkeys(terms, 0))
            column = terms_field(route)
            return TermCounts(
                rows,
                {term: count_rows(client, collection, f"array_contains({column}, {term})") for term in terms},
            )

    def _stats(self, collection: str) -> Stats:
        with self._connection.use() as client:
            layout = self._look(client, collection)
            if layout is None:
                return Stats(0)
            filled = {
                route: count_rows(client, collection, f"{filled_field(route)} == true")
                for route in layout.dense
            }
            return Stats(count_rows(client, collection, ""), filled, dict(layout.dense))

    def _optimize(self, collection: str) -> None:
        with self._connection.write() as client:
            self._require(client, collection)
            if client.has_collection(collection + _NEXT):  # somebody died while writing it
                client.drop_collection(collection + _NEXT)
            client.flush(collection)
            client.compact(collection)
