"""Feedback: the best texts of a first search lend their telling terms to the question (RM3)."""

from collections.abc import Mapping, Sequence

from kosmos.store.rows import Found, IndexRow, Sparse

TEXTS = 10
TERMS = 20
OWN = 0.6  # what the question's own terms keep of the weight


def expand(
    query: Sparse, first: Sequence[Found], rows: Mapping[str, IndexRow], route: str
) -> dict[int, float]:
    """The question with the terms that weigh most in the texts found first, each by its text's score."""
    top = [hit for hit in first[:TEXTS] if hit.pk in rows]
    total = sum(hit.score for hit in top)
    if not query or total <= 0:
        return dict(query)
    lent: dict[int, float] = {}
    for hit in top:
        vector = rows[hit.pk].sparse.get(route, {})
        length = sum(vector.values()) or 1.0
        for term, weight in vector.items():
            lent[term] = lent.get(term, 0.0) + hit.score / total * weight / length
    chosen = sorted(lent.items(), key=lambda item: (-item[1], item[0]))[:TERMS]
    kept, given = sum(query.values()), sum(weight for _, weight in chosen)
    mixed = {term: OWN * weight for term, weight in query.items()}
    for term, weight in chosen:
        mixed[term] = mixed.get(term, 0.0) + (1 - OWN) * kept * weight / given
    return mixed
