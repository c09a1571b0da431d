"""Small collections for tests of search: rows of real chunks in a store in memory, with vectors."""

from collections.abc import Mapping
from typing import Any

from kosmos.chunking.structure import chunk_by_structure
from kosmos.domain.chunks import Chunk
from kosmos.domain.documents import Document, DocumentStatus
from kosmos.doubles.clock import START
from kosmos.doubles.memory_store import MemoryStore
from kosmos.doubles.word_encoder import WordEncoder
from kosmos.ingest.blocks import parse_blocks
from kosmos.retrieval.indexing import dense_texts, index_rows
from kosmos.store.rows import IndexRow


def document(name: str, **changes: Any) -> Document:
    """A document of that name."""
    values: dict[str, Any] = {
        "id": name,
        "space_id": "s",
        "origin": name,
        "source": f"{name}.md",
        "filename": f"{name}.md",
        "filetype": "md",
        "size": 1,
        "source_url": None,
        "title": name.title(),
        "original_sha256": "0" * 64,
        "canonical_sha256": "0" * 64,
        "line_count": 1,
        "status": DocumentStatus.READY,
        "error": None,
        "version": 1,
        "live_generation": 1,
        "draft_generation": None,
        "metadata": {},
        "created_at": START,
        "updated_at": START,
    }
    return Document(**{**values, **changes})


def chunks(name: str, text: str) -> list[Chunk]:
    """The chunks of a text."""
    return [
        Chunk(
            id=f"{name}-{position:03}",
            space_id="s",
            document_id=name,
            generation=1,
            parent_id=None if draft.parent is None else f"{name}-{draft.parent:03}",
            type=draft.type,
            level=draft.level,
            start_line=draft.start_line,
            end_line=draft.end_line,
            raw_content=draft.raw_content,
            summary=draft.summary,
            redaction=None,
            token_count=draft.token_count,
            position=position,
            from_split=False,
            merged=False,
            metadata=draft.metadata,
        )
        for position, draft in enumerate(chunk_by_structure(text, parse_blocks(text)))
    ]


def rows(name: str, text: str, **changes: Any) -> list[IndexRow]:
    """The index rows of a document."""
    return index_rows(document(name, **changes), chunks(name, text))


async def fill(store: MemoryStore, collection: str, encoder: WordEncoder) -> None:
    """Give every row of a collection its vectors."""
    for row in await store.scan(collection):
        texts = dense_texts(row.fields)
        if texts:
            vectors = await encoder.encode_passages(list(texts.values()))
            await store.fill(collection, {row.pk: dict(zip(texts, vectors, strict=True))})


async def stock(
    texts: Mapping[str, str], *, encoder: WordEncoder | None = None, collection: str = "c"
) -> MemoryStore:
    """A store with one collection of these documents."""
    store = MemoryStore()
    for name, text in texts.items():
        await store.upsert(collection, rows(name, text))
    if encoder is not None:
        await fill(store, collection, encoder)
    return store
