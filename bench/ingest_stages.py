"""What each stage of adding a folder costs, for `bench/ingest.py`: entering, converting, chunking, indexing.

The stages run one after the other over all files, by the same code and through the same queue as ever, so
that the cost of each can be told. Does nothing when run.
"""

import hashlib
import resource
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from kosmos.accounts.access import resolve_space
from kosmos.app import App, open_app
from kosmos.config import Settings
from kosmos.db import documents, jobs
from kosmos.domain.hints import Hints
from kosmos.domain.jobs import Job, JobStatus
from kosmos.tasks.adding import Source, add_document
from kosmos.workers import make_worker

STAGES = {"document_processing": "convert", "chunking": "chunk", "indexing": "index"}


@dataclass
class Stages:
    """CPU seconds of each stage, how many files there were, and what went wrong."""

    files: int
    seconds: dict[str, float] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    identical: int = 0  # texts that a second conversion gave again, byte for byte

    @asynccontextmanager
    async def timed(self, name: str) -> AsyncIterator[None]:
        """Count what happens meanwhile as that stage."""
        before = _cpu_seconds()
        yield
        self.seconds[name] = _cpu_seconds() - before


async def measure_stages(paths: Sequence[Path], home: Path) -> Stages:
    """Add files, stage by stage, then convert them all once more."""
    stages = Stages(len(paths))
    async with open_app(Settings(home=home)) as app:
        made = await _enter(app, paths, stages)
        async with (worker := make_worker(app, 1)).keeping():
            for kind, name in STAGES.items():
                async with stages.timed(name):
                    for job in (job for job in made if job.type == kind):
                        await worker.run_one(job.id)
        await _note_failures(app, made, stages)
        async with stages.timed("convert again"):
            await _convert_again(app, stages)
    return stages


async def _enter(app: App, paths: Sequence[Path], stages: Stages) -> list[Job]:
    made: list[Job] = []
    who, space_id = await app.local_user(), await _space_id(app)
    async with stages.timed("enter"):
        for path in paths:
            source = Source(path.as_uri(), path.name, path.read_bytes())
            made += (await add_document(app.bench, who, space_id, source)).jobs
    return made


async def _note_failures(app: App, made: Sequence[Job], stages: Stages) -> None:
    for job in made:
        async with app.bench.db.glance() as conn:
            present = await jobs.get_job(conn, job.id)
        if present is None or present.status is not JobStatus.COMPLETED:
            stages.failures.append(f"{job.type}: {present.reason if present else 'gone'}")


async def _convert_again(app: App, stages: Stages) -> None:
    space_id, after = await _space_id(app), ""
    while True:
        async with app.bench.db.read() as conn:
            batch = await documents.list_documents(conn, space_id, after=after, limit=500)
        if not batch:
            return
        for item in batch:
            data = await app.bench.blobs.read(item.original_sha256)
            made = await app.bench.converter.convert(data, item.filename, hints=Hints())
            digest = hashlib.sha256(made.canonical.text.encode()).hexdigest()
            stages.identical += digest == item.canonical_sha256
        after = batch[-1].id


async def _space_id(app: App) -> str:
    async with app.bench.db.read() as conn:
        return (await resolve_space(conn, await app.local_user(), "default")).space.id


def _cpu_seconds() -> float:
    """Of this process, of those it has awaited, and of those it has started and not awaited yet."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used) + _children_seconds()


def _children_seconds() -> float:
    ticks = 0
    for thread in Path("/proc/self/task").iterdir():
        for child in (thread / "children").read_text().split():
            fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(int(value) for value in fields[11:15])
    return ticks / 100
