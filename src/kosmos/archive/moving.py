"""`kosmos migrate`: the same rows and bytes on other engines, compared row by row before it is over."""

from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.archive.holding import named_blobs
from kosmos.archive.index import Rebuilt, rebuild_indexes
from kosmos.archive.progress import Step, say_nothing
from kosmos.archive.proof import verify_all
from kosmos.archive.restore import require_empty
from kosmos.archive.rows import dump_row
from kosmos.archive.tables import (
    Content,
    all_tables,
    clear,
    different,
    measure,
    read_pages,
    set_counters,
    write_rows,
)
from kosmos.archive.waiting import move_waiting
from kosmos.blobs.contract import Blobs
from kosmos.db import Database
from kosmos.db.migrate import HEAD
from kosmos.errors import Conflict, DataLost
from kosmos.tasks.verifying import Verification
from kosmos.tasks.workbench import Workbench


@dataclass(frozen=True, slots=True)
class Moved:
    """What was moved, by table; the proof before and after. `index` is None where it stays as it is."""

    tables: dict[str, int]
    blobs: int
    index: Rebuilt | None
    before: Verification
    after: Verification
    waiting: int = 0  # runs that go on once they get their word


async def prove_source(source: Workbench, step: Step = say_nothing) -> Verification:
    """Refuse to move what is broken: afterwards nobody could say when it broke."""
    found = await verify_all(source, step)
    if found.faults:
        raise Conflict(
            f"{len(found.faults)} things are wrong before anything is moved.",
            remedy="See them with: kosmos verify; mend them, then move.",
        )
    return found


async def move_rows(
    source: Workbench, db: Database, blobs: Blobs | None, step: Step = say_nothing
) -> dict[str, Content]:
    """All rows into empty tables in one transaction, and the bytes that they name unless these stay."""
    await require_empty(db, HEAD)
    async with source.db.snapshot() as conn:
        if blobs is not None:
            await _move_blobs(conn, source.blobs, blobs, step)
        async with db.write() as target:
            moved = await _move_tables(conn, target, step)
            await set_counters(target)
            _same(moved, await measure(target), "what arrived differs from what was sent")
            async with source.db.snapshot() as again:  # while nothing is final yet
                _same(moved, await measure(again), "somebody writes to the source")
    return moved


@dataclass(frozen=True, slots=True)
class Departure:
    """What was moved out of: the source, its proof, and its rows by table."""

    source: Workbench
    proof: Verification
    rows: dict[str, Content]


async def finish_move(target: Workbench, left: Departure, *, index: bool, step: Step) -> Moved:
    """Runs that wait, the index where it is another one, and the proof."""
    waiting = await move_waiting(left.source, target)
    rebuilt = await rebuild_indexes(target, step) if index else None
    after = await verify_all(target, step)
    counts = {name: content.rows for name, content in left.rows.items()}
    return Moved(counts, counts.get("blob", 0), rebuilt, left.proof, after, waiting)


async def _move_tables(conn: AsyncConnection, target: AsyncConnection, step: Step) -> dict[str, Content]:
    moved: dict[str, Content] = {}
    tables = all_tables()
    for number, table in enumerate(tables):
        step(number, len(tables), table.name)
        await clear(target, table)
        content = Content()
        async for rows in read_pages(conn, table):
            await write_rows(target, table, rows)
            content = content.plus(dump_row(table, row) for row in rows)
        moved[table.name] = content
    return moved


async def _move_blobs(conn: AsyncConnection, source: Blobs, target: Blobs, step: Step) -> None:
    """What an attempt that failed has copied already is not copied again."""
    wanted = await named_blobs(conn)
    for done, sha256 in enumerate(wanted):
        if not await target.exists(sha256):
            await target.put(await source.read(sha256))
        step(done + 1, len(wanted), "files")


def _same(sent: dict[str, Content], found: dict[str, Content], reason: str) -> None:
    if wrong := different(sent, found):
        raise DataLost(
            f"Nothing was moved, since {reason}: {', '.join(wrong)}.",
            remedy="Stop the server and all workers of the source, then try again.",
        )
