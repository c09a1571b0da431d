"""PostgresStore: the index in PostgreSQL with pgvector, for those who run that anyway.

Names of tables and columns are made here from numbers; all that comes from outside is a parameter.
"""
# ruff: noqa: S608

from collections.abc import Mapping, Sequence

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.errors import NotFound
from kosmos.store.checks import (
    check_dense,
    check_dimension,
    check_name,
    check_routes,
    check_rows,
)
from kosmos.store.contract import Capabilities, Query, Stats
from kosmos.store.filters import And, Filter, In
from kosmos.store.postgres_engine import Server
from kosmos.store.postgres_filters import Conditions, escape
from kosmos.store.postgres_rows import dense_text, insert_rows, to_row, vector_columns
from kosmos.store.postgres_search import find_best
from kosmos.store.postgres_tables import (
    Table,
    add_route,
    drop_route,
    find_table,
    index_vectors,
    make_table,
)
from kosmos.store.rows import Dense, Found, IndexRow, TermCounts
from kosmos.telemetry.routes import watched_route

EXACT_ROWS = 200_000  # above, `optimize` makes an HNSW index
_BATCH = 500


class PostgresStore:
    """One table for each collection; exact unless `optimize` has made an index for a large one."""

    def __init__(self, url: str, *, exact_rows: int = EXACT_ROWS) -> None:
        self._server = Server(url)
        self._exact_rows = exact_rows

    async def ensure(self, collection: str, dense: Mapping[str, int] | None = None) -> None:
        """Make the collection and its dense routes (name -> dimension) unless they are there."""
        check_name(collection)
        wanted = check_routes(dense)
        async with self._server.write() as conn:
            await self._ensured(conn, collection, dense=wanted)

    async def drop(self, collection: str) -> None:
        """Remove the collection with all its rows."""
        check_name(collection)
        async with self._server.write() as conn:
            if (table := await find_table(conn, collection)) is not None:
                await conn.execute(sa.text(f"DROP TABLE {table.name}"))
                gone = sa.text("DELETE FROM kosmos_index WHERE collection = :name")
                await conn.execute(gone, {"name": collection})

    async def collections(self) -> list[str]:
        """The collections there are."""
        async with self._server.glance() as conn:
            there = await conn.execute(sa.text("SELECT to_regclass('kosmos_index')"))
            if there.scalar() is None:
                return []
            names = await conn.execute(sa.text("SELECT collection FROM kosmos_index"))
            return sorted(names.scalars())

    async def upsert(self, collection: str, rows: Sequence[IndexRow]) -> None:
        """Store rows, each replacing the one of the same pk; all of them or none."""
        check_name(collection)
        sparse = sorted({route for row in rows for route in row.sparse})
        async with self._server.write() as conn:
            known = await find_table(conn, collection)
            checked = check_rows(rows, known.dense if known else {})
            table = await self._ensured(conn, collection, sparse=sparse)
            for start in range(0, len(checked), _BATCH):
                await insert_rows(conn, table, checked[start : start + _BATCH])

    async def fill(self, collection: str, vectors: Mapping[str, Mapping[str, Dense]]) -> int:
        """Give rows that are there (by pk) dense vectors (by route); how many rows took them."""
        check_name(collection)
        taken = 0
        async with self._server.write() as conn:
            table = await self._required(conn, collection)
            for pk, routes in vectors.items():
                checked = {r: check_dense(r, vector, table.dense) for r, vector in routes.items()}
                values = {table.columns[r]: dense_text(vector) for r, vector in checked.items()}
                if values:
                    columns = ", ".join(f"{name} = CAST(:{name} AS vector)" for name in values)
                    change = sa.text(f"UPDATE {table.name} SET {columns} WHERE pk = :pk")
                    taken += (await conn.execute(change, {**values, "pk": escape(pk)})).rowcount
        return taken

    async def empty(self, collection: str, route: str) -> int:
        """Take the vectors of a dense route away and forget its dimension; how many rows had one."""
        check_name(collection)
        async with self._server.write() as conn:
            table = await self._required(conn, collection)
            if route not in table.dense:
                return 0
            count = await conn.execute(sa.text(f"SELECT count({table.columns[route]}) FROM {table.name}"))
            await drop_route(conn, table, collection, route)
            return int(count.scalar_one())

    async def delete(self, collection: str, where: Filter) -> int:
        """Remove the rows that match; how many there were."""
        async with self._server.write() as conn:
            table = await self._found(conn, collection)
            if table is None:
                return 0
            conditions = Conditions()
            gone = sa.text(f"DELETE FROM {table.name} WHERE {conditions.sql(where)}")
            return int((await conn.execute(gone, conditions.values)).rowcount)

    async def get(self, collection: str, pks: Sequence[str], *, vectors: bool = False) -> dict[str, IndexRow]:
        """The rows of these pks that there are."""
        wanted = In("pk", frozenset(pks))
        rows = await self._rows(collection, wanted, limit=max(1, len(pks)), after="", vectors=vectors)
        found = {row.pk: row for row in rows}
        return {pk: found[pk] for pk in dict.fromkeys(pks) if pk in found}

    async def query(self, collection: str, where: Filter, *, limit: int, after: str = "") -> list[IndexRow]:
        """Rows that match, by pk, without their vectors; `after` goes on behind a pk."""
        return await self._rows(collection, where, limit=limit, after=after, vectors=False)

    async def scan(
        self, collection: str, *, after: str = "", limit: int = 1000, vectors: bool = True
    ) -> list[IndexRow]:
        """Rows by pk, for export and rebuilding."""
        return await self._rows(collection, And(()), limit=limit, after=after, vectors=vectors)

    async def count(self, collection: str, where: Filter | None = None) -> int:
        """How many rows there are, or match."""
        async with self._server.glance() as conn:
            table = await self._found(conn, collection)
            return 0 if table is None else await self._counted(conn, table, where)

    async def search(
        self, collection: str, route: str, query: Query, *, k: int, where: Filter | None = None
    ) -> list[Found]:
        """The k best rows of a route by inner product; scores of zero or less dropped, ties broken by pk."""
        return (await self.search_many(collection, {route: query}, k=k, where=where))[route]

    async def search_many(
        self, collection: str, queries: Mapping[str, Query], *, k: int, where: Filter | None = None
    ) -> dict[str, list[Found]]:
        """The same for several routes at once, over one state of the collection."""
        async with self._server.read() as conn:
            table = await self._found(conn, collection)
            if table is None:
                return {route: [] for route in queries}
            found: dict[str, list[Found]] = {}
            for route, query in queries.items():
                with watched_route(route):
                    found[route] = await find_best(conn, table, (route, query), k, where)
            return found

    async def term_counts(self, collection: str, route: str, terms: Sequence[int]) -> TermCounts:
        """In how many rows each of the terms occurs."""
        counts = dict.fromkeys(terms, 0)
        async with self._server.glance() as conn:
            table = await self._found(conn, collection)
            rows = await self._counted(conn, table, None) if table else 0
            if table is None or route not in table.sparse:
                return TermCounts(rows, counts)
            column = f"{table.columns[route]}_terms"
            counted = sa.text(
                f"SELECT t, (SELECT count(*) FROM {table.name} WHERE {column} @> ARRAY[t]) "
                "FROM unnest(CAST(:terms AS integer[])) AS t"
            )
            found = await conn.execute(counted, {"terms": [term for term in counts if 0 <= term < 2**31]})
            return TermCounts(rows, {**counts, **{int(row[0]): int(row[1]) for row in found}})

    async def stats(self, collection: str) -> Stats:
        """How full the collection is."""
        async with self._server.glance() as conn:
            table = await self._found(conn, collection)
            if table is None:
                return Stats(0)
            columns = "".join(f", count({table.columns[route]})" for route in table.dense)
            size = f"pg_total_relation_size('{table.name}')"
            found = await conn.execute(sa.text(f"SELECT count(*), {size}{columns} FROM {table.name}"))
            rows, used, *filled = found.one()
            return Stats(rows, dict(zip(table.dense, filled, strict=True)), dict(table.dense), used)

    async def optimize(self, collection: str) -> None:
        """Gather statistics; where there are many rows, make an HNSW index for each dense route."""
        async with self._server.write() as conn:
            table = await self._required(conn, collection)
            if await self._counted(conn, table, None) > self._exact_rows:
                await index_vectors(conn, table)
            await conn.execute(sa.text(f"ANALYZE {table.name}"))

    def capabilities(self) -> Capabilities:
        """Exact up to so many rows."""
        return Capabilities(exact=True, several_processes=True)

    async def close(self) -> None:
        """Close all connections."""
        await self._server.close()

    async def _found(self, conn: AsyncConnection, collection: str) -> Table | None:
        return await find_table(conn, check_name(collection))

    async def _required(self, conn: AsyncConnection, collection: str) -> Table:
        table = await self._found(conn, collection)
        if table is None:
            raise NotFound(f"There is no collection {collection}.", remedy="Make it with `ensure` first.")
        return table

    async def _ensured(
        self,
        conn: AsyncConnection,
        collection: str,
        *,
        dense: Mapping[str, int] | None = None,
        sparse: Sequence[str] = (),
    ) -> Table:
        if await find_table(conn, collection) is None:
            await make_table(conn, collection)
        table = await self._required(conn, collection)
        routes: dict[str, int | None] = {**dict.fromkeys(sparse), **(dense or {})}
        for route, dimension in routes.items():
            if dimension is not None:
                check_dimension(route, table.dense.get(route), dimension)
            if route not in table.columns:
                await add_route(conn, table, collection, route, dimension)
        return await self._required(conn, collection)

    async def _rows(
        self, collection: str, where: Filter, *, limit: int, after: str, vectors: bool
    ) -> list[IndexRow]:
        async with self._server.glance() as conn:
            table = await self._found(conn, collection)
            if table is None or limit < 1:
                return []
            conditions = Conditions()
            wanted = conditions.sql(where)
            routes = list(table.columns) if vectors else []
            found = await conn.execute(
                sa.text(
                    f"SELECT pk, fields::text{vector_columns(table, routes)} FROM {table.name} "
                    f"WHERE pk > :after AND ({wanted}) ORDER BY pk LIMIT :limit"
                ),
                {**conditions.values, "after": escape(after), "limit": limit},
            )
            return [to_row(tuple(row), routes, table) for row in found]

    async def _counted(self, conn: AsyncConnection, table: Table, where: Filter | None) -> int:
        conditions = Conditions()
        wanted = conditions.sql(where) if where else "TRUE"
        found = await conn.execute(
            sa.text(f"SELECT count(*) FROM {table.name} WHERE {wanted}"), conditions.values
        )
        return int(found.scalar_one())
