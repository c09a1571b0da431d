"""Adding a document: bytes → canonical text → chunks → index, each step idempotent.

A new version gets a new generation of chunks; readers switch over in one transaction at the end. A
crash before it leaves the old version as it was, and index rows that nobody is shown.
"""

import hashlib
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from pathlib import PurePath
from urllib.parse import unquote

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.chunking.structure import chunk_by_structure
from kosmos.db import chunks, documents
from kosmos.domain.chunks import Chunk, ChunkDraft
from kosmos.domain.documents import Canonical, Document, DocumentStatus
from kosmos.domain.ids import new_id
from kosmos.domain.values import check_text
from kosmos.errors import Conflict, InvalidInput
from kosmos.ingest.blocks import parse_blocks
from kosmos.ingest.canonical import canonicalize
from kosmos.retrieval.indexing import collection_of, dead_rows, index_rows
from kosmos.store.filters import In
from kosmos.tasks.keeping import hold_blob, release_blobs
from kosmos.tasks.workbench import Workbench

SUFFIXES = {".md": "md", ".markdown": "md", ".txt": "txt"}
MAX_PATH = 4096


class Outcome(StrEnum):
    """What adding did."""

    ADDED = "added"
    UPDATED = "updated"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Source:
    """Something to add: where it came from, what to call it, and its bytes."""

    origin: str
    name: str
    data: bytes

    @property
    def filetype(self) -> str:
        """The type by the end of the name, or InvalidInput."""
        kind = SUFFIXES.get(PurePath(self.name).suffix.lower())
        if kind is None:
            raise InvalidInput(
                f"{self.name}: files of this type cannot be read yet.",
                remedy=f"Types that can: {', '.join(sorted(SUFFIXES))}.",
            )
        return kind


async def add_document(bench: Workbench, space_id: str, source: Source) -> tuple[Document, Outcome]:
    """Add a source to a space, or bring its document up to date. The caller has checked the right to."""
    check_text(source.name, what="name of the file", most=MAX_PATH)
    digest = hashlib.sha256(source.data).hexdigest()
    async with bench.db.read() as conn:
        known = await documents.find_by_origin(conn, space_id, source.origin)
        shown = known.source if known else await _free_name(conn, space_id, source)
    if known and known.original_sha256 == digest and await _is_whole(bench, known):
        return known, Outcome.UNCHANGED
    canonical = canonicalize(source.data, PurePath(source.name).name)
    text = canonical.text.encode()
    hashes = (digest, hashlib.sha256(text).hexdigest())
    document = replace(_document(space_id, source, canonical, hashes, bench.clock()), source=shown)
    if known is not None:
        document = _next_version(document, known)
    fresh = _chunks(document, chunk_by_structure(canonical.text, parse_blocks(canonical.text)))
    await bench.blobs.put(source.data)
    await bench.blobs.put(text)
    # Rows of a generation that is not live are never shown, so the index may run ahead of the tables.
    rows = index_rows(document, fresh)
    await bench.store.upsert(collection_of(space_id), rows)
    await _switch(bench, document, known, fresh)
    if known is not None:
        await bench.store.delete(collection_of(space_id), dead_rows(document, rows))
        await release_blobs(bench, _hashes(known))
    return document, Outcome.UPDATED if known else Outcome.ADDED


def _hashes(document: Document) -> list[str]:
    return [document.original_sha256, document.canonical_sha256 or document.original_sha256]


async def _is_whole(bench: Workbench, known: Document) -> bool:
    """Whether nothing has to be done for a document: it is ready and its bytes are where they belong."""
    ready = known.status is DocumentStatus.READY and known.canonical_sha256 is not None
    return ready and all([await bench.blobs.exists(sha256) for sha256 in _hashes(known)])


async def _free_name(conn: AsyncConnection, space_id: str, source: Source) -> str:
    """The name to show: with more of its path where another document has the shorter one already."""
    parts = PurePath(unquote(source.origin)).parts
    longer = ["/".join(parts[-count:]) for count in range(len(PurePath(source.name).parts) + 1, len(parts))]
    for name in [source.name, *longer]:
        if not await documents.find_by_source(conn, space_id, name):
            return name
    return source.origin


def _document(
    space_id: str, source: Source, canonical: Canonical, hashes: tuple[str, str], now: datetime
) -> Document:
    return Document(
        id=new_id(),
        space_id=space_id,
        origin=source.origin,
        source=source.name,
        filename=PurePath(source.name).name,
        filetype=source.filetype,
        size=len(source.data),
        source_url=None,
        title=canonical.title[:500],
        original_sha256=hashes[0],
        canonical_sha256=hashes[1],
        line_count=len(canonical.lines) if canonical.text else 0,
        status=DocumentStatus.READY,
        error=None,
        version=1,
        live_generation=1,
        draft_generation=None,
        metadata=dict(canonical.metadata),
        created_at=now,
        updated_at=now,
    )


def _next_version(document: Document, known: Document) -> Document:
    """The same document, one version on."""
    return replace(
        document,
        id=known.id,
        version=known.version + 1,
        live_generation=max(known.live_generation, known.draft_generation or 0) + 1,
        created_at=known.created_at,
    )


def _chunks(document: Document, drafts: list[ChunkDraft]) -> list[Chunk]:
    """Drafts with identities: parents become ids."""
    ids = [new_id() for _ in drafts]
    return [
        Chunk(
            id=ids[position],
            space_id=document.space_id,
            document_id=document.id,
            generation=document.live_generation,
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


async def _switch(bench: Workbench, document: Document, known: Document | None, fresh: list[Chunk]) -> None:
    """Go live; whoever is too late takes their rows out of the index again."""
    try:
        await _go_live(bench, document, known, fresh)
    except Conflict:
        mine = In("pk", frozenset(chunk.id for chunk in fresh))
        await bench.store.delete(collection_of(document.space_id), mine)
        raise


async def _go_live(bench: Workbench, document: Document, known: Document | None, fresh: list[Chunk]) -> None:
    """Switch readers over to the new generation in one transaction."""
    text_size = len("\n".join(chunk.raw_content for chunk in fresh).encode())
    conflict = Conflict(f"{document.source} is being added by somebody else.", remedy="Try again.")
    try:
        async with bench.db.write() as conn:
            present = await documents.find_by_origin(conn, document.space_id, document.origin)
            if (present and (present.id, present.version)) != (known and (known.id, known.version)):
                raise conflict
            await hold_blob(bench, conn, document.original_sha256, document.size)
            if document.canonical_sha256 is not None:
                await hold_blob(bench, conn, document.canonical_sha256, text_size)
            if known is None:
                await documents.insert_document(conn, document)
            elif not await documents.replace_document(conn, document):
                raise conflict
            await chunks.insert_chunks(conn, fresh, bench.clock())
            await chunks.delete_generations(conn, document.id, keep=document.live_generation)
    except sa.exc.IntegrityError:
        # Two writers passed the check at once, or the space is gone: the tables let only one of them through.
        raise conflict from None
