"""Ranking: what routes found, raised by what stands around it.

A document of which several chunks fit is likelier to be the right one than a document with a single lucky
chunk, and so is one that fitting documents link to. Each such rise is kept with the chunks it came from.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kosmos.domain.answers import RouteRank
from kosmos.retrieval.fusion import Fused, Lists, fuse
from kosmos.retrieval.tuning import Tuning

THIRD = 1 / 3  # what the second chunk beside a chunk counts, of what the first does


@dataclass(frozen=True, slots=True)
class Rise:
    """What other chunks add to one: `part` is the sum of `weights` × their fused scores, in order."""

    kind: str
    chunk_ids: tuple[str, ...]
    weights: tuple[float, ...]
    scores: tuple[float, ...]
    part: float


@dataclass(frozen=True, slots=True)
class Ranked:
    """A chunk that was found: its score is the sum of the parts of its routes and rises.

    After reranking, `score` is the reranker's and `fused` what it was before.
    """

    chunk_id: str
    document_id: str
    score: float
    routes: Mapping[str, RouteRank]
    rises: tuple[Rise, ...] = ()
    fused: float | None = None


def rank(
    lists: Lists, rows: Mapping[str, Mapping[str, Any]], tuning: Tuning, *, language: str
) -> list[Ranked]:
    """All that was found, best first, ties by id. `rows` are fields by id, `language` is the question's."""
    fused = fuse(lists, tuning, lambda pk: _same(rows.get(pk), language), only=rows)
    owners = {item.pk: str(rows[item.pk].get("document_id", "")) for item in fused}
    by_document: dict[str, list[Fused]] = {}
    for item in fused:
        by_document.setdefault(owners[item.pk], []).append(item)
    linking = _linking(fused, rows, owners) if tuning.links > 0 else {}
    ranked = []
    for item in fused:
        owner = owners[item.pk]
        kept: tuple[Rise, ...] = ()
        if tuning.document > 0 and len(by_document[owner]) > 1:
            kept = (_from_document(item, by_document[owner], tuning.document),)
        if owner in linking:
            kept = (*kept, _rise("link", linking[owner], (tuning.links,)))
        score = item.score + sum(rise.part for rise in kept)
        ranked.append(Ranked(item.pk, owner, score, item.routes, kept))
    return sorted(ranked, key=lambda item: (-item.score, item.chunk_id))


def one_per_document(ranked: Sequence[Ranked]) -> list[tuple[Ranked, int]]:
    """The best chunk of each document, in order, and how many others of it were found."""
    counts: dict[str, int] = {}
    for item in ranked:
        counts[item.document_id] = counts.get(item.document_id, 0) + 1
    first = {item.document_id: item for item in reversed(ranked)}
    return [
        (item, counts[item.document_id] - 1)
        for item in ranked
        if first[item.document_id].chunk_id == item.chunk_id
    ]


def rescore(ranked: Sequence[Ranked], scores: Sequence[float]) -> list[Ranked]:
    """The first of the list by a reranker's scores; what it has not seen follows as it was."""
    seen = [replace(item, score=score, fused=item.score) for item, score in zip(ranked, scores, strict=False)]
    return sorted(seen, key=lambda item: -item.score) + list(ranked[len(scores) :])


def _same(fields: Mapping[str, Any] | None, language: str) -> bool:
    """A row that does not say its language is taken for one in the question's."""
    return fields is None or fields.get("language", language) in (language, "")


def _from_document(item: Fused, siblings: Sequence[Fused], weight: float) -> Rise:
    others = [other for other in siblings[:3] if other.pk != item.pk][:2]
    return _rise("document", others, (weight, weight * THIRD))


def _linking(
    fused: Sequence[Fused], rows: Mapping[str, Mapping[str, Any]], owners: Mapping[str, str]
) -> dict[str, list[Fused]]:
    """By document, the best chunk of another one that links to it."""
    linking: dict[str, list[Fused]] = {}
    for item in fused:  # best first: the first to link counts
        for link in rows[item.pk].get("related_links") or ():
            target = link.get("document_id") if isinstance(link, dict) else None
            if isinstance(target, str) and target not in linking and target != owners[item.pk]:
                linking[target] = [item]
    return linking


def _rise(kind: str, others: Sequence[Fused], weights: tuple[float, ...]) -> Rise:
    used = weights[: len(others)]
    part = sum(weight * other.score for weight, other in zip(used, others, strict=True))
    return Rise(kind, tuple(o.pk for o in others), used, tuple(o.score for o in others), part)
