"""Settings of a space as parameters of its search."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.domain.values import check_json
from kosmos.errors import InvalidInput
from kosmos.retrieval.routes import ROUTES, TEXT_DENSE, TEXT_SPARSE
from kosmos.retrieval.tuning import RRF, Tuning, Walk, read_tuning


def test_no_settings_are_the_usual_ones() -> None:
    assert read_tuning({}) == read_tuning({"retrieval": {}}) == Tuning()
    assert Tuning().walk == Walk(0.75, 0.2, 0.5, 10)
    assert set(Tuning().same) == set(Tuning().other) == set(ROUTES)


def test_settings_change_what_they_name() -> None:
    given = {"fusion": "rrf", "same": {"vector": 0}, "walk": {"max_link_top_k": 3}, "depth": 50}
    tuning = read_tuning({"retrieval": given, "chunking": {"fallback": "x"}})
    assert (tuning.fusion, tuning.depth, tuning.rrf_k) == (RRF, 50, 60)
    assert tuning.same == {**Tuning().same, TEXT_DENSE: 0}
    assert tuning.other == Tuning().other
    assert tuning.walk == Walk(max_link_top_k=3)


tunings = st.builds(
    Tuning,
    fusion=st.sampled_from(["rrf", "weighted"]),
    rrf_k=st.floats(1, 1000),
    same=st.fixed_dictionaries(dict.fromkeys(ROUTES, st.floats(0, 100))),
    other=st.fixed_dictionaries(dict.fromkeys(ROUTES, st.floats(0, 100))),
    depth=st.integers(1, 1000),
    document=st.floats(0, 10),
    links=st.floats(0, 10),
    feedback=st.booleans(),
    walk=st.builds(Walk, absolute_min_similarity=st.floats(0, 1), max_link_top_k=st.integers(0, 100)),
)


@settings(deadline=None)
@given(tunings)
def test_what_is_stored_is_read_again(tuning: Tuning) -> None:
    stored = check_json(tuning.as_settings(), what="settings", most=10_000)
    assert read_tuning({"retrieval": stored}) == tuning


@pytest.mark.parametrize(
    "wrong",
    [
        7,
        [],
        {"fusin": "rrf"},
        {"fusion": "sum"},
        {"fusion": None},
        {"rrf_k": 0},
        {"rrf_k": "60"},
        {"rrf_k": float("nan")},
        {"depth": 10.5},
        {"depth": True},
        {"depth": 10_000},
        {"same": 1},
        {"same": {"vectr": 1}},
        {"same": {"vector": -1}},
        {"other": {"vector": "1"}},
        {"other": {"vector": 1e9}},
        {"feedback": 1},
        {"walk": {"up": 1}},
        {"walk": 3},
        {"walk": {"link_proportion": 2}},
        {"rerank": 1},
    ],
)
def test_settings_that_mean_nothing_are_refused(wrong: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_tuning({"retrieval": wrong})
    assert caught.value.remedy


def test_routes_are_weighted_and_switched_off() -> None:
    tuning = Tuning().with_routes({TEXT_DENSE: 0, TEXT_SPARSE: 2})
    assert [tuning.weigh(TEXT_SPARSE, same_language=same) for same in (True, False)] == [2, 2]
    assert tuning.weigh(TEXT_DENSE, same_language=True) == 0
    with pytest.raises(InvalidInput, match="no route 'bm25'"):
        Tuning().with_routes({"bm25": 1})
    assert all(weight == 0 for weight in Tuning().without(ROUTES).same.values())
    assert Tuning().without(ROUTES).scale == 1
