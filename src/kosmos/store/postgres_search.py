"""Searching a table of pgvector. Names of tables and columns are made from numbers."""
# ruff: noqa: S608

from collections.abc import Mapping

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.errors import InvalidInput
from kosmos.store.checks import check_dense, check_sparse
from kosmos.store.contract import Query
from kosmos.store.filters import Filter
from kosmos.store.postgres_filters import Conditions, unescape
from kosmos.store.postgres_rows import dense_text, sparse_text
from kosmos.store.postgres_tables import Table, near_index
from kosmos.store.rows import Found

MORE = 4  # of the nearest that an index knows, so many times as many are looked at


async def find_best(
    conn: AsyncConnection, table: Table, asked: tuple[str, Query], k: int, where: Filter | None
) -> list[Found]:
    """The k best rows of a route."""
    conditions = Conditions()
    terms = _terms(table, asked, conditions)
    if terms is None or k < 1:
        return []
    distance, only = terms
    wanted = conditions.sql(where) if where else "TRUE"
    cut = f"ORDER BY {distance} LIMIT {MORE * k}" if await _use_index(conn, table, asked[0], k) else ""
    found = await conn.execute(
        sa.text(
            f"SELECT pk, score FROM (SELECT pk, -({distance}) AS score FROM {table.name} "
            f"WHERE {only} AND ({wanted}) {cut}) AS scored "
            "WHERE score > 0 ORDER BY score DESC, pk LIMIT :k"
        ),
        {**conditions.values, "k": k},
    )
    return [Found(unescape(pk), float(value)) for pk, value in found]


def _terms(table: Table, asked: tuple[str, Query], conditions: Conditions) -> tuple[str, str] | None:
    """The distance of a row, and which rows have one: sparse vectors without a common term have none."""
    route, query = asked
    if not isinstance(query, Mapping):
        conditions.values["query"] = dense_text(check_dense(route, query, table.dense))
        column = table.columns[route]
        return f"{column} <#> CAST(:query AS vector)", f"{column} IS NOT NULL"
    check_sparse(route, query)
    if route in table.dense:
        raise InvalidInput(f"The route {route} is dense; it is searched with a vector.")
    if route not in table.columns or not query:
        return None
    column = table.columns[route]
    conditions.values |= {"query": sparse_text(query), "terms": sorted(query)}
    return f"{column} <#> CAST(:query AS sparsevec)", f"{column}_terms && CAST(:terms AS integer[])"


async def _use_index(conn: AsyncConnection, table: Table, route: str, k: int) -> bool:
    """Whether the route has an HNSW index, which is then told to look at enough."""
    if route not in table.dense:
        return False
    there = await conn.execute(sa.text("SELECT to_regclass(:name)"), {"name": near_index(table, route)})
    if there.scalar() is None:
        return False
    await conn.execute(sa.text(f"SET LOCAL hnsw.ef_search = {min(1000, max(100, MORE * k))}"))
    await conn.execute(sa.text("SET LOCAL hnsw.iterative_scan = strict_order"))
    return True
