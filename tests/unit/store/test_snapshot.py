"""Searching in memory gives what plain dictionaries give."""

from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.store.memory import build_snapshot
from kosmos.store.rows import IndexRow, Sparse

# Quarters are exact in every float, so that scores and ties can be compared to the letter.
WEIGHTS = st.integers(-8, 40).map(lambda number: number / 4)
TERMS = st.sampled_from([0, 1, 2, 3, 500, 999_999_999])
VECTORS = st.dictionaries(TERMS, WEIGHTS)
PKS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=3)
ROWS = st.dictionaries(PKS, VECTORS, max_size=12)


def _dot(left: Sparse, right: Sparse) -> float:
    return sum(weight * right.get(term, 0.0) for term, weight in left.items())


def _rows(vectors: dict[str, dict[int, float]], route: str = "r") -> list[IndexRow]:
    return [IndexRow(pk, {}, {route: vectors[pk]}) for pk in sorted(vectors)]


@settings(max_examples=150, deadline=None)
@given(ROWS, VECTORS, st.integers(0, 15))
def test_the_best_are_those_of_brute_force(
    vectors: dict[str, dict[int, float]], query: dict[int, float], k: int
) -> None:
    snapshot = build_snapshot(1, _rows(vectors))
    scores = {pk: _dot(vector, query) for pk, vector in vectors.items()}
    expected = sorted((-score, pk) for pk, score in scores.items() if score > 0)[:k]
    found = snapshot.best(snapshot.scores("r", query), k)
    assert [(-item.score, item.pk) for item in found] == expected


@settings(max_examples=100, deadline=None)
@given(ROWS, st.lists(TERMS, unique=True))
def test_terms_are_counted_once_a_row(vectors: dict[str, dict[int, float]], terms: list[int]) -> None:
    counts = build_snapshot(1, _rows(vectors)).term_counts("r", terms)
    assert counts.rows == len(vectors)
    assert counts.counts == {term: sum(term in vector for vector in vectors.values()) for term in terms}


def test_a_route_that_no_row_has_finds_nothing() -> None:
    snapshot = build_snapshot(1, _rows({"a": {1: 1.0}}))
    assert snapshot.best(snapshot.scores("other", {1: 1.0}), 10) == []
    assert snapshot.term_counts("other", [1]).counts == {1: 0}


def test_routes_do_not_mix() -> None:
    rows = [IndexRow("a", {}, {"r": {1: 1.0}}), IndexRow("b", {}, {"s": {1: 2.0}}), IndexRow("c", {})]
    snapshot = build_snapshot(1, rows)
    assert [item.pk for item in snapshot.best(snapshot.scores("r", {1: 1.0}), 10)] == ["a"]
    assert [item.pk for item in snapshot.best(snapshot.scores("s", {1: 1.0}), 10)] == ["b"]
