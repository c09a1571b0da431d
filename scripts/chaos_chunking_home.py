"""An instance with documents that a model chunks: what a storm blows over. Does nothing when run."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from kosmos.accounts.access import resolve_space
from kosmos.accounts.credentials import NewCredential, add_credential
from kosmos.app import App, open_app
from kosmos.chunking.rules import as_drafts, check_chunks
from kosmos.config import Settings
from kosmos.db import chunks
from kosmos.db.tables import job as jobs
from kosmos.domain.chunks import Chunk
from kosmos.domain.clock import system_clock
from kosmos.domain.credentials import CredentialType
from kosmos.tasks.adding import Source, add_document
from kosmos.tasks.jobs import create_job
from kosmos.tasks.preflight import JobRequest
from kosmos.workers import drain

OPEN = ("PENDING", "RUNNING", "PAUSED")


class Home:
    """An instance, its documents by name, and their jobs."""

    def __init__(self, app: App, texts: Mapping[str, str]) -> None:
        self.app = app
        self.texts = texts
        self._documents: dict[str, str] = {}
        self._jobs: list[str] = []

    async def fill(self, base_url: str, width: int) -> None:
        """Add the documents, the model, and a job for each document."""
        bench, who = self.app.bench, await self.app.local_user()
        async with bench.db.write() as conn:
            space_id = (await resolve_space(conn, who, "default")).space.id
            options = {"parallel_batches": width}
            new = NewCredential("model", CredentialType.SLM, base_url, "m", options=options, is_default=True)
            await add_credential(conn, who, new, box=self.app.box, now=bench.clock())
        for name, text in self.texts.items():
            source = Source(f"file:///{name}", name, text.encode())
            added = await add_document(bench, who, space_id, source)
            self._documents[name] = added.document.id
        await drain(self.app, 2)
        for document_id in self._documents.values():
            made = await create_job(bench, who, JobRequest("chunking", document_id, {"producer": "indexer"}))
            self._jobs.append(made.job.id)

    async def at_work(self) -> list[str]:
        """The workers that have one of the jobs in hand right now."""
        query = sa.select(jobs.c.worker).where(
            jobs.c.id.in_(self._jobs), jobs.c.status == "RUNNING", jobs.c.due_at > system_clock()
        )
        async with self.app.bench.db.read() as conn:
            return sorted({str(name) for (name,) in (await conn.execute(query)).all()})

    async def unfinished(self, statuses: tuple[str, ...] = OPEN) -> int:
        """How many of the jobs are in one of these states."""
        query = sa.select(sa.func.count()).where(jobs.c.id.in_(self._jobs), jobs.c.status.in_(statuses))
        async with self.app.bench.db.read() as conn:
            return int(await conn.scalar(query) or 0)

    async def finish(self, seconds: float) -> bool:
        """Wait until all jobs have ended; False when that takes too long."""
        for _ in range(int(seconds / 0.2)):
            if not await self.unfinished():
                return True
            await asyncio.sleep(0.2)
        return False

    async def made(self) -> dict[str, list[list[Any]]]:
        """What the jobs have made of each document, without what differs from run to run."""
        found = {}
        for name, job_id in zip(self.texts, self._jobs, strict=True):
            async with self.app.bench.db.read() as conn:
                row = (await conn.execute(sa.select(jobs).where(jobs.c.id == job_id))).mappings().one()
                generation = row["progress"].get("generation", -1)
                stored = await chunks.generation_chunks(conn, self._documents[name], generation)
            wrong = [item.message for item in check_chunks(self.texts[name], as_drafts(stored))]
            found[name] = [*_shape(stored), [row["status"], *wrong]]
        return found


def _shape(stored: list[Chunk]) -> list[list[Any]]:
    names = ("type", "level", "start_line", "end_line", "raw_content", "summary", "token_count", "position")
    more = ("from_split", "merged", "redaction", "metadata")
    places = {chunk.id: chunk.position for chunk in stored}
    return [
        [*(getattr(chunk, name) for name in (*names, *more)), places.get(chunk.parent_id or "")]
        for chunk in stored
    ]


@asynccontextmanager
async def open_home(folder: Path, texts: Mapping[str, str]) -> AsyncIterator[Home]:
    """A fresh instance in a folder."""
    async with open_app(Settings(home=folder)) as app:
        yield Home(app, texts)
