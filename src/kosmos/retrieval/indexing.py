"""Index rows: one for each chunk, derived from the chunk table and rebuildable from it at any time."""

from collections.abc import Mapping, Sequence

from kosmos.domain.blocks import without_comments
from kosmos.domain.chunks import Chunk, ChunkType
from kosmos.domain.documents import Document
from kosmos.retrieval.bm25 import document_vector
from kosmos.retrieval.terms import terms
from kosmos.store.filters import And, Eq, Filter, In, Not
from kosmos.store.rows import IndexRow

TEXT_ROUTE = "sparse_vector"
TITLE_ROUTE = "title_sparse"


def collection_of(space_id: str) -> str:
    """The collection that holds the rows of a space."""
    return f"space_{space_id.replace('-', '')}"


def index_rows(
    document: Document, chunks: Sequence[Chunk], described: Mapping[str, str] | None = None
) -> list[IndexRow]:
    """The rows of all chunks of a document; `described` says by chunk what its figures show."""
    by_id = {chunk.id: chunk for chunk in chunks}
    children: dict[str | None, list[str]] = {}
    for chunk in chunks:
        children.setdefault(chunk.parent_id, []).append(chunk.id)
    places = {pk: place for group in children.values() for place, pk in enumerate(group)}
    shown = described or {}
    return [
        _row(document, chunk, by_id, children, places[chunk.id], shown=shown.get(chunk.id, ""))
        for chunk in chunks
    ]


def dead_rows(document: Document, fresh: Sequence[IndexRow]) -> Filter:
    """Rows of older versions and failed attempts, but never those of a version that comes next."""
    return And(
        (
            Eq("document_id", document.id),
            In("generation", frozenset(range(document.live_generation + 1))),
            Not(In("pk", frozenset(row.pk for row in fresh))),
        )
    )


def heading_path(chunk: Chunk, by_id: Mapping[str, Chunk]) -> list[str]:
    """The headings above a chunk, outermost first."""
    path: list[str] = []
    parent = by_id.get(chunk.parent_id or "")
    while parent is not None:
        path.insert(0, parent.summary)
        parent = by_id.get(parent.parent_id or "")
    return path


def _row(
    document: Document,
    chunk: Chunk,
    by_id: Mapping[str, Chunk],
    children: Mapping[str | None, list[str]],
    place: int,
    *,
    shown: str,
) -> IndexRow:
    siblings = children[chunk.parent_id]
    path = heading_path(chunk, by_id)
    title = chunk.summary if chunk.type is ChunkType.HEADING else (path[-1] if path else document.title)
    text = without_comments(chunk.raw_content)
    searchable = chunk.metadata.get("indexed", chunk.metadata.get("kind") != "front_matter")
    context = " ".join([document.title, *path])
    return IndexRow(
        pk=chunk.id,
        fields={
            "text": text,
            "source": document.source,
            "title": title,
            "parent_id": chunk.parent_id or "",
            "child_ids": children.get(chunk.id, [])[:256],
            "node_type": chunk.type.value,
            "level": chunk.level,
            "token_count": chunk.token_count,
            "left_sibling": siblings[place - 1] if place else "",
            "right_sibling": siblings[place + 1] if place + 1 < len(siblings) else "",
            "from_split": chunk.from_split,
            "merged": chunk.merged,
            "summary": chunk.summary,
            "document_id": document.id,
            "generation": chunk.generation,
        },
        sparse={
            TEXT_ROUTE: document_vector(terms(f"{context} {text} {shown}")),
            TITLE_ROUTE: document_vector(terms(title)),
        }
        if searchable
        else {},
    )
