"""The index in PostgreSQL: one table a collection, a column of pgvector for each route."""

from collections.abc import Mapping
from dataclasses import dataclass
from weakref import WeakSet

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.errors import EngineUnavailable

TERMS = 1_000_000_000  # the dimensions that a sparse column of pgvector can have
_LOCK = 7_241_836_215_004  # any number: one process at a time changes tables
_TABLES = (
    "CREATE EXTENSION IF NOT EXISTS vector",
    "CREATE TABLE IF NOT EXISTS kosmos_index (id serial PRIMARY KEY, collection text NOT NULL UNIQUE)",
    """CREATE TABLE IF NOT EXISTS kosmos_index_route (id serial PRIMARY KEY,
       collection text NOT NULL REFERENCES kosmos_index (collection) ON DELETE CASCADE,
       name text NOT NULL, dimension integer, UNIQUE (collection, name))""",
)
_WITH_LISTS: WeakSet[sa.Pool] = WeakSet()


@dataclass(frozen=True, slots=True)
class Table:
    """The table of a collection; columns by route, and the dimensions of dense routes."""

    name: str
    columns: Mapping[str, str]
    dense: Mapping[str, int]

    @property
    def sparse(self) -> list[str]:
        """The sparse routes."""
        return [route for route in self.columns if route not in self.dense]


async def find_table(conn: AsyncConnection, collection: str) -> Table | None:
    """The table of a collection, if there is one."""
    if not await _has_lists(conn):
        return None
    found = await conn.execute(
        sa.text(
            "SELECT i.id, r.id, r.name, r.dimension FROM kosmos_index i "
            "LEFT JOIN kosmos_index_route r USING (collection) WHERE collection = :name ORDER BY r.id"
        ),
        {"name": collection},
    )
    rows = found.fetchall()
    if not rows:
        return None
    routes = [row for row in rows if row[1] is not None]
    return Table(
        f"kosmos_index_{rows[0][0]}",
        {row[2]: f"r{row[1]}" for row in routes},
        {row[2]: row[3] for row in routes if row[3] is not None},
    )


async def _has_lists(conn: AsyncConnection) -> bool:
    """Whether the lists of collections and routes are there. Once a reader has seen them, they stay."""
    pool = conn.engine.sync_engine.pool
    if pool in _WITH_LISTS:
        return True
    there = (await conn.execute(sa.text("SELECT to_regclass('kosmos_index_route')"))).scalar() is not None
    if there and "isolation_level" in await conn.run_sync(lambda sync: sync.get_execution_options()):
        _WITH_LISTS.add(pool)  # a writer may have made them itself, and take that back
    return there


async def make_table(conn: AsyncConnection, collection: str) -> None:
    """Make the table of a collection unless it is there."""
    await conn.execute(sa.text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    if await find_table(conn, collection) is not None:
        return
    for statement in _TABLES:
        await _make(conn, statement)
    made = await conn.execute(
        sa.text("INSERT INTO kosmos_index (collection) VALUES (:name) RETURNING id"), {"name": collection}
    )
    table = f"kosmos_index_{made.scalar_one()}"
    await conn.execute(
        sa.text(f'CREATE TABLE {table} (pk text COLLATE "C" PRIMARY KEY, fields jsonb NOT NULL)')
    )
    await conn.execute(sa.text(f"CREATE INDEX ON {table} USING gin (fields jsonb_path_ops)"))


async def _make(conn: AsyncConnection, statement: str) -> None:
    try:
        await conn.execute(sa.text(statement))
    except sa.exc.DBAPIError as error:
        if "EXTENSION" not in statement:
            raise
        raise EngineUnavailable(
            f"The PostgreSQL of the index has no pgvector: {str(error.orig).strip()}.",
            remedy="Install pgvector 0.7 or newer there; as its administrator, run: CREATE EXTENSION vector",
        ) from error


async def add_route(
    conn: AsyncConnection, table: Table, collection: str, route: str, dimension: int | None
) -> None:
    """Give the table a column for a route; a sparse one (without dimension) also one for its terms."""
    await conn.execute(sa.text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    made = await conn.execute(
        sa.text(
            "INSERT INTO kosmos_index_route (collection, name, dimension) "
            "VALUES (:collection, :name, :dimension) ON CONFLICT DO NOTHING RETURNING id"
        ),
        {"collection": collection, "name": route, "dimension": dimension},
    )
    number = made.scalar()
    if number is None:
        return
    kind = f"vector({dimension})" if dimension else f"sparsevec({TERMS})"
    await conn.execute(sa.text(f"ALTER TABLE {table.name} ADD COLUMN r{number} {kind}"))
    if dimension is None:
        await conn.execute(sa.text(f"ALTER TABLE {table.name} ADD COLUMN r{number}_terms integer[]"))
        await conn.execute(sa.text(f"CREATE INDEX ON {table.name} USING gin (r{number}_terms)"))


async def drop_route(conn: AsyncConnection, table: Table, collection: str, route: str) -> None:
    """Take a route's column away."""
    where = {"collection": collection, "name": route}
    await conn.execute(
        sa.text("DELETE FROM kosmos_index_route WHERE collection = :collection AND name = :name"), where
    )
    await conn.execute(sa.text(f"ALTER TABLE {table.name} DROP COLUMN {table.columns[route]}"))


async def index_vectors(conn: AsyncConnection, table: Table) -> None:
    """Make an HNSW index for each dense route that has none; searching is no longer exact then."""
    for route in table.dense:
        column = table.columns[route]
        await conn.execute(
            sa.text(
                f"CREATE INDEX IF NOT EXISTS {near_index(table, route)} ON {table.name} "
                f"USING hnsw ({column} vector_ip_ops) WITH (m = 16, ef_construction = 100)"
            )
        )


def near_index(table: Table, route: str) -> str:
    """The name of the HNSW index of a route."""
    return f"{table.name}_{table.columns[route]}_near"
