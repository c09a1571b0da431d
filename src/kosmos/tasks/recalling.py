"""The recall API: search in the shape in which other agents ask knowledge bases for chunks."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kosmos.accounts.access import require_document, resolve_space
from kosmos.domain.accounts import Principal
from kosmos.domain.answers import Likeness, SearchHit
from kosmos.retrieval.conditions import Conditions
from kosmos.retrieval.routes import SUMMARY_DENSE, TEXT_DENSE, TEXT_SPARSE, TITLE_SPARSE
from kosmos.retrieval.search import MAX_K, Wanted
from kosmos.retrieval.terms import question_terms, terms
from kosmos.tasks.finding import find
from kosmos.tasks.workbench import Workbench

CANDIDATES = 64
_WORD = re.compile(r"[A-Za-z0-9_]+|[\u3400-\u9fff]+|[^\sA-Za-z0-9_\u3400-\u9fff]+|\s+")


@dataclass(frozen=True, slots=True)
class Recall:
    """A question and how alike what it finds must be; `vector_weight` is the share of the vectors in that."""

    question: str
    index_names: tuple[str, ...] = ()
    document_ids: tuple[str, ...] = ()
    top_n: int = 10
    page: int = 1
    similarity_threshold: float = 0.2
    vector_similarity_weight: float = 0.3
    use_rerank: bool = False


@dataclass(frozen=True, slots=True)
class Recalled:
    """A chunk with its likeness: in all, by vectors, by terms."""

    hit: SearchHit
    similarity: float
    vector_similarity: float
    term_similarity: float


@dataclass(frozen=True, slots=True)
class Recalls:
    """A page of chunks, how many there are, and what the search could not do."""

    chunks: tuple[Recalled, ...]
    total: int
    warnings: tuple[str, ...] = ()


async def recall(bench: Workbench, who: Principal, wanted: Recall) -> Recalls:
    """The chunks that are like enough, the likest first; a reranker's order where one is asked for."""
    space_ids = await _spaces(bench, who, wanted)
    weight = wanted.vector_similarity_weight
    routes = {
        TEXT_DENSE: weight,
        SUMMARY_DENSE: weight / 2,
        TEXT_SPARSE: 1 - weight,
        TITLE_SPARSE: (1 - weight) / 5,
    }
    need = wanted.top_n * wanted.page
    request = Wanted(
        wanted.question,
        k=min(MAX_K, max(CANDIDATES, need)),
        where=Conditions(document_ids=wanted.document_ids),
        routes=routes,
        rerank="auto" if wanted.use_rerank else "none",
        likeness=True,
    )
    found = await find(bench, who, request, space_ids=space_ids)
    alike = [_recalled(hit, weight) for hit in found.hits]
    kept = [item for item in alike if item.similarity >= wanted.similarity_threshold]
    if not wanted.use_rerank:
        kept.sort(key=lambda item: (-item.similarity, item.hit.chunk_id))
    first = wanted.top_n * (wanted.page - 1)
    return Recalls(tuple(kept[first : first + wanted.top_n]), len(kept), found.warnings)


def highlight(text: str, question: str) -> str:
    """The text with the words of the question between `<em>` and `</em>`."""
    wanted = set(question_terms(question))
    shown = []
    for piece in _WORD.findall(text):
        hit = wanted.intersection(terms(piece)) if piece.strip() else ()
        shown.append(f"<em>{piece}</em>" if hit else piece)
    return "".join(shown)


async def _spaces(bench: Workbench, who: Principal, wanted: Recall) -> Sequence[str] | None:
    """The spaces that are named, and those of the documents; all that the caller may read when none is."""
    ids: dict[str, None] = {}
    async with bench.db.read() as conn:
        for name in wanted.index_names:
            ids.setdefault((await resolve_space(conn, who, name)).space.id)
        for document_id in wanted.document_ids if not ids else ():
            ids.setdefault((await require_document(conn, who, document_id)).space_id)
    return list(ids) or None


def _recalled(hit: SearchHit, weight: float) -> Recalled:
    alike = hit.likeness or Likeness(0.0, None)
    return Recalled(hit, alike.mix(weight), alike.vector or 0.0, alike.term)
