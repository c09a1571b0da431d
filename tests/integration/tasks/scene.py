"""A small instance with an owner and a space, and what must always hold in it."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from kosmos.accounts.people import create_user
from kosmos.accounts.spaces import make_space, put_member
from kosmos.accounts.tokens import authenticate
from kosmos.blobs.contract import Blobs
from kosmos.chunking.coverage import join_chunks
from kosmos.db import assets, chunks, documents
from kosmos.db import jobs as job_table
from kosmos.db.jobs import JobFilter
from kosmos.db.tables import asset, blob, chunk, chunk_asset
from kosmos.db.tables import document_version as version
from kosmos.domain.accounts import Principal, Role
from kosmos.domain.assets import Asset
from kosmos.domain.chunks import Chunk
from kosmos.domain.documents import Document, DocumentStatus
from kosmos.domain.jobs import Job, JobStatus
from kosmos.doubles.clock import FixedClock
from kosmos.errors import InvalidInput
from kosmos.jobs.worker import LEASE, Worker
from kosmos.retrieval.indexing import collection_of
from kosmos.store.contract import Store
from kosmos.store.filters import Filter
from kosmos.store.local import LocalStore
from kosmos.store.rows import IndexRow
from kosmos.tasks import asking
from kosmos.tasks.adding import Added, Outcome, Source, add_document
from kosmos.tasks.job_types import make_registry
from kosmos.tasks.jobs import create_job
from kosmos.tasks.preflight import JobRequest
from kosmos.tasks.workbench import Workbench


class Crash(BaseException):
    """What a test throws where a machine would stop: no handler of errors gets to see it."""


@dataclass(frozen=True)
class Scene:
    """An owner, their space and the engines."""

    bench: Workbench
    owner: Principal
    space_id: str

    def using(self, **engines: Any) -> "Scene":
        """The same instance seen through other engines."""
        return replace(self, bench=replace(self.bench, **engines))

    async def add(self, text: str | bytes, name: str = "a.md") -> tuple[Document, Outcome]:
        """Add a document under a name that is its origin too."""
        added = await self.enter(text, name)
        await self.work()
        async with self.bench.db.read() as conn:
            document = await documents.get_document(conn, added.document.id)
        assert document is not None
        if document.error is not None:
            raise InvalidInput(document.error)
        return document, added.outcome

    async def enter(self, text: str | bytes, name: str = "a.md") -> Added:
        """Add a document and leave the work to others."""
        data = text if isinstance(text, bytes) else text.encode()
        return await add_document(
            self.bench, self.owner, self.space_id, Source(f"file:///x/{name}", name, data)
        )

    async def work(self, most: int | None = None, *, only: str | None = None) -> None:
        """Let a worker do what is due, or so many jobs of it, or one of them; a crash stops it there."""
        done = 0
        worker = Worker(self.bench.db, make_registry(self.bench), name="scene", clock=self.bench.clock)
        async with worker.keeping():
            while done != most and await worker.run_one(only):
                done += 1

    async def reindex(self, encoder: str | None = None) -> Mapping[str, Any]:
        """Rebuild the index, or the vectors of another encoder; the result of the job."""
        kind, context = ("reencoding", {"encoder": encoder}) if encoder else ("reindexing", {})
        request = JobRequest(kind, space_id=self.space_id, context=context)
        made = await create_job(self.bench, self.owner, request)
        await self.work()
        async with self.bench.db.read() as conn:
            job = await job_table.get_job(conn, made.job.id)
        assert job is not None
        assert job.status is JobStatus.COMPLETED, job.reason
        return job.result or {}

    def later(self, seconds: float = LEASE.total_seconds() + 1) -> None:
        """Let time pass: as much as a lease lasts, or more."""
        assert isinstance(self.bench.clock, FixedClock)
        self.bench.clock.advance(seconds)

    @asynccontextmanager
    async def working(self) -> AsyncIterator[Worker]:
        """A worker beside whatever else happens."""
        worker = Worker(self.bench.db, make_registry(self.bench), name="scene", clock=self.bench.clock)
        running = asyncio.create_task(worker.run())
        try:
            yield worker
        finally:
            worker.stop()
            await running

    async def person(self, name: str) -> Principal:
        """One more user."""
        async with self.bench.db.write() as conn:
            _, token = await create_user(conn, self.owner, name=name, is_admin=False, now=self.bench.clock())
            return await authenticate(conn, token, self.bench.clock())

    async def invite(self, name: str, role: Role) -> None:
        """Make a user a member of the space."""
        async with self.bench.db.write() as conn:
            await put_member(conn, self.owner, self.space_id, user=name, role=role, now=self.bench.clock())

    async def space(self, owner: Principal, name: str) -> str:
        """One more space."""
        async with self.bench.db.write() as conn:
            space = await make_space(conn, owner.user.id, name=name, description="", now=self.bench.clock())
            return space.id

    async def documents(self, space_id: str | None = None) -> list[Document]:
        """The documents of the space."""
        async with self.bench.db.read() as conn:
            return await documents.list_documents(conn, space_id or self.space_id)

    async def jobs(self, document_id: str) -> list[Job]:
        """All jobs about a document, those of older versions first, in the order in which they are done."""
        order = ["document_processing", "asset_analysis", "chunking", "indexing"]
        async with self.bench.db.read() as conn:
            found = await job_table.list_jobs(conn, JobFilter(document_id=document_id), limit=1000)
        return sorted(found, key=lambda job: (job.context.get("generation", 0), order.index(job.type)))

    async def assets(self, document: Document) -> list[Asset]:
        """The figures of the live version of a document."""
        async with self.bench.db.read() as conn:
            return await assets.list_assets(conn, document.id, document.live_generation)

    async def chunks(self, document_id: str) -> list[Chunk]:
        """The live chunks of a document."""
        async with self.bench.db.read() as conn:
            return await chunks.live_chunks(conn, document_id)

    async def rows(self) -> list[IndexRow]:
        """Everything in the index of the space."""
        return await self.bench.store.scan(collection_of(self.space_id))

    async def blobs(self) -> set[str]:
        """The keys of all stored bytes."""
        return {key async for key in self.bench.blobs.keys()}  # noqa: SIM118 - not a dictionary

    async def found(self, query: str) -> list[str]:
        """The texts that a search of the owner finds."""
        return [hit.text for hit in await asking.search(self.bench, self.owner, query)]

    async def check_served(self, text: str, name: str = "a.md") -> None:
        """The document has exactly this text everywhere that readers look."""
        (document,) = [item for item in await self.documents() if item.source == name]
        assert (document.status, document.error) == (DocumentStatus.READY, None)
        assert document.canonical_sha256 == hashlib.sha256(text.encode()).hexdigest()
        assert (await self.bench.blobs.read(document.canonical_sha256)).decode() == text
        live = await self.chunks(document.id)
        assert join_chunks(live) == text
        assert {row.pk for row in await self.rows()} >= {chunk.id for chunk in live}

    async def check_tidy(self) -> None:
        """No index row, no blob, no row of any table without somebody who needs it, and none missing."""
        present = await self.documents()
        live = [chunk.id for document in present for chunk in await self.chunks(document.id)]
        assert sorted(row.pk for row in await self.rows()) == sorted(live)
        needed = await self._check_versions(present)
        assert await self.blobs() == needed
        async with self.bench.db.read() as conn:
            known = {row.sha256: row.size for row in await conn.execute(sa.select(blob))}
            shown = set((await conn.execute(sa.select(chunk_asset.c.chunk_id))).scalars())
        assert known == {sha256: len(await self.bench.blobs.read(sha256)) for sha256 in needed}
        assert shown <= set(live)

    async def _check_versions(self, present: list[Document]) -> set[str]:
        """There is nothing of other generations than the live ones and drafts; the blobs that these need."""
        allowed = {(document.id, document.live_generation) for document in present}
        allowed |= {(document.id, document.draft_generation or 0) for document in present}
        async with self.bench.db.read() as conn:
            made = {(row.document_id, row.generation): row for row in await conn.execute(sa.select(version))}
            figures = list(await conn.execute(sa.select(asset)))
            chunked = await conn.execute(sa.select(chunk.c.document_id, chunk.c.generation).distinct())
            assert {tuple(row) for row in chunked} <= allowed
        assert {(row.document_id, row.generation) for row in figures} <= set(made) <= allowed
        assert {(item.id, item.live_generation) for item in present if item.live_generation} <= set(made)
        needed = {sha for item in present for sha in (item.original_sha256, item.canonical_sha256)}
        for row in made.values():
            needed |= {row.original_sha256, row.canonical_sha256, row.extract_sha256}
        return {sha256 for sha256 in needed | {row.sha256 for row in figures} if sha256}


Hook = Callable[[], Awaitable[None]]


async def crash() -> None:
    """The hook that stops everything."""
    raise Crash


@dataclass
class HookedStore(LocalStore):
    """A store at whose calls something else happens."""

    inner: Store
    after_upsert: Hook | None = None
    before_delete: Hook | None = None

    async def upsert(self, collection: str, rows: Any) -> None:
        await self.inner.upsert(collection, rows)
        if self.after_upsert:
            await self.after_upsert()

    async def get(self, collection: str, pks: Any, *, vectors: bool = False) -> dict[str, IndexRow]:
        return await self.inner.get(collection, pks, vectors=vectors)

    async def delete(self, collection: str, where: Filter) -> int:
        if self.before_delete:
            await self.before_delete()
        return await self.inner.delete(collection, where)


class HookedBlobs:
    """Blobs at whose calls something else happens."""

    def __init__(self, inner: Blobs, **hooks: Hook) -> None:
        self._inner = inner
        self._hooks = hooks

    def __getattr__(self, name: str) -> Any:
        method, hook = getattr(self._inner, name), self._hooks.get(name)

        async def call(*args: Any) -> Any:
            if hook and name == "exists":
                await hook()
            result = await method(*args)
            if hook and name != "exists":
                await hook()
            return result

        return call if hook else method
