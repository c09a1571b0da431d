"""`kosmos restore`: a backup into engines that are empty. All is checked before anything is written."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.archive.holding import named_blobs
from kosmos.archive.index import Rebuilt, rebuild_indexes
from kosmos.archive.manifest import Manifest, table_part
from kosmos.archive.progress import Step, say_nothing
from kosmos.archive.proof import verify_all
from kosmos.archive.reading import Reader
from kosmos.archive.rows import Values, load_row, refused
from kosmos.archive.tables import (
    PAGE,
    all_tables,
    clear,
    different,
    filled_tables,
    measure,
    set_counters,
    write_rows,
)
from kosmos.archive.waiting import unpack_waiting
from kosmos.blobs.contract import Blobs
from kosmos.db import Database
from kosmos.db.migrate import HEAD, current_revision, known_revisions, migrate
from kosmos.errors import Conflict, DataLost
from kosmos.tasks.keeping import release_blobs
from kosmos.tasks.verifying import Verification
from kosmos.tasks.workbench import Workbench


@dataclass(frozen=True, slots=True)
class Restored:
    """What is there after a restore or a move, and what `verify` says of it."""

    rows: int
    blobs: int
    index: Rebuilt
    verified: Verification
    waiting: int = 0  # runs that go on once they get their word


async def check_archive(reader: Reader, step: Step = say_nothing) -> None:
    """Refuse what is damaged or of a newer version, before anything is written."""
    manifest = reader.manifest
    if manifest.revision not in known_revisions():
        raise refused(f"its revision {manifest.revision} is newer than this version of Kosmos knows")
    tables = {table_part(table.name): table for table in all_tables()}
    odd = [name for name in manifest.parts if name.startswith("tables/") and name not in tables]
    if odd:
        raise refused(f"it has the unknown part {odd[0]}")
    total = len(manifest.parts) + len(reader.blobs)
    done, names = 0, reader.check()
    while (name := await asyncio.to_thread(next, names, None)) is not None:
        done += 1
        step(done, total, name)


async def require_empty(db: Database, revision: str) -> None:
    """Refuse tables that have rows; tables that have none are brought to that revision."""
    present = await current_revision(db)
    if present is not None:
        async with db.read() as conn:
            if filled := await filled_tables(conn):
                raise Conflict(
                    f"The database is not empty: {', '.join(filled[:4])} have rows.",
                    remedy="Give an empty one: another KOSMOS_HOME, or a new database.",
                )
    if present != revision:
        await migrate(db, revision)


async def unpack(reader: Reader, db: Database, blobs: Blobs, step: Step = say_nothing) -> None:
    """The bytes first, then all rows in one transaction: an attempt that fails can be made again."""
    await require_empty(db, reader.manifest.revision)
    for done, sha256 in enumerate(reader.blobs):
        await blobs.put(await asyncio.to_thread(_joined, reader, sha256))
        step(done + 1, len(reader.blobs), "files")
    async with db.write() as conn:
        for table in all_tables():
            await _unpack_table(reader, conn, table, step)
        await set_counters(conn)
        await _compare(reader.manifest, conn)


async def finish(bench: Workbench, reader: Reader, step: Step = say_nothing) -> Restored:
    """Bytes that were gone already when the rows were read go; then the index, and the proof."""
    async with bench.db.read() as conn:
        named = set(await named_blobs(conn))
    await release_blobs(bench, sorted(reader.blobs.keys() - named))
    rebuilt = await rebuild_indexes(bench, step)
    waiting = await unpack_waiting(bench, reader)
    verified = await verify_all(bench, step)
    rows = sum(content.rows for content in reader.manifest.tables.values())
    return Restored(rows, len(reader.blobs.keys() & named), rebuilt, verified, waiting)


def _joined(reader: Reader, sha256: str) -> bytes:
    return b"".join(reader.blob(sha256))


async def _unpack_table(reader: Reader, conn: AsyncConnection, table: sa.Table, step: Step) -> None:
    name = table_part(table.name)
    if name not in reader.manifest.parts:
        return  # it did not exist then
    await clear(conn, table)
    pages, done = _pages(reader, table), 0
    while page := await asyncio.to_thread(next, pages, None):
        await write_rows(conn, table, page)
        done += len(page)
        step(done, reader.manifest.tables[table.name].rows, table.name)


def _pages(reader: Reader, table: sa.Table) -> Iterator[list[Values]]:
    page: list[Values] = []
    for line in reader.lines(table_part(table.name)):
        page.append(load_row(table, line, strict=False))
        if len(page) == PAGE:
            yield page
            page = []
    if page:
        yield page


async def _compare(manifest: Manifest, conn: AsyncConnection) -> None:
    """What is stored now is what was stored then; tables of an earlier revision look different."""
    if manifest.revision != HEAD:
        return
    if wrong := different(manifest.tables, await measure(conn)):
        raise DataLost(
            f"The restored tables would differ from the backup: {', '.join(wrong)}.",
            remedy="Nothing was changed. Keep the backup, and tell those who make Kosmos.",
        )
