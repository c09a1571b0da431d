"""Search: the question becomes a query vector, the store ranks, the ranks are kept for explanation."""

from collections.abc import Sequence
from dataclasses import dataclass

from kosmos.domain.answers import RouteRank
from kosmos.domain.chunks import ChunkType
from kosmos.errors import InvalidInput
from kosmos.retrieval.bm25 import query_vector
from kosmos.retrieval.indexing import TEXT_ROUTE
from kosmos.retrieval.terms import term_id, terms
from kosmos.store.contract import Store
from kosmos.store.filters import Eq

MAX_QUERY = 10_000
MAX_K = 1000


@dataclass(frozen=True, slots=True)
class Ranked:
    """A chunk that was found, with what each route thought of it."""

    chunk_id: str
    score: float
    routes: dict[str, RouteRank]


def check_query(query: str, k: int) -> None:
    """Refuse what cannot be searched for."""
    if len(query) > MAX_QUERY:
        raise InvalidInput(
            f"The question has {len(query)} characters; at most {MAX_QUERY} are allowed.",
            remedy="Ask more briefly; add long text as a document instead.",
        )
    if not query.strip():
        raise InvalidInput("The question is empty.", remedy="Say what to look for.")
    if not 1 <= k <= MAX_K:
        raise InvalidInput(f"k must be between 1 and {MAX_K}.", remedy="10 is a good start.")


async def search_collections(
    store: Store, collections: Sequence[str], query: str, *, k: int
) -> list[Ranked]:
    """The k best content chunks over all collections, best first."""
    check_query(query, k)
    words = terms(query)
    ids = sorted({term_id(word) for word in words})
    found: list[tuple[float, str]] = []
    for collection in collections:
        counts = await store.term_counts(collection, TEXT_ROUTE, ids)
        hits = await store.search(
            collection,
            TEXT_ROUTE,
            query_vector(words, counts),
            k=k,
            where=Eq("node_type", ChunkType.CONTENT.value),
        )
        found += [(-hit.score, hit.pk) for hit in hits]
    return [
        Ranked(chunk_id=pk, score=-negative, routes={TEXT_ROUTE: RouteRank(rank, -negative)})
        for rank, (negative, pk) in enumerate(sorted(found)[:k], start=1)
    ]
