"""Measures of ranked lists, against sums done by hand."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.eval.retrieval_metrics import HIT, METRICS, MRR, NDCG, RECALL, compare, mean_of, measure


def test_by_hand() -> None:
    ranked = ["x", "b", "y", "a"]
    found = measure(ranked, {"a": 1.0, "b": 2.0, "c": 1.0})
    gain = 2 / math.log2(3) + 1 / math.log2(5)
    ideal = 2 / math.log2(2) + 1 / math.log2(3) + 1 / math.log2(4)
    assert found == pytest.approx({NDCG: gain / ideal, RECALL: 2 / 3, HIT: 1.0, MRR: 0.5})


@pytest.mark.parametrize(
    ("place", "expected"),
    [(1, (1.0, 1.0, 1.0, 1.0)), (6, (1 / math.log2(7), 1.0, 0.0, 1 / 6)), (11, (0.0, 1.0, 0.0, 0.0))],
)
def test_one_answer(place: int, expected: tuple[float, ...]) -> None:
    ranked = [f"n{number}" for number in range(place - 1)] + ["gold", "more"]
    assert tuple(measure(ranked, {"gold": 1.0})[name] for name in METRICS) == pytest.approx(expected)


def test_beyond_the_hundredth_nothing_counts() -> None:
    ranked = [f"n{number}" for number in range(100)]
    assert set(measure([*ranked, "gold"], {"gold": 1.0}).values()) == {0.0}
    assert set(measure([], {"gold": 1.0}).values()) == {0.0}


names = st.lists(st.sampled_from("abcdefgh"), unique=True)


@settings(deadline=None)
@given(names, st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from([1.0, 2.0]), min_size=1))
def test_measures_lie_between_none_and_all(ranked: list[str], relevant: dict[str, float]) -> None:
    found = measure(ranked, relevant)
    assert all(0 <= value <= 1 + 1e-12 for value in found.values())
    best = sorted(relevant, key=lambda name: -relevant[name])
    assert measure(best, relevant)[NDCG] == pytest.approx(1.0)
    assert found[NDCG] <= 1 + 1e-12


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_an_interval_holds_its_mean(values: list[float]) -> None:
    mean = mean_of(values)
    assert mean.low - 1e-9 <= mean.value <= mean.high + 1e-9
    assert min(values) - 1e-9 <= mean.low
    assert mean.high <= max(values) + 1e-9
    assert mean_of(values) == mean


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=40))
def test_a_difference_turns_its_sign_with_its_sides(pairs: list[tuple[float, float]]) -> None:
    ones, others = [a for a, _ in pairs], [b for _, b in pairs]
    there, back = compare(ones, others), compare(others, ones)
    assert there.value == pytest.approx(-back.value)
    assert (there.better, there.worse) == (back.worse, back.better)
    assert there.low <= there.value + 1e-9
    assert there.value <= there.high + 1e-9
    assert 0 <= there.p <= 1


def test_a_clear_difference_is_told_from_chance() -> None:
    clear = compare([1.0] * 30, [0.0] * 30)
    assert (clear.value, clear.low, clear.p, clear.better) == (1.0, 1.0, 0.0, 30)
    same = compare([0.5] * 30, [0.5] * 30)
    assert (same.value, same.p) == (0.0, 1.0)
    mixed = compare([1.0, 0.0] * 15, [0.0, 1.0] * 15)
    assert mixed.low < 0 < mixed.high
    assert mean_of([]).value == 0.0
    assert compare([], []).p == 1.0
