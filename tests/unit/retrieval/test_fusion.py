"""Fusion: sums that anybody can check, whatever the routes found."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.domain.answers import RouteRank
from kosmos.retrieval.fusion import REWRITTEN, Lists, fuse, span
from kosmos.retrieval.routes import DENSE, ROUTES, TEXT_DENSE, TEXT_SPARSE, TITLE_SPARSE
from kosmos.retrieval.tuning import FUSIONS, RRF, WEIGHTED, Tuning
from kosmos.store.rows import Found

NAMES = [*ROUTES, "vector#2", "sparse_vector#3"]


def _listed(scores: Mapping[str, float]) -> list[Found]:
    found = [Found(pk, score) for pk, score in scores.items()]
    return sorted(found, key=lambda hit: (-hit.score, hit.pk))


weights = st.dictionaries(st.sampled_from(ROUTES), st.floats(0, 5), min_size=1)
lists = st.dictionaries(
    st.sampled_from(NAMES),
    st.dictionaries(st.sampled_from("abcdefgh"), st.floats(0.001, 50), max_size=6).map(_listed),
    max_size=5,
)
tunings = st.builds(
    lambda fusion, same, other: replace(Tuning(), fusion=fusion, same=same, other=other),
    st.sampled_from(FUSIONS),
    weights,
    weights,
)


def _recompute(place: RouteRank, tuning: Tuning) -> float:
    """As the explanation says it."""
    if tuning.fusion == RRF:
        share = 1 / (tuning.rrf_k + place.rank)
    else:
        share = (place.score - place.low) / (place.high - place.low) if place.high > place.low else 1.0
    return place.weight * share / tuning.scale


@settings(deadline=None)
@given(lists, tunings, st.frozensets(st.sampled_from("abcdefgh")))
def test_every_score_is_the_sum_of_parts_that_can_be_recomputed(
    found: Lists, tuning: Tuning, foreign: frozenset[str]
) -> None:
    fused = fuse(found, tuning, lambda pk: pk not in foreign)
    for item in fused:
        assert item.score == pytest.approx(sum(_recompute(place, tuning) for place in item.routes.values()))
        for name, place in item.routes.items():
            assert found[name][place.rank - 1] == Found(item.pk, place.score)
            usual = tuning.weigh(name.split("#")[0], same_language=item.pk not in foreign)
            assert place.weight == usual * (REWRITTEN if "#" in name else 1)
            assert place.weight > 0
            assert place.part >= 0
    assert [(-item.score, item.pk) for item in fused] == sorted((-item.score, item.pk) for item in fused)


@settings(deadline=None)
@given(lists, tunings)
def test_what_a_route_with_a_weight_finds_is_never_lost(found: Lists, tuning: Tuning) -> None:
    expected = {
        hit.pk for name, hits in found.items() for hit in hits if tuning.same.get(name.split("#")[0], 0) > 0
    }
    fused = fuse(found, tuning, lambda _: True)
    assert {item.pk for item in fused} == expected
    assert len(fused) == len(expected)


@settings(deadline=None)
@given(lists, tunings)
def test_the_order_of_the_routes_does_not_matter(found: Lists, tuning: Tuning) -> None:
    turned = dict(reversed(list(found.items())))
    ones = {item.pk: item.score for item in fuse(found, tuning, lambda _: True)}
    others = {item.pk: item.score for item in fuse(turned, tuning, lambda _: True)}
    assert ones == pytest.approx(others)


@settings(deadline=None)
@given(st.permutations("abcdef"), st.integers(1, 5), st.sampled_from(FUSIONS))
def test_a_better_place_never_costs(order: list[str], place: int, fusion: str) -> None:
    """One row moves up in one list, the others keep their order: its own score does not fall."""
    tuning = replace(Tuning(), fusion=fusion)
    scores = [6.0, 5.0, 4.0, 3.0, 2.0, 1.0]
    moved = order[place]
    better = [moved, *(pk for pk in order if pk != moved)]
    others = {TEXT_DENSE: _listed(dict(zip("abcdef", scores, strict=True)))}

    def score(ranking: list[str]) -> float:
        listed = _listed(dict(zip(ranking, scores, strict=True)))
        fused = fuse({**others, TEXT_SPARSE: listed}, tuning, lambda _: True)
        return next(item.score for item in fused if item.pk == moved)

    assert score(better) >= score(order)


@pytest.mark.parametrize("fusion", FUSIONS)
def test_a_text_that_is_first_everywhere_has_one(fusion: str) -> None:
    tuning = replace(Tuning(), fusion=fusion)
    found = {route: _listed({"a": 3.0, "b": 1.0}) for route in ROUTES}
    best, worse = fuse(found, tuning, lambda _: True)
    assert best.pk == "a"
    assert best.score == pytest.approx(1.0)
    assert worse.score < 1


def test_by_hand() -> None:
    """Two routes, numbers small enough for paper."""
    tuning = replace(Tuning(), same={TEXT_SPARSE: 1.0, TEXT_DENSE: 0.5}, fusion=WEIGHTED)
    found = {TEXT_SPARSE: _listed({"a": 8.0, "b": 4.0}), TEXT_DENSE: _listed({"b": 0.9, "c": 0.5, "a": 0.4})}
    scores = {item.pk: item.score for item in fuse(found, tuning, lambda _: True)}
    # b: (4/8 + 0.5 × 1) / 1.5; a: (1 + 0) / 1.5; c: 0.5 × (0.5 − 0.4) / (0.9 − 0.4) / 1.5
    assert scores == pytest.approx({"a": 1 / 1.5, "b": 1 / 1.5, "c": 0.1 / 1.5})
    by_rank = replace(tuning, fusion=RRF, rrf_k=60)
    scores = {item.pk: item.score for item in fuse(found, by_rank, lambda _: True)}
    unit = 1.5 / 61
    assert scores == pytest.approx(
        {"a": (1 / 61 + 0.5 / 63) / unit, "b": (1 / 62 + 0.5 / 61) / unit, "c": 0.5 / 62 / unit}
    )


def test_zero_is_where_a_sparse_route_begins_and_the_last_where_a_dense_one_does() -> None:
    found = [Found("a", 0.8), Found("b", 0.6)]
    assert span(TEXT_SPARSE, found) == span(TITLE_SPARSE, found) == (0.0, 0.8)
    assert [span(route, found) for route in (*DENSE, "vector#2")] == [(0.6, 0.8)] * 3
    assert span(TEXT_DENSE, []) == (0.0, 0.0)


def test_weights_follow_the_languages() -> None:
    found = {TEXT_SPARSE: _listed({"zh": 5.0, "en": 5.0}), TEXT_DENSE: _listed({"zh": 0.5, "en": 0.5})}
    tuning = replace(Tuning(), same={TEXT_SPARSE: 1.0, TEXT_DENSE: 0.5}, other={TEXT_DENSE: 1.0})
    fused = {item.pk: item for item in fuse(found, tuning, lambda pk: pk == "zh")}
    assert {name: place.weight for name, place in fused["zh"].routes.items()} == {
        TEXT_SPARSE: 1.0,
        TEXT_DENSE: 0.5,
    }
    assert {name: place.weight for name, place in fused["en"].routes.items()} == {TEXT_DENSE: 1.0}
