"""All tables, whichever there are: read page by page, written, counted and compared."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

import kosmos.db.tables_agents  # noqa: F401 - it declares more tables
from kosmos.archive.rows import Values, dump_row, row_digest
from kosmos.db.tables import metadata

PAGE = 500
WRITTEN = 500
_MODULUS = 2**256


@dataclass(frozen=True, slots=True)
class Content:
    """What is in a table: how many rows, and a number that changes with every one of them."""

    rows: int = 0
    digest: int = 0

    def plus(self, lines: Iterable[str]) -> "Content":
        """The same with more rows; their order does not matter."""
        digests = [row_digest(line) for line in lines]
        return Content(self.rows + len(digests), (self.digest + sum(digests)) % _MODULUS)


Contents = Mapping[str, Content]


def all_tables() -> list[sa.Table]:
    """Every table, those that others refer to first."""
    return list(metadata.sorted_tables)


async def read_pages(
    conn: AsyncConnection, table: sa.Table, where: sa.ColumnElement[bool] | None = None, *, page: int = PAGE
) -> AsyncIterator[list[Values]]:
    """The rows of a table by primary key, some at a time; what is NULL is left out of a row."""
    keys = list(table.primary_key.columns)
    query = _query(table).order_by(*keys).limit(page)
    if where is not None:
        query = query.where(where)
    after: tuple[Any, ...] | None = None
    while True:
        here = query if after is None else query.where(_behind(keys, after))
        found = (await conn.execute(here)).all()
        if found:
            yield [_values(table, row) for row in found]
            after = tuple(found[-1]._mapping[key.name] for key in keys)
        if len(found) < page:
            return


async def write_rows(conn: AsyncConnection, table: sa.Table, rows: Sequence[Values]) -> None:
    """Insert rows; several statements, where rows leave out different columns."""
    groups: dict[tuple[str, ...], list[Values]] = {}
    for row in rows:
        groups.setdefault(tuple(row), []).append(row)
    for names, group in groups.items():
        # Only what the archive names: a table of an earlier revision has fewer columns.
        target = sa.table(table.name, *(sa.column(name, table.c[name].type) for name in names))
        for start in range(0, len(group), WRITTEN):
            await conn.execute(sa.insert(target), group[start : start + WRITTEN])


async def clear(conn: AsyncConnection, table: sa.Table) -> None:
    """Empty a table of which the database has made rows by itself: events of the jobs just written."""
    await conn.execute(sa.delete(sa.table(table.name)))


async def measure(conn: AsyncConnection) -> dict[str, Content]:
    """What is in every table."""
    found: dict[str, Content] = {}
    for table in all_tables():
        content = Content()
        async for rows in read_pages(conn, table):
            content = content.plus(dump_row(table, row) for row in rows)
        found[table.name] = content
    return found


async def filled_tables(conn: AsyncConnection) -> list[str]:
    """The tables that have rows, among those that are there."""
    present = set(await conn.run_sync(lambda sync: sa.inspect(sync).get_table_names()))
    wanted = [table for table in all_tables() if table.name in present]
    return [
        table.name
        for table in wanted
        if await conn.scalar(sa.select(sa.literal(1)).select_from(table).limit(1))
    ]


async def set_counters(conn: AsyncConnection) -> None:
    """Let numbers that PostgreSQL gives by itself go on behind those that were written."""
    if conn.dialect.name != "postgresql":
        return
    for table in all_tables():
        column = table.autoincrement_column
        if column is None:
            continue
        highest = await conn.scalar(sa.select(sa.func.max(column)))
        if highest is not None:
            name = sa.func.pg_get_serial_sequence(f'"{table.name}"', column.name)
            await conn.execute(sa.select(sa.func.setval(name, highest)))


def different(before: Contents, after: Contents) -> list[str]:
    """The tables whose rows are not the same."""
    return sorted(
        name for name in before.keys() | after.keys() if before.get(name, Content()) != after.get(name)
    )


def _query(table: sa.Table) -> sa.Select[Any]:
    """All columns, and for those that tell NULL from the JSON value null, which of both it is."""
    nulls = [column.is_(sa.null()).label(_null(column)) for column in _ambiguous(table)]
    return sa.select(*table.c, *nulls)


def _ambiguous(table: sa.Table) -> list[sa.Column[Any]]:
    return [column for column in table.c if isinstance(column.type, sa.JSON) and not column.type.none_as_null]


def _null(column: sa.Column[Any]) -> str:
    return f"{column.name}__is_null"


def _behind(keys: Sequence[sa.Column[Any]], after: tuple[Any, ...]) -> sa.ColumnElement[bool]:
    last = [sa.literal(value, key.type) for key, value in zip(keys, after, strict=True)]
    behind: sa.ColumnElement[bool] = sa.tuple_(*keys) > sa.tuple_(*last)
    return behind if len(keys) > 1 else keys[0] > last[0]


def _values(table: sa.Table, row: sa.Row[Any]) -> Values:
    found = row._mapping
    unclear = {column.name: bool(found[_null(column)]) for column in _ambiguous(table)}
    names = [column.name for column in table.c]
    return {name: found[name] for name in names if not unclear.get(name, found[name] is None)}
