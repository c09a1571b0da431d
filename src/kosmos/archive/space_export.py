"""`kosmos export`: one space as a file, as its readers see it now."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.accounts.access import require_space
from kosmos.archive.backup import BlobPacker, describe, pack_rows
from kosmos.archive.holding import held_snapshot
from kosmos.archive.manifest import SPACE, table_part
from kosmos.archive.progress import Step, say_nothing
from kosmos.archive.rows import Values
from kosmos.archive.spaces import CARRIED, blob_queries, rows_of
from kosmos.archive.tables import Content, read_pages
from kosmos.archive.writing import Writer, new_archive, size_of
from kosmos.db.tables import document, knowledge_space
from kosmos.domain.accounts import Principal, Role
from kosmos.errors import DataLost
from kosmos.tasks.workbench import Workbench

_READY = {"status": "READY"}


@dataclass(frozen=True, slots=True)
class Exported:
    """A space in a file. `left_out` are documents without any text yet."""

    file: str
    bytes: int
    documents: int
    chunks: int
    blobs: int
    left_out: int


async def export_space(
    bench: Workbench, who: Principal, space_id: str, file: Path, *, step: Step = say_nothing
) -> Exported:
    """Write a space into a new file. Its owner only: the file holds what is hidden from readers, too."""
    async with bench.db.read() as conn:
        await require_space(conn, who, space_id, need=Role.OWNER)
    with new_archive(file) as writer:
        packer = BlobPacker(writer, bench.blobs, step)
        async with held_snapshot(bench.db, packer.copy, blob_queries(space_id)) as conn:
            tables = {}
            for number, table in enumerate(CARRIED):
                step(number, len(CARRIED), table.name)
                tables[table.name] = await _pack(conn, writer, table, space_id)
            waiting = await _waiting(conn, space_id)
        if packer.missing:
            raise DataLost(
                f"{len(packer.missing)} files of the space are lost.",
                remedy="See which with: kosmos verify; add them again.",
            )
        packer.list_all()
        writer.close(describe(SPACE, writer, tables, packer, bench.clock()))
    counts = (tables["document"].rows, tables["chunk"].rows, len(packer.sizes))
    return Exported(str(file), size_of(file), *counts, left_out=waiting)


async def _pack(conn: AsyncConnection, writer: Writer, table: sa.Table, space_id: str) -> Content:
    content = Content()
    with writer.part(table_part(table.name)) as part:
        async for rows in read_pages(conn, table, rows_of(table, space_id)):
            sent = [_settled(table, row) for row in rows]
            content = await asyncio.to_thread(pack_rows, part, table, sent, content)
    return content


def _settled(table: sa.Table, row: Values) -> Values:
    """Without what says that something newer is on its way, or who owns it."""
    if table is knowledge_space:
        return {name: value for name, value in row.items() if name != "owner_id"}
    if table is document:
        kept = {name: value for name, value in row.items() if name not in ("draft_generation", "error")}
        return kept | _READY
    return row


async def _waiting(conn: AsyncConnection, space_id: str) -> int:
    query = sa.select(sa.func.count()).select_from(document)
    here = sa.and_(document.c.space_id == space_id, document.c.live_generation == 0)
    return int(await conn.scalar(query.where(here)) or 0)
