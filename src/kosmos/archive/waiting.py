"""Runs that wait for somebody's word, with where they stand in the graph: LangGraph keeps that, not a table.

Only runs that wait are carried. One that is at work goes on where it is, and would act twice.
"""

import asyncio
import base64
import binascii
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.archive.manifest import CHECKPOINTS
from kosmos.archive.reading import Reader
from kosmos.archive.rows import load_json, refused
from kosmos.archive.writing import Writer
from kosmos.db.tables_agents import approval, run
from kosmos.domain.sessions import RunStatus
from kosmos.errors import ConfigError
from kosmos.tasks.workbench import Workbench

_FIELDS = {"run_id", "kind", "data"}


async def waiting_runs(conn: AsyncConnection) -> dict[str, str]:
    """The ids of runs that wait, each with that of what it asked last."""
    last = sa.func.max(approval.c.id)  # ids grow with time
    query = sa.select(run.c.id, last).join(approval, approval.c.run_id == run.c.id)
    found = await conn.execute(query.where(run.c.status == RunStatus.WAITING.value).group_by(run.c.id))
    return {row[0]: row[1] for row in found}


async def held_checkpoints(
    bench: Workbench, waiting: Mapping[str, str]
) -> AsyncIterator[tuple[str, str, bytes]]:
    """What is kept of runs that waited at the moment of a snapshot and have not gone on since."""
    for run_id, asked in waiting.items():
        try:
            kept = await bench.checkpoints.pack(run_id)
        except ConfigError:  # without the extra nothing was ever kept
            return
        async with bench.db.read() as conn:
            now = await waiting_runs(conn)
        if kept is not None and now.get(run_id) == asked:
            yield run_id, *kept


async def pack_waiting(bench: Workbench, writer: Writer, waiting: Mapping[str, str]) -> int:
    """Put them into an archive; how many there are."""
    lines = [
        json.dumps({"run_id": run_id, "kind": kind, "data": base64.b64encode(data).decode()})
        async for run_id, kind, data in held_checkpoints(bench, waiting)
    ]
    with writer.part(CHECKPOINTS) as part:
        part.write_lines(lines)
    return len(lines)


async def unpack_waiting(bench: Workbench, reader: Reader) -> int:
    """Take them out of an archive, if it has them and the graph is installed; how many."""
    entries = _entries(reader) if CHECKPOINTS in reader.manifest.parts else iter(())
    async with bench.db.read() as conn:
        waiting = await waiting_runs(conn)
    count = 0
    while (entry := await asyncio.to_thread(next, entries, None)) is not None:
        run_id, kind, data = entry
        if run_id in waiting:
            count += await _put(bench, run_id, kind, data)
    return count


async def move_waiting(source: Workbench, target: Workbench) -> int:
    """The same from one instance to another that has its rows; how many."""
    async with target.db.read() as conn:
        waiting = await waiting_runs(conn)
    count = 0
    async for run_id, kind, data in held_checkpoints(source, waiting):
        count += await _put(target, run_id, kind, data)
    return count


async def _put(bench: Workbench, run_id: str, kind: str, data: bytes) -> bool:
    try:
        await bench.checkpoints.unpack(run_id, kind, data)
    except ConfigError:
        return False
    except ValueError:
        raise refused(f"what it keeps of the run {run_id} cannot be read") from None
    return True


def _entries(reader: Reader) -> Iterator[tuple[str, str, bytes]]:
    for line in reader.lines(CHECKPOINTS):
        entry: Any = load_json(line)
        if not isinstance(entry, dict) or set(entry) != _FIELDS or not _texts(entry):
            raise refused("a run that waits in it cannot be read")
        try:
            yield entry["run_id"], entry["kind"], base64.b64decode(entry["data"], validate=True)
        except (binascii.Error, ValueError):
            raise refused("a run that waits in it cannot be read") from None


def _texts(entry: Mapping[str, Any]) -> bool:
    return all(isinstance(value, str) for value in entry.values())
