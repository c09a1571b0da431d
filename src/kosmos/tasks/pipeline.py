"""The stages of a document as job handlers: convert, chunk, index. Each can be killed at any point.

A handler computes outside of transactions and records in fenced batches; what it computes is the same
every time, so a batch that was lost is simply made again. A newer version that arrives meanwhile wins:
the handler notices in its next batch and ends.
"""

import asyncio
import hashlib
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.chunking.coverage import join_chunks, reuse_chunks
from kosmos.chunking.hiding import carry_redactions, hide_summaries, show_part
from kosmos.chunking.packing import ChunkSizes
from kosmos.chunking.redaction import (
    Kinds,
    find_redactions,
    keep_kinds,
    merge_redactions,
    redactions_of,
    shown_values,
)
from kosmos.chunking.structure import chunk_by_structure
from kosmos.db import assets, chunks, documents, versions
from kosmos.domain.chunks import Chunk, ChunkDraft
from kosmos.domain.documents import Document, DocumentStatus, DocumentVersion
from kosmos.domain.extracts import Origin
from kosmos.domain.jobs import Job, NewJob
from kosmos.domain.redactions import Redaction, RedactionSource, dump_redactions, load_redactions
from kosmos.domain.space_settings import SpaceSettings
from kosmos.domain.trees import MarkdownTree
from kosmos.errors import Conflict, DataLost, LeaseLost
from kosmos.ingest.reading import page_of_line
from kosmos.ingest.tree import parse_tree
from kosmos.jobs.creation import create_jobs
from kosmos.jobs.run import Run
from kosmos.retrieval.indexing import collection_of, dead_rows, index_rows, keep_vectors
from kosmos.store.contract import Store
from kosmos.store.filters import In
from kosmos.store.rows import IndexRow
from kosmos.tasks.extracts import read_origins
from kosmos.tasks.generations import newest_version, open_version, still_draft, superseded
from kosmos.tasks.keeping import release_blobs
from kosmos.tasks.navigating import note_links, relate
from kosmos.tasks.showing import settings_of, shown_assets, shown_chunks
from kosmos.tasks.space_encoders import wants_vectors
from kosmos.tasks.workbench import Workbench

CHUNKS_PER_BATCH = 200
ENCODING = "encoding"
PAGES = ("page", "slide")
_CHUNK_IDS = uuid.UUID("6f0cbb1e-9a53-4c0e-8f0f-5b8f2f8f1f0e")
Result = Mapping[str, Any] | None
Stage = Callable[[Workbench, Run], Awaitable[Result]]


async def chunk_document(bench: Workbench, run: Run) -> Result:
    """`chunking`: the canonical text becomes a new generation of chunks beside the live one."""
    document, version = await open_version(run, start={"current_line": 0})
    if version.canonical_sha256 is None:
        raise DataLost(f"{document.source} has no canonical text.", remedy="Process it first.")
    text = (await bench.blobs.read(version.canonical_sha256)).decode()
    origins = await read_origins(bench, version.extract_sha256)
    before, wanted = await _before(run, document)
    tree = await asyncio.to_thread(parse_tree, text)
    drafts, hidden = await asyncio.to_thread(_chunk_text, text, tree, origins, before, wanted)
    made = number_chunks(document, drafts, version.generation, before, hidden=hidden)
    made = note_links(made, tree, text, kinds=wanted.hidden_kinds)
    made = _with_pages(origins, made)
    for done in range(run.progress.get("current_chunk", 0), len(made), CHUNKS_PER_BATCH):
        batch = made[done : done + CHUNKS_PER_BATCH]
        progress = {
            "current_line": batch[-1].end_line,
            "total_lines": version.line_count,
            "current_chunk": done + len(batch),
            "generation": version.generation,
        }
        async with run.batch(progress) as conn:
            await still_draft(conn, run, version)
            await chunks.insert_chunks(conn, batch, run.clock())
    kept = {chunk.id for chunk in before}
    reused = sum(chunk.id in kept for chunk in made)
    return {"generation": version.generation, "chunks": len(made), "reused": reused}


def _chunk_text(
    text: str, tree: MarkdownTree, origins: Sequence[Origin], before: Sequence[Chunk], wanted: SpaceSettings
) -> tuple[list[ChunkDraft], tuple[Redaction, ...]]:
    """The drafts of a text and what is hidden of it: what detectors find, and what was hidden by others."""
    kinds = wanted.hidden_kinds
    found = find_redactions(text, page_starts(origins), kinds)
    hidden = merge_redactions([*found, *keep_kinds(_carried(before, text), kinds)])
    drafts = chunk_by_structure(text, tree.blocks, sizes=ChunkSizes(*wanted.sizes))
    return hide_summaries(drafts, hidden), hidden


