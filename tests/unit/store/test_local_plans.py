"""Which files are merged, and in what lists vectors are put."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kosmos.store.clusters import (
    MIN_PROBES,
    assign_lists,
    count_probes,
    find_centres,
    list_count,
    order_lists,
)
from kosmos.store.dense import join_spans
from kosmos.store.local_reading import last_of_each
from kosmos.store.local_upkeep import MAX_SEGMENT, plan_merges
from kosmos.store.ranking import leading


@pytest.mark.parametrize(
    ("sizes", "groups"),
    [
        ([], []),
        ([(10, 10)], [(0, 1)]),
        ([(100, 100), (10, 10)], [(1, 2)]),
        ([(19, 19), (10, 10)], [(0, 2)]),
        ([(50, 50), (19, 19), (10, 10)], [(0, 3)]),
        ([(100, 100), (19, 19), (10, 10)], [(1, 3)]),
        ([(600, 1000), (100, 100), (10, 10)], [(0, 1), (2, 3)]),
        ([(MAX_SEGMENT, MAX_SEGMENT), (MAX_SEGMENT - 1, MAX_SEGMENT - 1)], [(1, 2)]),
    ],
)
def test_neighbours_of_like_size_become_one(
    sizes: list[tuple[int, int]], groups: list[tuple[int, int]]
) -> None:
    assert plan_merges(sizes) == groups


@given(st.lists(st.integers(1, 500), min_size=1, max_size=300))
def test_files_stay_few_and_rows_are_seldom_written_again(batches: list[int]) -> None:
    files: list[int] = []
    written = 0
    for batch in batches:
        files.append(batch)
        ((start, stop),) = plan_merges([(size, size) for size in files])
        files[start:stop] = [sum(files[start:stop])]
        written += files[-1]
    total = sum(batches)
    assert sum(files) == total
    assert len(files) <= 2 + np.log2(total)
    assert written <= total * (2 + np.log2(total))


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4))))
def test_spans_that_touch_are_joined(steps: list[tuple[int, int]]) -> None:
    spans, at = [], 0
    for gap, length in steps:
        spans.append((at + gap, at + gap + length))
        at += gap + length
    joined = join_spans(spans)
    assert [n for start, end in joined for n in range(start, end)] == [
        n for start, end in spans for n in range(start, end)
    ]


@given(st.lists(st.integers(-3, 6)), st.integers(0, 8))
def test_the_leading_scores_and_their_equals(scores: list[int], k: int) -> None:
    found = leading(np.array(scores, float), k)
    positive = sorted((score for score in scores if score > 0), reverse=True)
    least = positive[min(k, len(positive)) - 1] if positive and k else None
    assert found.tolist() == [at for at, s in enumerate(scores) if least is not None and s >= least]


def test_lists_hold_every_vector_once_with_its_nearest_centre() -> None:
    chance = np.random.default_rng(2)
    vectors = chance.standard_normal((700, 8)).astype(np.float32)
    positions = np.arange(0, 700, 2)
    centres = find_centres(vectors, positions, list_count(len(positions)))
    assert np.allclose(np.linalg.norm(centres, axis=1), 1, atol=1e-5)
    labels = assign_lists(vectors, positions, centres)
    order, offsets = order_lists(positions, labels, len(centres))
    assert sorted(order.tolist()) == positions.tolist()
    assert (offsets[0], offsets[-1]) == (0, len(positions))
    for at in range(len(centres)):
        mine = vectors[order[offsets[at] : offsets[at + 1]]]
        assert ((mine @ centres.T).argmax(axis=1) == at).all()


@pytest.mark.parametrize("spread", [0.05, 1.0])
def test_as_many_lists_are_looked_into_as_it_takes(spread: float) -> None:
    chance = np.random.default_rng(3)
    centres = chance.standard_normal((32, 12))
    vectors = centres[chance.integers(0, 32, 3000)] + spread * chance.standard_normal((3000, 12))
    unit = np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)
    positions = np.arange(3000)
    found = find_centres(unit, positions, 256)
    labels = assign_lists(unit, positions, found)
    probes = count_probes(unit, positions, labels, found)
    hits = []
    for query in unit[1::50]:
        looked = np.argsort(-(found @ query))[:probes]
        best = np.argsort(-(unit @ query))[:10]
        hits.append(np.isin(labels[best], looked).mean())
    assert np.mean(hits) >= 0.95
    assert MIN_PROBES <= probes < 200


def test_list_counts() -> None:
    assert [list_count(n) for n in (0, 16, 1000, 262_144, 1_000_000, 10**9)] == [
        16,
        16,
        128,
        2048,
        4096,
        4096,
    ]


@given(st.lists(st.integers(0, 40) | st.integers(10**6, 10**6 + 3), min_size=1))
def test_of_equal_slots_the_last_counts(slots: list[int]) -> None:
    found = last_of_each(np.array(slots, np.int64))
    assert found.tolist() == [slot not in slots[at + 1 :] for at, slot in enumerate(slots)]
