"""The rows of a space in a file of anybody: what they must look like, and which ids they get here."""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.archive.manifest import table_part
from kosmos.archive.reading import Reader
from kosmos.archive.rows import Values, load_row, refused
from kosmos.archive.spaces import CARRIED
from kosmos.db.tables import asset, chunk, document, document_version, knowledge_space
from kosmos.domain.ids import new_id

_IDS = ("id", "space_id", "document_id", "parent_id", "chunk_id", "asset_id")
_HASHES = ("original_sha256", "canonical_sha256", "extract_sha256", "sha256")
_GIVEN_HERE = {"owner_id"}
_AT_ONCE = 500


@dataclass(slots=True)
class Known:
    """What has been seen of a space so far: ids that later rows may refer to."""

    space: Values = field(default_factory=dict)
    documents: dict[str, int] = field(default_factory=dict)  # their live generations
    chunks: dict[str, str] = field(default_factory=dict)  # the documents that they are of
    assets: set[str] = field(default_factory=set)
    versions: set[str] = field(default_factory=set)

    @property
    def ids(self) -> list[str]:
        """All ids."""
        return [str(self.space["id"]), *self.documents, *self.chunks, *self.assets]


def read_rows(reader: Reader, table: sa.Table) -> Iterator[Values]:
    """The rows of a table, each by itself in order."""
    for line in reader.lines(table_part(table.name)):
        row = load_row(table, line)
        _check_whole(table, row)
        for name in _HASHES:
            if name in row and row[name] not in reader.blobs:
                raise refused(f"{table.name}.{name} names bytes that are not in it")
        yield row


def check_rows(reader: Reader) -> Known:
    """Read all rows once and see that they make up one space; nothing is written."""
    expected = {table_part(table.name) for table in CARRIED}
    if {name for name in reader.manifest.parts if name.startswith("tables/")} != expected:
        raise refused("its tables are not those of a space")
    known = Known()
    for table in CARRIED:
        for row in read_rows(reader, table):
            _add(known, table, row)
        if not known.space:
            raise refused("it holds no space")
    if set(known.documents) != known.versions:
        raise refused("a document lacks its version")
    lonely = [row for row in known.chunks.values() if row not in known.documents]
    if lonely:
        raise refused("a chunk belongs to no document")
    return known


async def choose_ids(conn: AsyncConnection, known: Known) -> dict[str, str]:
    """New ids for those that are taken here; all others stay."""
    taken: set[str] = set()
    ids = known.ids
    for table in (knowledge_space, document, chunk, asset):
        for start in range(0, len(ids), _AT_ONCE):
            query = sa.select(table.c.id).where(table.c.id.in_(ids[start : start + _AT_ONCE]))
            taken.update((await conn.execute(query.distinct())).scalars())
    return {identity: new_id() for identity in ids if identity in taken}


def renamed(row: Values, ids: Mapping[str, str]) -> Values:
    """The row with the ids that it gets here."""
    return row | {name: ids.get(row[name], row[name]) for name in _IDS if name in row}


def _check_whole(table: sa.Table, row: Values) -> None:
    for column in table.c:
        if not column.nullable and column.name not in row and column.name not in _GIVEN_HERE:
            raise refused(f"a row of {table.name} lacks {column.name}")
        if isinstance(column.type, sa.JSON) and not isinstance(row.get(column.name, {}), dict):
            raise refused(f"{table.name}.{column.name} is no object")
        if column.name in _IDS and column.name in row and not _is_id(row[column.name]):
            raise refused(f"{table.name}.{column.name} is no id")


def _is_id(value: Any) -> bool:
    try:
        return isinstance(value, str) and str(uuid.UUID(value)) == value
    except (ValueError, AttributeError, TypeError):
        return False


def _add(known: Known, table: sa.Table, row: Values) -> None:
    """Remember a row, if it fits those before it."""
    if table is knowledge_space:
        if known.space or _GIVEN_HERE & row.keys():
            raise refused("it holds several spaces, or says who owns one")
        known.space = row
        return
    if row.get("space_id", known.space["id"]) != known.space["id"]:
        raise refused(f"a row of {table.name} is of another space")
    if table is document:
        _once(row["id"] not in known.documents and row["live_generation"] > 0, table)
        known.documents[row["id"]] = row["live_generation"]
    elif "document_id" in row:
        _once(known.documents.get(row["document_id"]) == row["generation"], table)
        _add_part(known, table, row)
    else:
        _once(row["asset_id"] in known.assets and row["chunk_id"] in known.chunks, table)


def _add_part(known: Known, table: sa.Table, row: Values) -> None:
    if table is document_version:
        _once(row["document_id"] not in known.versions, table)
        known.versions.add(row["document_id"])
    elif table is chunk:
        _once(row["id"] not in known.chunks, table)
        known.chunks[row["id"]] = row["document_id"]
    else:
        _once(row["id"] not in known.assets, table)
        known.assets.add(row["id"])


def _once(fits: bool, table: sa.Table) -> None:
    if not fits:
        raise refused(f"a row of {table.name} is there twice, or refers to nothing")


def in_pages(rows: Iterator[Values], size: int = _AT_ONCE) -> Iterator[Sequence[Values]]:
    """Rows, some at a time."""
    page: list[Values] = []
    for row in rows:
        page.append(row)
        if len(page) == size:
            yield page
            page = []
    if page:
        yield page
