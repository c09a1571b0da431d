"""The work of a chaos run and the proof that it was done exactly once. Does nothing when run.

A job writes numbered lines in batches. Before each batch it notes in a file that it "called a model", as
such calls cost money whether or not what comes of them is stored.
"""

import asyncio
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from kosmos.db import Database
from kosmos.db.tables import job as jobs
from kosmos.db.types import Row
from kosmos.jobs.registry import JobType, Registry
from kosmos.jobs.run import Run

TYPE = "chaos"
SIZE = 5  # lines in a batch
CLAIMS = 20  # enough that the storm never makes a job give up

metadata = sa.MetaData()
lines = sa.Table(
    "chaos_line",
    metadata,
    sa.Column("sequence", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("job_id", sa.String(36), nullable=False, index=True),
    sa.Column("line", sa.Integer, nullable=False),
    sa.Column("epoch", sa.Integer, nullable=False),  # of the claim that wrote the line
    sa.Column("job_epoch", sa.Integer, nullable=False),  # of the job at that moment
)


class Labour:
    """What workers do: numbered lines, and a note of every call."""

    def __init__(self, calls: Path) -> None:
        self._calls = os.open(calls, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def registry(self) -> Registry:
        """The one type of job."""
        return Registry(JobType(TYPE, self._handle, max_attempts=CLAIMS))

    async def _handle(self, run: Run) -> None:
        total, pause = int(run.job.context["lines"]), float(run.job.context["pause"])
        done = int(run.progress.get("current_line", 0))
        while done < total:
            run.check()
            os.write(self._calls, f"{run.job.id} {run.job.epoch} {done}\n".encode())
            await asyncio.sleep(pause)
            end = min(done + SIZE, total)
            async with run.batch({"current_line": end, "total_lines": total}) as conn:
                now = sa.select(jobs.c.epoch).where(jobs.c.id == run.job.id).scalar_subquery()
                for line in range(done, end):
                    values = {"job_id": run.job.id, "line": line, "epoch": run.job.epoch, "job_epoch": now}
                    await conn.execute(lines.insert().values(values))
            done = end


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came out."""

    jobs: int
    unfinished: int  # jobs that did not complete
    lost: int  # lines, and jobs whose making had been confirmed
    duplicated: int  # lines
    stale: int  # lines written by a worker that no longer held the job
    repeated_calls: int
    takeovers: int  # claims that called the model, beyond the first one of each job

    def violations(self, strikes: int) -> list[str]:
        """What must not be. A strike at a job in hand explains one repeated call, and so does a takeover."""
        wrong = [
            f"{name}={getattr(self, name)}"
            for name in ("unfinished", "lost", "duplicated", "stale")
            if getattr(self, name)
        ]
        if self.repeated_calls > min(strikes, self.takeovers):
            wrong.append(f"repeated_calls={self.repeated_calls}, but strikes={strikes}")
        return wrong


async def create_ledger(db: Database) -> None:
    """Make the table for the lines."""
    async with db.write() as conn:
        await conn.run_sync(metadata.create_all)


async def judge(db: Database, calls: Path, confirmed: set[str]) -> Verdict:
    """Compare what was done with what was asked for, line by line."""
    columns = (jobs.c.id, jobs.c.status, jobs.c.context)
    async with db.read() as conn:
        rows = (await conn.execute(sa.select(*columns))).all()
        written = (await conn.execute(sa.select(lines).order_by(lines.c.sequence))).all()
    expected = Counter({(row.id, line): 1 for row in rows for line in range(row.context["lines"])})
    found = Counter((row.job_id, row.line) for row in written)
    batches = sum(-(-int(row.context["lines"]) // SIZE) for row in rows)
    called = [line.split() for line in (await asyncio.to_thread(calls.read_text)).split("\n")[:-1]]
    claims = {(job_id, epoch) for job_id, epoch, _ in called}
    return Verdict(
        jobs=len(rows),
        unfinished=sum(row.status != "COMPLETED" for row in rows),
        lost=(expected - found).total() + len(confirmed - {row.id for row in rows}),
        duplicated=(found - expected).total(),
        stale=sum(row.epoch != row.job_epoch for row in written) + _out_of_order(written),
        repeated_calls=len(called) - batches,
        takeovers=len(claims) - len(rows),
    )


def _out_of_order(written: Sequence[Row]) -> int:
    """How many lines a claim wrote after a later claim of the same job had written."""
    newest: dict[str, int] = {}
    late = 0
    for row in written:
        late += row.epoch < newest.get(row.job_id, 0)
        newest[row.job_id] = max(row.epoch, newest.get(row.job_id, 0))
    return late