def _carried(before: Sequence[Chunk], text: str) -> list[Redaction]:
    """What people and models have hidden of the version before: no detector would find it again."""
    layer = merge_redactions(item for chunk in before for item in load_redactions(chunk.redaction))
    kept = [item for item in layer if item.source is not RedactionSource.DETECTOR]
    return carry_redactions(join_chunks(before), kept, text) if kept else []


async def _before(run: Run, document: Document) -> tuple[list[Chunk], SpaceSettings]:
    """The chunks that readers see now, none while the first version is made, and what the space wants."""
    async with run.db.glance() as conn:
        wanted = await settings_of(conn, document.space_id)
    if document.live_generation == 0:
        return [], wanted
    async with run.db.read() as conn:
        return await chunks.live_chunks(conn, document.id), wanted


def page_starts(origins: Sequence[Origin]) -> list[int]:
    """The lines at which pages or slides begin."""
    return [origin.line for origin in origins if origin.kind in PAGES]


def _with_pages(origins: Sequence[Origin], made: list[Chunk]) -> list[Chunk]:
    """The chunks with the page on which each begins, where the text has pages."""
    if not page_starts(origins):
        return made
    pages = {chunk.start_line: page_of_line(origins, chunk.start_line) for chunk in made}
    return [replace(item, metadata={**item.metadata, "page": pages[item.start_line]}) for item in made]


async def index_document(bench: Workbench, run: Run) -> Result:
    """`indexing`: the newest generation enters the index and becomes the live one."""
    document, version = await newest_version(run)
    async with run.db.glance() as conn:
        found = await chunks.generation_chunks(conn, document.id, version.generation)
        kinds = (await settings_of(conn, document.space_id)).hidden_kinds
        described = await describe_chunks(conn, document.id, version.generation, found, kinds=kinds)
        sources = await bench.sources.get(conn, document.space_id)
    if hashlib.sha256(join_chunks(found).encode()).hexdigest() != version.canonical_sha256:
        raise Conflict(
            f"The chunks of {document.source} do not make up its {version.line_count} lines.",
            remedy="Chunk it again.",
        )
    live = _live(document, version, kinds)
    collection = collection_of(document.space_id)
    related = relate(live, found, sources)
    rows = await asyncio.to_thread(lambda: index_rows(live, shown_chunks(found), described, related=related))
    if version.generation > 1:
        await write_rows(bench.store, collection, rows)
    else:
        await bench.store.upsert(collection, rows)
    try:
        left, made = await _switch(bench, run, document, live, found)
    except (LeaseLost, Conflict):
        await _take_back(bench, document, version, rows)
        raise
    bench.wake([job.id for job in made])
    if version.generation > 1:
        await bench.store.delete(collection, dead_rows(live, rows))
    gone = set(left) - {version.original_sha256, version.canonical_sha256, version.extract_sha256}
    await release_blobs(bench, sorted(gone))
    return {"generation": version.generation, "chunks": len(found)}


async def write_rows(store: Store, collection: str, rows: Sequence[IndexRow]) -> None:
    """Store rows; those that were there keep the vectors of what has not changed."""
    old = await store.get(collection, [row.pk for row in rows], vectors=True)
    await store.upsert(collection, keep_vectors(rows, old) if old else rows)


async def describe_chunks(
    conn: AsyncConnection, document_id: str, generation: int, found: Sequence[Chunk], *, kinds: Kinds
) -> dict[str, str]:
    """What the figures of each chunk show, as it may be shown, where somebody has looked at them."""
    shown = [item for item in await assets.list_assets(conn, document_id, generation) if item.description]
    shown = shown_assets(shown, kinds)
    described: dict[str, str] = {}
    for item in shown:
        for chunk in found:
            if chunk.start_line <= item.line <= chunk.end_line:
                described[chunk.id] = f"{described.get(chunk.id, '')} {item.description}".strip()
    return described


async def _switch(
    bench: Workbench, run: Run, document: Document, live: Document, found: Sequence[Chunk]
) -> tuple[list[str], list[Job]]:
    """Let readers see this version: the blobs of what it replaces, and the jobs that follow.

    No version changes when they see it already.
    """
    same = {"draft_generation": document.draft_generation, "live_generation": document.live_generation}
    again = document.live_generation == live.live_generation
    changes = {} if again else _columns(live)
    async with run.batch({"current": len(found), "total": len(found)}) as conn:
        if not await documents.update_document(conn, document.id, changes, run.clock(), only_if=same):
            raise superseded(document)
        made = await let_encode(bench, conn, run, live)
        if again:
            return [], made
        keep = frozenset({live.live_generation})
        await chunks.delete_generations(conn, document.id, keep=live.live_generation)
        await assets.link_chunks(conn, await _linked_assets(conn, live, found))
        left = await versions.delete_versions(conn, document.id, keep=keep)
        left += await assets.delete_assets(conn, document.id, keep=keep)
    return [*left, *(sha for sha in (document.original_sha256, document.canonical_sha256) if sha)], made


