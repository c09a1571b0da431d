"""`kosmos backup`: everything that is not derived, in one file, while the instance goes on."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos import __version__
from kosmos.archive.holding import held_snapshot
from kosmos.archive.manifest import BACKUP, BLOBS, Manifest, blob_part, table_part
from kosmos.archive.progress import Step, say_nothing
from kosmos.archive.rows import Values, dump_row
from kosmos.archive.tables import Content, all_tables, read_pages
from kosmos.archive.waiting import pack_waiting, waiting_runs
from kosmos.archive.writing import PartWriter, Writer, new_archive, size_of
from kosmos.blobs.contract import Blobs
from kosmos.db.migrate import HEAD
from kosmos.errors import DataLost
from kosmos.tasks.workbench import Workbench


@dataclass(frozen=True, slots=True)
class Made:
    """An archive that was made. `missing` are the hashes of bytes that the instance had lost before.

    `waiting` runs can go on from it once they get their word.
    """

    file: str
    bytes: int
    rows: int
    blobs: int
    missing: tuple[str, ...]
    waiting: int = 0


class BlobPacker:
    """Puts stored bytes into an archive, each once; remembers those that cannot be read."""

    def __init__(self, writer: Writer, blobs: Blobs, step: Step = say_nothing) -> None:
        self._writer, self._blobs, self._step = writer, blobs, step
        self.sizes: dict[str, int] = {}
        self.missing: set[str] = set()

    async def copy(self, sha256: str) -> None:
        """Put these bytes into the archive, unless they are there."""
        if sha256 in self.sizes:
            return
        try:
            # In memory, since a part that was begun cannot be taken back; a file is as large as allowed.
            data = await self._blobs.read(sha256)
        except DataLost:
            self.missing.add(sha256)
            return
        self.missing.discard(sha256)
        await asyncio.to_thread(self._write, sha256, data)
        self.sizes[sha256] = len(data)
        self._step(len(self.sizes), 0, "files")

    def list_all(self) -> None:
        """Write down what there is."""
        with self._writer.part(BLOBS) as part:
            part.write_lines(
                [json.dumps({"sha256": sha256, "size": size}) for sha256, size in self.sizes.items()]
            )

    def _write(self, sha256: str, data: bytes) -> None:
        with self._writer.part(blob_part(sha256)) as part:
            part.write(data)


async def back_up(
    bench: Workbench, file: Path, *, secrets: Mapping[str, str] | None = None, step: Step = say_nothing
) -> Made:
    """Write a backup into a new file; `secrets` are the key and the token, where those are wanted."""
    with new_archive(file) as writer:
        packer = BlobPacker(writer, bench.blobs, step)
        async with held_snapshot(bench.db, packer.copy) as conn:
            tables = await _pack_tables(conn, writer, step)
            waiting = await pack_waiting(bench, writer, await waiting_runs(conn))
        for name, text in (secrets or {}).items():
            with writer.part(name) as part:
                part.write(text.encode())
        packer.list_all()
        writer.close(describe(BACKUP, writer, tables, packer, bench.clock()))
    rows = sum(content.rows for content in tables.values())
    missing = tuple(sorted(packer.missing))
    return Made(str(file), size_of(file), rows, len(packer.sizes), missing, waiting)


def describe(
    kind: str, writer: Writer, tables: Mapping[str, Content], packer: BlobPacker, now: datetime
) -> Manifest:
    """The manifest of what was written so far."""
    parts = {name: part for name, part in writer.parts.items() if not name.startswith("blobs/")}
    missing = tuple(sorted(packer.missing))
    return Manifest(kind, __version__, HEAD, now.isoformat(), parts, tables, missing)


async def _pack_tables(conn: AsyncConnection, writer: Writer, step: Step) -> dict[str, Content]:
    packed: dict[str, Content] = {}
    tables = all_tables()
    for number, table in enumerate(tables):
        step(number, len(tables), table.name)
        packed[table.name] = await pack_table(conn, writer, table)
    return packed


async def pack_table(
    conn: AsyncConnection, writer: Writer, table: sa.Table, where: sa.ColumnElement[bool] | None = None
) -> Content:
    """Write the rows of a table into its part; what they were."""
    content = Content()
    with writer.part(table_part(table.name)) as part:
        async for rows in read_pages(conn, table, where):
            content = await asyncio.to_thread(pack_rows, part, table, rows, content)
    return content


def pack_rows(part: PartWriter, table: sa.Table, rows: list[Values], content: Content) -> Content:
    """Write some rows; what there is of the table with them."""
    lines = [dump_row(table, row) for row in rows]
    part.write_lines(lines)
    return content.plus(lines)
