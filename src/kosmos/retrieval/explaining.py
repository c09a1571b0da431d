"""Explanations: everything that is needed to recompute a score by hand."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from kosmos.retrieval.evidence import Ranked
from kosmos.retrieval.gathering import Gathered
from kosmos.retrieval.routes import route_of
from kosmos.retrieval.terms import question_terms, term_id, terms
from kosmos.retrieval.tuning import RRF, Tuning
from kosmos.store.rows import IndexRow, Sparse

_SUM = "score = sum of parts and rises; part = weight × {norm} ÷ scale; rise = sum of weights × scores"
FORMULAS = {
    "weighted": _SUM.format(norm="(score − low) ÷ (high − low)"),
    RRF: _SUM.format(norm="1 ÷ (rrf_k + rank)"),
}


def explain(
    item: Ranked, row: IndexRow | None, gathered: Gathered, *, tuning: Tuning, queries: Sequence[str]
) -> dict[str, Any]:
    """The parts of a score, down to the terms that question and text share."""
    fused = item.score if item.fused is None else item.fused
    routes: dict[str, Any] = {}
    for name, place in item.routes.items():
        routes[name] = asdict(place)
        asked = gathered.asked.get(name, {}).get(gathered.homes.get(item.chunk_id, ""))
        if row is not None and isinstance(asked, Mapping):
            routes[name]["terms"] = shared_terms(asked, row, route_of(name), queries)
    explanation: dict[str, Any] = {
        "formula": FORMULAS[tuning.fusion],
        "fusion": tuning.fusion,
        "scale": tuning.scale,
        "question_language": gathered.language,
        "text_language": gathered.rows.get(item.chunk_id, {}).get("language", ""),
        "routes": routes,
        "rises": [asdict(rise) for rise in item.rises],
        "fused": fused,
    }
    if tuning.fusion == RRF:
        explanation["rrf_k"] = tuning.rrf_k
    if item.fused is not None:
        explanation["rerank"] = {"by": tuning.rerank, "score": item.score}
    return explanation


def shared_terms(asked: Sparse, row: IndexRow, route: str, queries: Sequence[str]) -> list[dict[str, Any]]:
    """The terms that question and text share, the weightiest first: the products add up to the score."""
    known = row.sparse.get(route, {})
    names = _names(row, queries)
    shared = [
        {
            "term": names.get(term, f"#{term}"),
            "question": weight,
            "text": known[term],
            "product": weight * known[term],
        }
        for term, weight in asked.items()
        if term in known
    ]
    return sorted(shared, key=lambda item: (-float(str(item["product"])), str(item["term"])))


def _names(row: IndexRow, queries: Sequence[str]) -> dict[int, str]:
    """Terms by their number; only what stands in the question or in the row can be shared."""
    fields = row.fields
    texts = [str(fields.get(name, "")) for name in ("document_title", "path", "title", "text")]
    words = [word for text in texts for word in terms(text)]
    words += [word for query in queries for word in question_terms(query)]
    return {term_id(word): word for word in words}