async def let_encode(bench: Workbench, conn: AsyncConnection, run: Run, live: Document) -> list[Job]:
    """A job that gives the rows their dense vectors; until then they are found by their words."""
    if run.registry is None or not await wants_vectors(bench, conn, live.space_id):
        return []
    wanted = NewJob(
        type=ENCODING,
        space_id=live.space_id,
        document_id=live.id,
        initiator_id=run.job.initiator_id,
        dedupe_key=f"{ENCODING}:{run.job.id}:{live.id}",
        context={"version": live.live_generation},
    )
    return await create_jobs(conn, run.registry, [wanted], run.clock())


async def _take_back(
    bench: Workbench, document: Document, version: DocumentVersion, rows: Sequence[IndexRow]
) -> None:
    """Remove the rows of a version that can no longer become live, except those that the live one has too."""
    async with bench.db.read() as conn:
        present = await documents.get_document(conn, document.id)
        live = {chunk.id for chunk in await chunks.live_chunks(conn, document.id)}
    if present and version.generation in (present.draft_generation, present.live_generation):
        return  # another worker is on it
    dead = frozenset(row.pk for row in rows) - live
    await bench.store.delete(collection_of(document.space_id), In("pk", dead))


async def _linked_assets(
    conn: AsyncConnection, live: Document, found: Sequence[Chunk]
) -> list[tuple[str, str]]:
    """Which chunk shows which asset."""
    shown = await assets.list_assets(conn, live.id, live.live_generation)
    return [
        (chunk.id, item.id)
        for item in shown
        for chunk in found
        if chunk.start_line <= item.line <= chunk.end_line
    ]


def _live(document: Document, version: DocumentVersion, kinds: Kinds) -> Document:
    """The document as it is once this version is live; what it shows of itself hides what its text hides."""
    shown = {name: shown_values(getattr(version, name), kinds) for name in ("title", "metadata")}
    return replace(
        document,
        status=DocumentStatus.READY,
        error=None,
        live_generation=version.generation,
        draft_generation=None,
        **{name: getattr(version, name) for name in _VERSIONED} | shown,
    )


_VERSIONED = (
    "version",
    "original_sha256",
    "canonical_sha256",
    "size",
    "filetype",
    "line_count",
    "title",
    "metadata",
)


def _columns(live: Document) -> dict[str, Any]:
    values = {name: getattr(live, name) for name in _VERSIONED}
    return values | {
        "metadata": dict(live.metadata),
        "status": live.status.value,
        "error": None,
        "live_generation": live.live_generation,
        "draft_generation": None,
    }


def number_chunks(
    document: Document,
    drafts: Sequence[ChunkDraft],
    generation: int,
    before: Sequence[Chunk] = (),
    *,
    hidden: Sequence[Redaction] = (),
) -> list[Chunk]:
    """Drafts with identities: a chunk that was there before keeps its id and, where as much of it may be
    shown as then, its summary; a new one gets an id that is the same whenever it is made again."""
    reused = reuse_chunks(before, drafts) if before else {}
    ids = [
        reused[position].id
        if position in reused
        else str(uuid.uuid5(_CHUNK_IDS, f"{document.id} {generation} {position}"))
        for position in range(len(drafts))
    ]
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
            summary=_summary(draft, reused.get(position), hidden),
            redaction=dump_redactions(redactions_of(hidden, draft.start_line, draft.end_line)),
            token_count=draft.token_count,
            position=position,
            from_split=draft.from_split,
            merged=draft.merged,
            metadata=draft.metadata,
        )
        for position, draft in enumerate(drafts)
    ]


def _summary(draft: ChunkDraft, known: Chunk | None, hidden: Sequence[Redaction]) -> str:
    """What is said of a chunk. What was said of it before may tell what is hidden since."""
    if known is None:
        return draft.summary
    now = redactions_of(hidden, draft.start_line, draft.end_line)
    if not now and known.redaction is None:
        return known.summary
    same = show_part(draft, now) == show_part(known, load_redactions(known.redaction))
    return known.summary if same else draft.summary
