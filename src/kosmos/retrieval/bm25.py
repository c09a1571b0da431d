"""BM25 as an inner product: saturation goes into the document's vector, rarity into the query's.

Every engine that can multiply sparse vectors gives the same scores then. The average length is a
constant of the index, not of the data: chunks are cut to a size, and a stored weight never goes stale.
"""

import math
from collections import Counter
from collections.abc import Sequence

from kosmos.retrieval.terms import term_id
from kosmos.store.rows import Sparse, TermCounts

K1 = 1.2
B = 0.75
AVERAGE_TERMS = 250.0


def document_vector(terms: Sequence[str]) -> dict[int, float]:
    """How much each term says about a text that contains it."""
    norm = K1 * (1 - B + B * len(terms) / AVERAGE_TERMS)
    vector: dict[int, float] = {}
    for term, count in Counter(terms).items():
        key = term_id(term)
        vector[key] = vector.get(key, 0.0) + count * (K1 + 1) / (count + norm)
    return vector


def query_vector(terms: Sequence[str], counts: TermCounts) -> Sparse:
    """How much it counts that a text contains each term of the question."""
    wanted = Counter(term_id(term) for term in terms)
    return {term: times * rarity(counts, term) for term, times in wanted.items()}


def rarity(counts: TermCounts, term: int) -> float:
    """The inverse document frequency, always above zero."""
    having = counts.counts.get(term, 0)
    return math.log1p((counts.rows - having + 0.5) / (having + 0.5))
