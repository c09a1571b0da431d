"""Searching in memory gives what plain dictionaries give, whatever the rows went through."""

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.store.columns import Mask
from kosmos.store.filters import Filter, In
from kosmos.store.rows import Sparse
from kosmos.store.segments import Segment, build_segment, merge_segments
from kosmos.store.snapshot import Part, Snapshot
from kosmos.store.vectors import pack_vectors

# Quarters are exact in every float, so that scores and ties can be compared to the letter.
WEIGHTS = st.integers(-8, 40).map(lambda number: number / 4)
TERMS = st.sampled_from([0, 1, 2, 3, 500, 999_999_999])
VECTORS = st.dictionaries(TERMS, WEIGHTS)
PKS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=3)
ROWS = st.dictionaries(PKS, VECTORS, max_size=12)
CUTS = st.lists(st.integers(0, 12), max_size=3)


def no_lookup(segment: Segment, leaf: Filter) -> Mask:
    raise AssertionError(f"{leaf} has a column")


def _dot(left: Sparse, right: Sparse) -> float:
    return sum(weight * right.get(term, 0.0) for term, weight in left.items())


def _snapshot(
    vectors: Mapping[str, Sparse],
    cuts: Sequence[int] = (),
    dead: frozenset[str] = frozenset(),
) -> Snapshot:
    """The rows in several parts, some of them dead."""
    rows = [
        (slot, pk, "{}", pack_vectors({"r": vector})) for slot, (pk, vector) in enumerate(vectors.items())
    ]
    edges = sorted({0, len(rows), *(cut for cut in cuts if cut < len(rows))})
    groups = [rows[start:end] for start, end in pairwise(edges)]
    parts = [
        Part(build_segment(group), np.array([row[1] not in dead for row in group]) if dead else None)
        for group in groups
    ]
    return Snapshot(parts=tuple(parts))


@settings(max_examples=150, deadline=None)
@given(ROWS, VECTORS, st.integers(0, 15), CUTS, st.sets(st.integers(0, 11)))
def test_the_best_are_those_of_brute_force(
    vectors: dict[str, dict[int, float]], query: dict[int, float], k: int, cuts: list[int], deaths: set[int]
) -> None:
    dead = frozenset(pk for at, pk in enumerate(vectors) if at in deaths)
    snapshot = _snapshot(vectors, cuts, dead)
    scores = {pk: _dot(vector, query) for pk, vector in vectors.items() if pk not in dead}
    expected = sorted((-score, pk) for pk, score in scores.items() if score > 0)
    found = snapshot.search("r", query, k, snapshot.select(None, no_lookup))
    assert [(-item.score, item.pk) for item in found] == expected[:k]
    some = frozenset(list(vectors)[::2])
    found = snapshot.search("r", query, k, snapshot.select(In("pk", some), no_lookup))
    assert [(-item.score, item.pk) for item in found] == [pair for pair in expected if pair[1] in some][:k]
    everything = snapshot.select(None, no_lookup)
    assert snapshot.first_pks(everything, "", 99) == sorted(scores)
    assert (
        snapshot.first_pks(everything, min(vectors, default=""), 2)
        == sorted(set(scores) - {min(vectors, default="")})[:2]
    )


@settings(max_examples=100, deadline=None)
@given(ROWS, st.lists(TERMS, unique=True), CUTS)
def test_terms_are_counted_once_a_row(
    vectors: dict[str, dict[int, float]], terms: list[int], cuts: list[int]
) -> None:
    counts = _snapshot(vectors, cuts).term_counts("r", terms)
    assert counts.rows == len(vectors)
    assert counts.counts == {term: sum(term in vector for vector in vectors.values()) for term in terms}


FIELDS = st.dictionaries(
    st.sampled_from(["a", "b", "名"]),
    st.sampled_from(["x", "中", 1, 1.0, True, -2.5, None, ["x", 1], [], {"k": 1}, [None, "y"]]),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(FIELDS, VECTORS), min_size=1, max_size=10), CUTS, st.sets(st.integers(0, 9)))
def test_merged_segments_equal_one_built_at_once(
    content: list[tuple[dict[str, Any], dict[int, float]]], cuts: list[int], deaths: set[int]
) -> None:
    rows = [
        (slot, f"pk{slot}", json.dumps(fields), pack_vectors({"r": vector, "s": {slot: 1.0}}))
        for slot, (fields, vector) in enumerate(content)
    ]
    edges = sorted({0, len(rows), *(cut for cut in cuts if cut < len(rows))})
    groups = [rows[start:end] for start, end in pairwise(edges)]
    alive = [np.array([row[0] not in deaths for row in group], bool) for group in groups]
    merged = merge_segments(list(zip(map(build_segment, groups), alive, strict=True)))
    whole = build_segment([row for row in rows if row[0] not in deaths])
    assert merged.slots.tolist() == whole.slots.tolist()
    for name, column in whole.columns.items():
        assert merged.columns[name].codes.tolist() == column.codes.tolist()
        assert merged.columns[name].values.numbers == column.values.numbers
        assert merged.columns[name].values.texts.all() == column.values.texts.all()
    for name, listed in whole.lists.items():
        assert merged.lists[name].rows.tolist() == listed.rows.tolist()
        assert merged.lists[name].offsets.tolist() == listed.offsets.tolist()
    for route, postings in whole.routes.items():
        for mine, theirs in zip(_arrays(postings), _arrays(merged.routes[route]), strict=True):
            assert mine.tolist() == theirs.tolist()


def _arrays(postings: Any) -> list[Any]:
    return [postings.terms, postings.offsets, postings.rows, postings.weights]


def test_a_route_that_no_row_has_finds_nothing() -> None:
    snapshot = _snapshot({"a": {1: 1.0}})
    assert snapshot.search("other", {1: 1.0}, 10, snapshot.select(None, no_lookup)) == []
    assert snapshot.term_counts("other", [1]).counts == {1: 0}
