"""The stages of a document as job handlers: convert, chunk, index. Each can be killed at any point.

A handler computes outside of transactions and records in fenced batches; what it computes is the same
every time, so a batch that was lost is simply made again. A new version of the document that arrives
meanwhile wins: the handler notices in its next batch and ends.
"""

import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.chunking.structure import chunk_by_structure
from kosmos.db import chunks, documents
from kosmos.domain.chunks import Chunk, ChunkDraft
from kosmos.domain.documents import Document, DocumentStatus
from kosmos.errors import Conflict, DataLost, NotFound
from kosmos.ingest.blocks import parse_blocks
from kosmos.ingest.canonical import canonicalize
from kosmos.jobs.run import Run
from kosmos.retrieval.indexing import collection_of, dead_rows, index_rows
from kosmos.tasks.keeping import hold_blob, release_blobs
from kosmos.tasks.workbench import Workbench

CHUNKS_PER_BATCH = 200
_CHUNK_IDS = uuid.UUID("6f0cbb1e-9a53-4c0e-8f0f-5b8f2f8f1f0e")
Result = Mapping[str, Any] | None
Stage = Callable[[Workbench, Run], Awaitable[Result]]


async def process_document(bench: Workbench, run: Run) -> Result:
    """`document_processing`: the original becomes canonical text."""
    document = await _document(run)
    data = await bench.blobs.read(document.original_sha256)
    canonical = canonicalize(data, document.filename)
    text = canonical.text.encode()
    sha256 = await bench.blobs.put(text)
    lines = len(canonical.lines) if canonical.text else 0
    changes = {
        "canonical_sha256": sha256,
        "line_count": lines,
        "title": canonical.title[:500],
        "metadata": dict(canonical.metadata),
    }
    async with run.batch({"current_line": lines, "total_lines": lines}) as conn:
        await hold_blob(bench, conn, sha256, len(text))
        await _change(conn, run, document, changes, "original_sha256", "version")
    if document.canonical_sha256 not in (None, sha256, document.original_sha256):
        await release_blobs(bench, [document.canonical_sha256 or ""])
    return {"lines": lines, "canonical_sha256": sha256}


async def chunk_document(bench: Workbench, run: Run) -> Result:
    """`chunking`: the canonical text becomes a new generation of chunks beside the live one."""
    document = await _document(run)
    if document.canonical_sha256 is None:
        raise DataLost(f"{document.source} has no canonical text.", remedy="Process it first.")
    text = (await bench.blobs.read(document.canonical_sha256)).decode()
    drafts = chunk_by_structure(text, parse_blocks(text))
    document = await _open_generation(run, document)
    generation, total = document.draft_generation or 0, document.line_count
    made = number_chunks(document, drafts, generation)
    left = [chunk for chunk in made if chunk.end_line > run.progress["current_line"]]
    for start_at in range(0, len(left), CHUNKS_PER_BATCH):
        batch = left[start_at : start_at + CHUNKS_PER_BATCH]
        progress = {"current_line": batch[-1].end_line, "total_lines": total, "generation": generation}
        async with run.batch(progress) as conn:
            await _change(conn, run, document, {}, "draft_generation", "canonical_sha256")
            await chunks.insert_chunks(conn, batch, run.clock())
    return {"generation": generation, "chunks": len(made)}


async def _open_generation(run: Run, document: Document) -> Document:
    """Go on with the generation that this job has begun, or begin one and clear what others left."""
    begun = run.progress.get("generation")
    if begun is not None and begun == document.draft_generation:
        return document
    generation = max(document.live_generation, document.draft_generation or 0) + 1
    start = {"current_line": 0, "total_lines": document.line_count, "generation": generation}
    async with run.restart(start) as conn:
        await chunks.delete_generations(conn, document.id, keep=document.live_generation)
        changes = {"draft_generation": generation}
        await _change(conn, run, document, changes, "draft_generation", "live_generation", "canonical_sha256")
    return await _document(run)


async def index_document(bench: Workbench, run: Run) -> Result:
    """`indexing`: the newest generation enters the index and becomes the live one."""
    document = await _document(run)
    generation = document.draft_generation or document.live_generation
    async with run.db.read() as conn:
        found = await chunks.generation_chunks(conn, document.id, generation)
    if not _is_whole(found, document.line_count):
        raise Conflict(
            f"The chunks of {document.source} do not cover its {document.line_count} lines.",
            remedy="Chunk it again.",
        )
    collection, rows = collection_of(document.space_id), index_rows(document, found)
    await bench.store.upsert(collection, rows)
    changes = {
        "live_generation": generation,
        "draft_generation": None,
        "status": DocumentStatus.READY.value,
        "error": None,
    }
    async with run.batch({"current": len(found), "total": len(found)}) as conn:
        await _change(conn, run, document, changes, "draft_generation", "live_generation", "canonical_sha256")
        await chunks.delete_generations(conn, document.id, keep=generation)
    await bench.store.delete(collection, dead_rows(replace(document, live_generation=generation), rows))
    return {"generation": generation, "chunks": len(found)}


def _is_whole(found: Sequence[Chunk], line_count: int) -> bool:
    """Whether chunks cover every line exactly once."""
    next_line = 1
    for chunk in found:
        if chunk.start_line != next_line:
            return False
        next_line = chunk.end_line + 1
    return next_line == line_count + 1


def number_chunks(document: Document, drafts: Sequence[ChunkDraft], generation: int) -> list[Chunk]:
    """Drafts with identities that are the same whenever they are made again."""
    names = [f"{document.id} {generation} {position}" for position in range(len(drafts))]
    ids = [str(uuid.uuid5(_CHUNK_IDS, name)) for name in names]
    return [
        Chunk(
            id=ids[position],
            space_id=document.space_id,
            document_id=document.id,
            generation=generation,
            parent_id=ids[draft.parent] if draft.parent is not None else None,
            type=draft.type,
            level=draft.level,
            start_line=draft.start_line,
            end_line=draft.end_line,
            raw_content=draft.raw_content,
            summary=draft.summary,
            redaction=None,
            token_count=draft.token_count,
            position=position,
            from_split=draft.from_split,
            merged=draft.merged,
            metadata=draft.metadata,
        )
        for position, draft in enumerate(drafts)
    ]


async def _document(run: Run) -> Document:
    async with run.db.read() as conn:
        document = await documents.get_document(conn, run.job.document_id or "")
    if document is None:
        raise NotFound("The document of this job is gone.", remedy="Nothing to do.")
    return document


async def _change(
    conn: AsyncConnection, run: Run, document: Document, changes: Mapping[str, Any], *same: str
) -> None:
    """Change a document unless somebody has changed those columns since it was looked at."""
    unchanged = {name: getattr(document, name) for name in same}
    if not await documents.update_document(conn, document.id, changes, run.clock(), only_if=unchanged):
        raise Conflict(
            f"{document.source} was changed meanwhile.", remedy="Its newest version is worked on by itself."
        )
