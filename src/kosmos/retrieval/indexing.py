"""Index rows: one for each chunk, derived from the chunk table and rebuildable from it at any time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kosmos.domain.blocks import without_comments
from kosmos.domain.chunks import Chunk, ChunkType
from kosmos.domain.documents import Document
from kosmos.domain.papers import load_facts
from kosmos.retrieval.bm25 import document_vector
from kosmos.retrieval.conditions import instant, tags_of
from kosmos.retrieval.languages import language_of
from kosmos.retrieval.routes import SUMMARY_DENSE, TEXT_DENSE, TEXT_SPARSE, TITLE_SPARSE
from kosmos.retrieval.terms import terms
from kosmos.store.filters import And, Eq, Filter, In, Not
from kosmos.store.rows import IndexRow

TEXT_ROUTE = TEXT_SPARSE
TITLE_ROUTE = TITLE_SPARSE
MAX_CHILDREN = 256
MAX_ENTRY_URLS = 200
MAX_NAVIGATION = 2000
LINKS = "links"  # in the metadata of a chunk: the links on its lines
FIGURES = "figures"  # what the figures of a chunk show
NAVIGATION = "navigation"  # in the metadata of a document's first chunk: where to read on
_LANGUAGE_SAMPLE = 20_000


def collection_of(space_id: str) -> str:
    """The collection that holds the rows of a space."""
    return f"space_{space_id.replace('-', '')}"


def index_rows(
    document: Document,
    chunks: Sequence[Chunk],
    described: Mapping[str, str] | None = None,
    *,
    related: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
) -> list[IndexRow]:
    """The rows of all chunks of a document.

    `described` says by chunk what its figures show, `related` where its links lead.
    """
    tree = _Tree.of(document, chunks)
    shown, links = described or {}, related or {}
    return [
        _row(tree, chunk, shown=shown.get(chunk.id, ""), related=links.get(chunk.id, ())) for chunk in chunks
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


def dense_texts(fields: Mapping[str, Any]) -> dict[str, str]:
    """What an encoder reads for each dense route of a row; nothing for a row that nobody shall find."""
    if not fields.get("indexed", True):
        return {}
    context = _context(str(fields.get("document_title", "")), str(fields.get("path", "")).split(PATH))
    figures = f"\n{fields[FIGURES]}" if fields.get(FIGURES) else ""
    return {
        TEXT_DENSE: f"{context}\n{fields.get('text', '')}{figures}",
        SUMMARY_DENSE: f"{context}: {fields.get('summary', '')}",
    }


def passages(
    document: Document, chunks: Sequence[Chunk], described: Mapping[str, str] | None = None
) -> dict[str, dict[str, str]]:
    """What an encoder reads of each chunk that can be found, by route: the same as of its row."""
    tree, shown = _Tree.of(document, chunks), described or {}
    texts = {chunk.id: dense_texts(_fields(tree, chunk, shown.get(chunk.id, ""))) for chunk in chunks}
    return {pk: by_route for pk, by_route in texts.items() if by_route}


def keep_vectors(fresh: Sequence[IndexRow], old: Mapping[str, IndexRow]) -> list[IndexRow]:
    """The rows with the vectors that their predecessors have of the same texts."""
    kept = []
    for row in fresh:
        before = old.get(row.pk)
        if before is None or not before.dense:
            kept.append(row)
            continue
        same = dense_texts(before.fields).items() & dense_texts(row.fields).items()
        routes = {route for route, _ in same} & before.dense.keys()
        kept.append(replace(row, dense={route: before.dense[route] for route in routes}))
    return kept


def heading_path(chunk: Chunk, by_id: Mapping[str, Chunk]) -> list[str]:
    """The headings above a chunk, outermost first."""
    path: list[str] = []
    parent = by_id.get(chunk.parent_id or "")
    while parent is not None:
        path.insert(0, parent.summary)
        parent = by_id.get(parent.parent_id or "")
    return path


def is_searchable(chunk: Chunk, listed: tuple[int, int] | None) -> bool:
    """Whether a chunk shall be found: front matter is not read by people, and the reference list of a
    paper holds the words of other papers."""
    if listed is not None and listed[0] <= chunk.start_line <= chunk.end_line <= listed[1]:
        return False
    return bool(chunk.metadata.get("indexed", chunk.metadata.get("kind") != "front_matter"))


PATH = " > "


@dataclass(frozen=True, slots=True)
class _Tree:
    """The chunks of a document by id, their children and places, and what all of them share."""

    document: Document
    by_id: Mapping[str, Chunk]
    children: Mapping[str | None, list[str]]
    places: Mapping[str, int]
    shared: Mapping[str, Any]
    listed: tuple[int, int] | None  # the lines of a paper's reference list

    @classmethod
    def of(cls, document: Document, chunks: Sequence[Chunk]) -> "_Tree":
        children: dict[str | None, list[str]] = {}
        for chunk in chunks:
            children.setdefault(chunk.parent_id, []).append(chunk.id)
        places = {pk: place for group in children.values() for place, pk in enumerate(group)}
        shared, listed = _shared_fields(document, chunks), load_facts(document.metadata).bibliography
        return cls(document, {c.id: c for c in chunks}, children, places, shared, listed)

    def beside(self, chunk: Chunk, step: int) -> str:
        """The chunk so many places further among those of the same parent."""
        siblings, place = self.children[chunk.parent_id], self.places[chunk.id] + step
        return siblings[place] if 0 <= place < len(siblings) else ""


def _shared_fields(document: Document, chunks: Sequence[Chunk]) -> dict[str, Any]:
    """What every row of a document says."""
    sample: list[str] = []
    for chunk in chunks:
        if sum(map(len, sample)) > _LANGUAGE_SAMPLE:
            break
        sample.append(without_comments(chunk.raw_content))
    onward = chunks[0].metadata.get(NAVIGATION, {}) if chunks else {}
    return {
        "source": document.source,
        "document_id": document.id,
        "document_title": document.title,
        "filetype": document.filetype,
        "nav_next_step": str(onward.get("next_step", ""))[:MAX_NAVIGATION],
        "nav_see_also": str(onward.get("see_also", ""))[:MAX_NAVIGATION],
        "created_at": instant(document.created_at),
        "updated_at": instant(document.updated_at),
        "metadata": tags_of(document.metadata),
        "language": language_of("\n".join(sample)),
    }


def _row(tree: _Tree, chunk: Chunk, *, shown: str, related: Sequence[Mapping[str, Any]]) -> IndexRow:
    fields = _fields(tree, chunk, shown) | {"related_links": [dict(link) for link in related]}
    if language_of(fields["text"]) == "zh":  # English in a Chinese document is mostly code
        fields["language"] = "zh"
    if not fields["indexed"]:
        return IndexRow(chunk.id, fields)
    context = _context(tree.document.title, fields["path"].split(PATH))
    sparse = {
        TEXT_SPARSE: document_vector(terms(f"{context} {fields['text']} {shown}")),
        TITLE_SPARSE: document_vector(terms(fields["title"])),
    }
    return IndexRow(chunk.id, fields, sparse)


def _fields(tree: _Tree, chunk: Chunk, shown: str) -> dict[str, Any]:
    path = heading_path(chunk, tree.by_id)
    above = path[-1] if path else tree.document.title
    fields = {
        **tree.shared,
        "text": without_comments(chunk.raw_content),
        "title": chunk.summary if chunk.type is ChunkType.HEADING else above,
        "path": PATH.join(path),
        "parent_id": chunk.parent_id or "",
        "child_ids": tree.children.get(chunk.id, [])[:MAX_CHILDREN],
        "node_type": chunk.type.value,
        "level": chunk.level,
        "token_count": chunk.token_count,
        "left_sibling": tree.beside(chunk, -1),
        "right_sibling": tree.beside(chunk, 1),
        "from_split": chunk.from_split,
        "merged": chunk.merged,
        "entry_urls": entry_urls(chunk),
        "summary": without_comments(chunk.summary),
        "generation": chunk.generation,
        "page": chunk.metadata.get("page"),
        "start_line": chunk.start_line,
        "end_line": chunk.end_line,
        "indexed": is_searchable(chunk, tree.listed),
    }
    return fields | {FIGURES: shown} if shown else fields


def entry_urls(chunk: Chunk) -> list[str]:
    """The addresses that a chunk links to, each once; places in the same text are none."""
    urls = (str(link.get("url", "")) for link in chunk.metadata.get(LINKS, ()))
    return list(dict.fromkeys(url for url in urls if url and not url.startswith("#")))[:MAX_ENTRY_URLS]


def _context(title: str, path: Sequence[str]) -> str:
    """Title and headings, each once: the first heading often repeats the title."""
    return " ".join(dict.fromkeys(part for part in (title, *path) if part))
