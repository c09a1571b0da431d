"""Chunking again: what could not be chunked, one region at a time, and whole documents."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from kosmos.accounts.access import require_document, require_space
from kosmos.db import chunks, documents
from kosmos.db import jobs as table
from kosmos.domain.accounts import Principal, Role
from kosmos.domain.chunks import Chunk
from kosmos.domain.documents import Document
from kosmos.domain.jobs import Job
from kosmos.domain.values import storable
from kosmos.errors import Conflict, NotFound
from kosmos.jobs.creation import create_jobs
from kosmos.tasks.job_types import make_registry
from kosmos.tasks.preflight import JobRequest, prepare
from kosmos.tasks.producing import INDEXER
from kosmos.tasks.showing import shown_chunk
from kosmos.tasks.workbench import Workbench

Cursor = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Failed:
    """A region that could not be chunked; the summary of the chunk that stands for it says why."""

    chunk: Chunk
    source: str


@dataclass(frozen=True, slots=True)
class Rechunking:
    """A document that is being chunked again; the last job ends when readers see the new chunks."""

    document: Document
    jobs: tuple[Job, ...]


async def list_failed(
    bench: Workbench, who: Principal, space_id: str, *, after: Cursor = ("", -1), limit: int = 100
) -> list[Failed]:
    """The regions of a space that could not be chunked, in the order of the documents."""
    async with bench.db.read() as conn:
        await require_space(conn, who, space_id)
        found = await chunks.list_failed(conn, space_id, after=after, limit=limit)
        named = await documents.get_documents(conn, list({chunk.document_id for chunk in found}))
    return [Failed(shown_chunk(chunk), named[chunk.document_id].source) for chunk in found]


async def retry_chunk(bench: Workbench, who: Principal, chunk_id: str) -> Rechunking:
    """Let a model point at the lines of one chunk again; all others stay as they are."""
    chunk = await find_chunk(bench, who, chunk_id)
    region = {"producer": INDEXER, "region": [chunk.start_line, chunk.end_line]}
    return await rechunk(bench, who, chunk.document_id, region)


async def find_chunk(bench: Workbench, who: Principal, chunk_id: str, *, need: Role = Role.EDITOR) -> Chunk:
    """The live chunk of that id, if the caller has that role; of what they may not see there is none."""
    async with bench.db.read() as conn:
        found = await chunks.live_chunks_by_id(conn, [chunk_id]) if storable(chunk_id) else {}
        chunk = found.get(chunk_id)
        try:
            await require_document(conn, who, chunk.document_id if chunk else "", need=need)
        except NotFound:
            chunk = None
    if chunk is None:
        raise NotFound(f"There is no chunk {chunk_id}.", remedy="List them with: kosmos chunks DOCUMENT")
    return chunk


async def rechunk(
    bench: Workbench, who: Principal, document_id: str, context: Mapping[str, Any]
) -> Rechunking:
    """Chunk a document and index what comes of it; refused while somebody else works on it."""
    first = await prepare(bench, who, JobRequest("chunking", document_id, context))
    second = await prepare(bench, who, JobRequest("indexing", document_id))
    wanted = [
        replace(first.new, key="chunking"),
        replace(second.new, key="indexing", after=("chunking",)),
    ]
    async with bench.db.brief() as conn:
        document = await documents.get_document(conn, document_id)
        working = [new for new in wanted if await table.find_open(conn, new.dedupe_key or "")]
        if working or document is None:
            raise Conflict(
                "The document is being worked on.", remedy="Wait for its jobs to end: kosmos jobs list"
            )
        made = await create_jobs(conn, make_registry(bench), wanted, bench.clock())
    bench.wake([job.id for job in made])
    return Rechunking(document, tuple(made))
