"""Runs whose process is gone: found by anybody, ended here, or left to a server that lets them go on."""

from datetime import timedelta

import sqlalchemy as sa

from kosmos.bells import topics
from kosmos.db import runs as table
from kosmos.domain.sessions import Run
from kosmos.errors import ConfigError
from kosmos.tasks.run_closing import bury_run
from kosmos.tasks.run_hall import DEAD_SECONDS, is_dead
from kosmos.tasks.run_reacting import kept_notes
from kosmos.tasks.workbench import Workbench


async def bury_dead(bench: Workbench, session_id: str | None = None, *, every: bool = True) -> None:
    """Let runs end whose process is gone; unless `every`, those that can go on are left to a server."""
    for run in await dead_runs(bench, session_id):
        if not every and await can_go_on(bench, run):
            bench.bell.ring(topics.DECIDED)
            continue
        await bury(bench, run)


async def bury(bench: Workbench, run: Run) -> None:
    """Let one of them end, and tell whoever follows it."""
    try:
        async with bench.db.write() as conn:
            await bury_run(conn, bench, run)
    except sa.exc.IntegrityError:
        return  # it has just said something more: its process was only slow
    bench.bell.ring(topics.run(run.id))


async def can_go_on(bench: Workbench, run: Run) -> bool:
    """Whether there is a checkpoint to go on from."""
    try:
        return bool(await kept_notes(bench, run.id))
    except ConfigError:  # it cannot be read without the extra
        return False


async def dead_runs(bench: Workbench, session_id: str | None = None) -> list[Run]:
    """The runs whose process is gone."""
    async with bench.db.glance() as conn:
        open_now = await table.open_runs(conn, session_id)
    long_ago = bench.clock() - timedelta(seconds=DEAD_SECONDS)
    elsewhere = [run for run in open_now if bench.runs.live(run.id) is None]
    return [run for run in elsewhere if is_dead(run.worker, bench.runs.worker) or run.seen_at < long_ago]
