"""Rows as PostgreSQL keeps them, and vectors as pgvector reads and writes them."""
# ruff: noqa: S608  (names of tables and columns are made from numbers)

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.errors import InvalidInput
from kosmos.store.checks import fields_json
from kosmos.store.postgres_filters import ESCAPE, escape, escape_all, unescape, unescape_all
from kosmos.store.postgres_tables import TERMS, Table
from kosmos.store.rows import Dense, IndexRow, Sparse


async def insert_rows(conn: AsyncConnection, table: Table, rows: Sequence[IndexRow]) -> None:
    """Put rows in, each replacing the one of the same pk."""
    columns = {column: "sparsevec" for route, column in table.columns.items() if route not in table.dense}
    columns |= {f"{column}_terms": "integer[]" for column in list(columns)}
    columns |= {table.columns[route]: "vector" for route in table.dense}
    names = "".join(f", {name}" for name in columns)
    values = "".join(f", CAST(:{name} AS {kind})" for name, kind in columns.items())
    changes = "".join(f", {name} = excluded.{name}" for name in columns)
    statement = sa.text(
        f"INSERT INTO {table.name} (pk, fields{names}) VALUES (:pk, CAST(:fields AS jsonb){values}) "
        f"ON CONFLICT (pk) DO UPDATE SET fields = excluded.fields{changes}"
    )
    await conn.execute(statement, [_values(row, table) for row in rows])


def to_row(values: tuple[Any, ...], routes: Sequence[str], table: Table) -> IndexRow:
    """The row again: pk, fields, then the vectors of the routes."""
    pk, fields, *vectors = values
    given = {route: text for route, text in zip(routes, vectors, strict=True) if text is not None}
    known = json.loads(fields)
    return IndexRow(
        pk=unescape(pk),
        fields=unescape_all(known) if ESCAPE in fields else known,  # almost never: looking at each is dear
        sparse={route: read_sparse(text) for route, text in given.items() if route not in table.dense},
        dense={route: read_dense(text) for route, text in given.items() if route in table.dense},
    )


def _values(row: IndexRow, table: Table) -> dict[str, Any]:
    fields = json.dumps(escape_all(json.loads(fields_json(row))))
    return {"pk": escape(row.pk), "fields": fields, **row_values(row.sparse, row.dense, table)}


def dense_text(vector: Dense | None) -> str | None:
    """A dense vector as pgvector reads it."""
    return None if vector is None else f"[{','.join(map(repr, vector.tolist()))}]"


def sparse_text(vector: Sparse | None) -> str | None:
    """A sparse vector as pgvector reads it: terms count from 1, and there are no zeros."""
    if vector is None:
        return None
    check_terms(vector)
    pairs = sorted((term, weight) for term, weight in vector.items() if weight)
    return f"{{{','.join(f'{term + 1}:{float(weight)!r}' for term, weight in pairs)}}}/{TERMS}"


def check_terms(vector: Iterable[int]) -> None:
    """Refuse terms that a sparse column cannot hold."""
    if any(not 0 <= term < TERMS for term in vector):
        raise InvalidInput(f"A term is not between 0 and {TERMS - 1}, as PostgreSQL needs it.")


def read_dense(text: str) -> Dense:
    """A dense vector from what pgvector writes."""
    return np.fromstring(text[1:-1], np.float32, sep=",")


def read_sparse(text: str) -> dict[int, float]:
    """A sparse vector from what pgvector writes."""
    inner = text[1 : text.index("}")]
    pairs = (pair.split(":") for pair in inner.split(",") if pair)
    return {int(term) - 1: float(weight) for term, weight in pairs}


def row_values(sparse: Mapping[str, Sparse], dense: Mapping[str, Dense], table: Table) -> dict[str, Any]:
    """The vectors of a row by column."""
    values: dict[str, Any] = {}
    for route, column in table.columns.items():
        if route in table.dense:
            values[column] = dense_text(dense.get(route))
        else:
            vector = sparse.get(route)
            values[column] = sparse_text(vector)
            values[f"{column}_terms"] = None if vector is None else sorted(vector)
    return values


def vector_columns(table: Table, routes: Sequence[str]) -> str:
    """What to select for the vectors of routes."""
    return "".join(f", {table.columns[route]}::text" for route in routes)
