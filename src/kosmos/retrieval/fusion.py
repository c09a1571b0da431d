"""Fusion: the lists of all routes become one, and every part of every score can be recomputed by hand."""

from collections.abc import Callable, Mapping, Sequence
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


def fuse(lists: Lists, tuning: Tuning, same_language: SameLanguage) -> list[Fused]:
    """One list, best first, ties by pk. Routes without weight, and rows they alone found, are left out."""
    routes: dict[str, dict[str, RouteRank]] = {}
    for name, found in lists.items():
        low, high = span(name, found[: tuning.depth])
        for rank, hit in enumerate(found, start=1):
            weight = tuning.weigh(route_of(name), same_language=same_language(hit.pk))
            weight *= REWRITTEN if "#" in name else 1.0
            if weight > 0:
                place = RouteRank(rank, hit.score, weight, low, high)
                part = part_of(place, tuning) / tuning.scale
                routes.setdefault(hit.pk, {})[name] = RouteRank(rank, hit.score, weight, low, high, part)
    fused = [Fused(pk, sum(place.part for place in its.values()), its) for pk, its in routes.items()]
    return sorted(fused, key=lambda item: (-item.score, item.pk))


def shortlist(lists: Lists, tuning: Tuning, most: int) -> set[str]:
    """The rows that may come first, whatever their languages: the best by either set of weights."""
    ones = fuse(lists, tuning, lambda _: True)[:most]
    others = fuse(lists, tuning, lambda _: False)[:most]
    return {item.pk for item in (*ones, *others)}


def part_of(place: RouteRank, tuning: Tuning) -> float:
    """What one route adds to a row, before scaling."""
    if tuning.fusion == RRF:
        return place.weight / (tuning.rrf_k + place.rank)
    stretch = place.high - place.low
    share = (place.score - place.low) / stretch if stretch > 0 else 1.0
    return place.weight * max(0.0, share)


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
