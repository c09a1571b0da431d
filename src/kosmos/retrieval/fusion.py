"""Fusion: the lists of all routes become one, and every part of every score can be recomputed by hand."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from kosmos.domain.answers import RouteRank
from kosmos.retrieval.routes import DENSE, route_of
from kosmos.retrieval.tuning import RRF, Tuning
from kosmos.store.rows import Found

Lists = Mapping[str, Sequence[Found]]  # by route, best first
SameLanguage = Callable[[str], bool]  # whether a row is in the language of the question
REWRITTEN = 0.5  # what a list of a rewritten question counts, beside one of the question itself


@dataclass(frozen=True, slots=True)
class Fused:
    """A row with what each route thought of it; `score` is the sum of the parts."""

    pk: str
    score: float
    routes: Mapping[str, RouteRank]


def fuse(
    lists: Lists, tuning: Tuning, same_language: SameLanguage, *, only: Collection[str] | None = None
) -> list[Fused]:
    """One list, best first, ties by pk. Routes without weight, and rows they alone found, are left out."""
    routes: dict[str, dict[str, RouteRank]] = {}
    scale = tuning.scale
    for name, found in lists.items():
        low, high = span(name, found[: tuning.depth])
        weights = [_weigh(name, tuning, same_language=same) for same in (False, True)]
        for rank, (hit, share) in enumerate(zip(found, _shares(found, low, high, tuning), strict=True), 1):
            if only is not None and hit.pk not in only:
                continue
            weight = weights[same_language(hit.pk)]
            if weight > 0:
                place = RouteRank(rank, hit.score, weight, low, high, weight * share / scale)
                routes.setdefault(hit.pk, {})[name] = place
    fused = [Fused(pk, sum(place.part for place in its.values()), its) for pk, its in routes.items()]
    return sorted(fused, key=lambda item: (-item.score, item.pk))


def shortlist(lists: Lists, tuning: Tuning, most: int) -> set[str]:
    """The rows that may come first, whatever their languages: the best by either set of weights."""
    kept: set[str] = set()
    for same in (False, True):
        scores: dict[str, float] = {}
        for name, found in lists.items():
            weight = _weigh(name, tuning, same_language=same)
            if weight > 0:
                low, high = span(name, found[: tuning.depth])
                for hit, share in zip(found, _shares(found, low, high, tuning), strict=True):
                    scores[hit.pk] = scores.get(hit.pk, 0.0) + weight * share
        kept.update(sorted(scores, key=lambda pk: (-scores[pk], pk))[:most])
    return kept


def _weigh(name: str, tuning: Tuning, *, same_language: bool) -> float:
    weight = tuning.weigh(route_of(name), same_language=same_language)
    return weight * REWRITTEN if "#" in name else weight


def _shares(found: Sequence[Found], low: float, high: float, tuning: Tuning) -> list[float]:
    """What each place of a list is worth, before its weight."""
    if tuning.fusion == RRF:
        return [1 / (tuning.rrf_k + rank) for rank in range(1, len(found) + 1)]
    stretch = high - low
    if stretch <= 0:
        return [1.0] * len(found)
    return [max(0.0, (hit.score - low) / stretch) for hit in found]


def span(name: str, found: Sequence[Found]) -> tuple[float, float]:
    """The scores that become 0 and 1; what scores less than the lower one has 0 too.

    A text that shares no term with the question has the sparse score 0, so 0 it stays. The cosine of
    unrelated texts is anything: there the last of the list becomes 0.
    """
    if not found:
        return 0.0, 0.0
    scores = [hit.score for hit in found]
    dense = route_of(name) in DENSE
    return (min(scores) if dense else 0.0), max(scores)
