"""The documents of a set as a collection of their own."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from kosmos.chunking.structure import chunk_by_structure
from kosmos.domain.chunks import Chunk
from kosmos.domain.documents import Document, DocumentStatus
from kosmos.eval.retrieval_sets import Entry
from kosmos.ingest.blocks import parse_blocks
from kosmos.ingest.canonical import clean_text
from kosmos.retrieval.indexing import index_rows
from kosmos.store.contract import Store
from kosmos.store.rows import IndexRow

BATCH = 200
_THEN = datetime(2000, 1, 1, tzinfo=UTC)


async def store_corpus(
    store: Store, collection: str, corpus: Sequence[Entry], *, on_step: Callable[[int, int, str], None]
) -> None:
    """Cut every document by its structure and store its rows."""
    await store.ensure(collection)
    for start in range(0, len(corpus), BATCH):
        rows = [row for entry in corpus[start : start + BATCH] for row in entry_rows(entry)]
        await store.upsert(collection, rows)
        on_step(min(start + BATCH, len(corpus)), len(corpus), "storing")


def entry_rows(entry: Entry) -> list[IndexRow]:
    """The rows of one document."""
    text = clean_text(entry.text)
    drafts = chunk_by_structure(text, parse_blocks(text))
    ids = [f"{entry.id}/{position}" for position in range(len(drafts))]
    chunks = [
        Chunk(
            id=ids[position],
            space_id="",
            document_id=entry.id,
            generation=1,
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
    return index_rows(_document(entry, text), chunks)


def _document(entry: Entry, text: str) -> Document:
    return Document(
        id=entry.id,
        space_id="",
        origin=entry.id,
        source=entry.id,
        filename=entry.id,
        filetype="text",
        size=len(text),
        source_url=None,
        title=entry.title,
        original_sha256="",
        canonical_sha256=None,
        line_count=text.count("\n") + 1,
        status=DocumentStatus.READY,
        error=None,
        version=1,
        live_generation=1,
        draft_generation=None,
        metadata={},
        created_at=_THEN,
        updated_at=_THEN,
    )
