"""Search as users ask for it: rights, settings of the space, live chunks, and all that goes with a result."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kosmos.accounts.access import require_space, visible_space_ids
from kosmos.db import chunks, documents, space_encoders
from kosmos.domain.accounts import Principal
from kosmos.domain.answers import Findings, Neighbour, SearchHit
from kosmos.domain.blocks import without_comments
from kosmos.domain.chunks import Chunk
from kosmos.domain.documents import Document
from kosmos.domain.spaces import Space
from kosmos.errors import KosmosError
from kosmos.retrieval.conditions import LANGUAGES
from kosmos.retrieval.evidence import Ranked, one_per_document, rescore
from kosmos.retrieval.explaining import explain
from kosmos.retrieval.gathering import Shelf
from kosmos.retrieval.indexing import collection_of
from kosmos.retrieval.search import Outcome, Wanted, search_shelves
from kosmos.retrieval.similarity import compare, fetch_rows
from kosmos.retrieval.tuning import MAX_DEPTH, Tuning, read_tuning
from kosmos.store.filters import Eq
from kosmos.tasks.finding_walk import walk_from
from kosmos.tasks.reranking import score_passages
from kosmos.tasks.rewriting import rewrite
from kosmos.tasks.showing import shown_chunk, shown_chunks
from kosmos.tasks.space_encoders import encoders_of
from kosmos.tasks.workbench import Workbench

TRIES = 3  # for a page whose chunks are replaced meanwhile
Live = Mapping[str, tuple[Chunk, Document]]


@dataclass(frozen=True, slots=True)
class _Scope:
    """Where somebody searches: spaces they may read, and how those are searched."""

    who: Principal
    spaces: tuple[Space, ...]
    tuning: Tuning
    shelves: tuple[Shelf, ...] = ()

    @property
    def ids(self) -> set[str]:
        return {space.id for space in self.spaces}


@dataclass(frozen=True, slots=True)
class _Found:
    """The results of a search before they are dressed; `whole` unless some went meanwhile."""

    outcome: Outcome
    page: list[tuple[Ranked, int]]
    live: Live
    whole: bool


async def find(
    bench: Workbench, who: Principal, wanted: Wanted, *, space_ids: Sequence[str] | None = None
) -> Findings:
    """What fits best in the given spaces, or in all that the caller may read."""
    wanted.check()
    # Half a surrogate pair is no character: nothing can be found by it, and nobody can be sent it.
    wanted = replace(wanted, query=wanted.query.encode(errors="replace").decode())
    warnings: list[str] = []
    scope = await _open_scope(bench, who, space_ids, warnings)
    queries = [wanted.query]
    if wanted.rewrite:
        queries += await _rewritten(bench, scope, wanted, warnings)
    found = await _find_live(bench, scope, wanted, queries, warnings)
    outcome, page = found.outcome, found.page
    hits = [hit_of(item, *found.live[item.chunk_id], more=more) for item, more in page]
    hits = await _dress(bench, wanted, outcome, hits, ranked=[item for item, _ in page], queries=queries)
    if wanted.walk:
        hits += await _walked(bench, scope, outcome, hits, wanted.query)
    if wanted.neighbours:
        hits = await _with_neighbours(bench, hits, wanted.neighbours)
    return Findings(tuple(hits), (*outcome.gathered.warnings, *warnings), tuple(queries))


def hit_of(item: Ranked, chunk: Chunk, document: Document, *, more: int = 0) -> SearchHit:
    """A result in the shape that every surface gives out."""
    return SearchHit(
        document_id=document.id,
        source=document.source,
        title=document.title,
        chunk_id=chunk.id,
        start_line=chunk.start_line,
        end_line=chunk.end_line,
        page=chunk.metadata.get("page"),
        text=shown_chunk(chunk).raw_content,
        summary=without_comments(chunk.summary),
        score=item.score,
        routes=item.routes,
        space_id=chunk.space_id,
        more=more,
    )


async def _open_scope(
    bench: Workbench, who: Principal, space_ids: Sequence[str] | None, warnings: list[str]
) -> _Scope:
    async with bench.db.read() as conn:
        ids = await visible_space_ids(conn, who) if space_ids is None else list(dict.fromkeys(space_ids))
        spaces = tuple([(await require_space(conn, who, space_id)).space for space_id in ids])
        chosen = await space_encoders.get_encoders(conn, ids)
    encoders = await encoders_of(bench, chosen, ids, warnings)
    shelves = tuple(Shelf(collection_of(each), encoder) for each, encoder in zip(ids, encoders, strict=True))
    # The settings of several spaces may differ; the usual ones are fair to all.
    tuning = read_tuning(spaces[0].settings) if len(spaces) == 1 else Tuning()
    return _Scope(who, spaces, tuning, shelves)


async def _rewritten(bench: Workbench, scope: _Scope, wanted: Wanted, warnings: list[str]) -> list[str]:
    space_id = scope.spaces[0].id if len(scope.spaces) == 1 else None
    try:
        languages = [code for code in LANGUAGES if await _speaks(bench, scope, code)]
        return await rewrite(bench, scope.who, wanted.query, languages=languages, space_id=space_id)
    except KosmosError as error:
        warnings.append(f"The question was not rephrased: {error.message}")
        return []


async def _speaks(bench: Workbench, scope: _Scope, language: str) -> bool:
    """Whether the spaces hold texts in a language."""
    for space in scope.spaces:
        if await bench.store.count(collection_of(space.id), Eq("language", language)):
            return True
    return False


async def _find_live(
    bench: Workbench, scope: _Scope, wanted: Wanted, queries: Sequence[str], warnings: list[str]
) -> _Found:
    """One page of results, searched for again when chunks of it were replaced while it was made."""
    for _ in range(TRIES):
        told: list[str] = []
        found = await _find_page(bench, scope, wanted, queries, told)
        if found.whole:
            break
    warnings += told
    return found


async def _find_page(
    bench: Workbench, scope: _Scope, wanted: Wanted, queries: Sequence[str], warnings: list[str]
) -> _Found:
    """Results whose chunks are live; more and more of them, since rows of dead chunks drop out."""
    need, reach = wanted.offset + wanted.k, 0
    while True:
        outcome = await search_shelves(
            bench.store, scope.shelves, wanted, tuning=scope.tuning, rewritten=queries[1:], reach=reach
        )
        async with bench.db.read() as conn:
            ids = await chunks.live_ids(conn, [item.chunk_id for item in outcome.ranked], scope.ids)
        ranked = [item for item in outcome.ranked if item.chunk_id in ids]
        ranked = await _above_threshold(bench, wanted, outcome, ranked)
        chosen = one_per_document(ranked) if wanted.grouped else [(item, 0) for item in ranked]
        if len(chosen) >= need or not outcome.cut or outcome.reach == MAX_DEPTH:
            break
        reach = 4 * outcome.reach
    chosen = await _reranked(bench, scope, wanted, outcome, chosen, warnings)
    # Only what is shown is read: many times as many chunks are ranked.
    page = chosen[wanted.offset : need]
    live = await _live(bench, [item.chunk_id for item, _ in page], scope.ids)
    left = [(item, more) for item, more in page if item.chunk_id in live]
    return _Found(outcome, left, live, whole=len(left) == len(page))


async def _live(bench: Workbench, ids: Sequence[str], spaces: set[str]) -> Live:
    async with bench.db.read() as conn:
        found = await chunks.live_chunks_by_id(conn, list(ids))
        owners = await documents.get_documents(conn, list({chunk.document_id for chunk in found.values()}))
    return {
        pk: (chunk, owners[chunk.document_id])
        for pk, chunk in found.items()
        if chunk.space_id in spaces and chunk.document_id in owners
    }


async def _above_threshold(
    bench: Workbench, wanted: Wanted, outcome: Outcome, ranked: list[Ranked]
) -> list[Ranked]:
    if wanted.threshold <= 0 or not ranked:
        return ranked
    rows = await fetch_rows(bench.store, outcome.gathered, [item.chunk_id for item in ranked])
    known = compare(outcome.gathered, wanted.query, rows)
    return [
        item for item in ranked if item.chunk_id in known and known[item.chunk_id].best >= wanted.threshold
    ]


async def _reranked(
    bench: Workbench,
    scope: _Scope,
    wanted: Wanted,
    outcome: Outcome,
    chosen: list[tuple[Ranked, int]],
    warnings: list[str],
) -> list[tuple[Ranked, int]]:
    how, depth = outcome.tuning.rerank, outcome.tuning.rerank_depth
    if how == "none" or not chosen:
        return chosen
    first = [item for item, _ in chosen[:depth]]
    texts = [str(outcome.gathered.rows[item.chunk_id].get("text", "")) for item in first]
    space_id = scope.spaces[0].id if len(scope.spaces) == 1 else None
    try:
        scores = await score_passages(bench, scope.who, how, wanted.query, texts, space_id=space_id)
    except KosmosError as error:
        warnings.append(f"Results were not reranked: {error.message}")
        return chosen
    if scores is None:
        return chosen
    more = {item.chunk_id: count for item, count in chosen}
    rest = [item for item, _ in chosen[depth:]]
    return [(item, more[item.chunk_id]) for item in rescore([*first, *rest], scores)]


async def _dress(
    bench: Workbench,
    wanted: Wanted,
    outcome: Outcome,
    hits: list[SearchHit],
    *,
    ranked: Sequence[Ranked],
    queries: Sequence[str],
) -> list[SearchHit]:
    """The results with their similarity and their explanation, where those are wanted."""
    if not hits or not (wanted.explain or wanted.walk or wanted.likeness or wanted.threshold > 0):
        return hits
    gathered = outcome.gathered
    rows = await fetch_rows(bench.store, gathered, [hit.chunk_id for hit in hits])
    known = compare(gathered, wanted.query, rows)
    dressed = []
    for hit, item in zip(hits, ranked, strict=True):
        why = None
        if wanted.explain:
            why = explain(item, rows.get(hit.chunk_id), gathered, tuning=outcome.tuning, queries=queries)
        dressed.append(replace(hit, likeness=known.get(hit.chunk_id), explain=why))
    return dressed


async def _walked(
    bench: Workbench, scope: _Scope, outcome: Outcome, hits: Sequence[SearchHit], query: str
) -> list[SearchHit]:
    steps = await walk_from(bench, outcome.gathered, hits, query=query, limits=outcome.tuning.walk)
    live = await _live(bench, [step.node.pk for step in steps], scope.ids)
    anchors = {hit.chunk_id: hit for hit in hits}
    found = []
    for step in steps:
        if step.node.pk not in live:
            continue
        chunk, document = live[step.node.pk]
        anchor = anchors[step.anchor]
        alike = (anchor.likeness.best if anchor.likeness else 0.0) or 1.0
        score = anchor.score * min(1.0, step.node.likeness.best / alike)
        plain = hit_of(Ranked(chunk.id, document.id, score, {}), chunk, document)
        found.append(replace(plain, origin=step.origin, reason=step.reason, likeness=step.node.likeness))
    return found


async def _with_neighbours(bench: Workbench, hits: Sequence[SearchHit], count: int) -> list[SearchHit]:
    async with bench.db.read() as conn:
        owners = {hit.document_id for hit in hits}
        whole = {owner: await chunks.live_chunks(conn, owner) for owner in sorted(owners)}
    dressed = []
    for hit in hits:
        beside = whole[hit.document_id]
        at = next((place for place, chunk in enumerate(beside) if chunk.id == hit.chunk_id), None)
        near = [] if at is None else [*beside[max(0, at - count) : at], *beside[at + 1 : at + 1 + count]]
        shown = tuple(Neighbour(c.id, c.start_line, c.end_line, c.raw_content) for c in shown_chunks(near))
        dressed.append(replace(hit, neighbours=shown))
    return dressed
