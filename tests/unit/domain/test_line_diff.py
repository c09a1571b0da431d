"""The line diff: what it says is the same is the same, untouched ranges are found, bad cases end."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.domain import line_diff
from kosmos.domain.line_diff import Change, changed_regions, map_lines, matching_ranges

PROPERTY = settings(max_examples=300, deadline=None)
SIDES = st.lists(st.sampled_from(["a", "b", "c", "d", "", "中"]), max_size=40)


def _longest_common(old: list[str], new: list[str]) -> int:
    """The length of the longest common subsequence, by the textbook."""
    row = [0] * (len(new) + 1)
    for line in old:
        before = 0
        for index, other in enumerate(new, start=1):
            before, row[index] = row[index], before + 1 if line == other else max(row[index], row[index - 1])
    return row[-1]


@PROPERTY
@given(SIDES, SIDES)
def test_matches_are_true_and_rise_on_both_sides(old: list[str], new: list[str]) -> None:
    last_old = last_new = 0
    for match in matching_ranges(old, new):
        a, b, length = match.old_start - 1, match.new_start - 1, match.length
        assert length > 0
        assert a >= last_old
        assert b >= last_new
        assert old[a : a + length] == new[b : b + length]
        last_old, last_new = a + length, b + length
    assert last_old <= len(old)
    assert last_new <= len(new)


@PROPERTY
@given(SIDES, SIDES)
def test_changes_turn_the_old_text_into_the_new(old: list[str], new: list[str]) -> None:
    result: list[str] = []
    line = 1
    for change in changed_regions(old, new):
        assert change.old_end >= change.old_start - 1
        result += old[line - 1 : change.old_start - 1] + new[change.new_start - 1 : change.new_end]
        line = change.old_end + 1
    assert result + old[line - 1 :] == new


@PROPERTY
@given(SIDES, SIDES)
def test_without_anchors_the_edit_is_the_shortest(old: list[str], new: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_diff, "MAX_DEPTH", 0)
        assert sum(match.length for match in matching_ranges(old, new)) == _longest_common(old, new)


@PROPERTY
@given(SIDES, SIDES, st.data())
def test_mapped_ranges_hold_the_same_lines(old: list[str], new: list[str], data: st.DataObject) -> None:
    start = data.draw(st.integers(1, len(old) + 1))
    end = data.draw(st.integers(start, len(old) + 2))
    mapped = map_lines(old, new).map_range(start, end)
    if mapped:
        assert old[start - 1 : end] == new[mapped[0] - 1 : mapped[1]]
        assert mapped[1] - mapped[0] == end - start


def test_small_changes() -> None:
    old = ["a", "b", "c", "d", "e"]
    assert changed_regions(old, old) == []
    assert changed_regions(old, ["a", "b", "X", "d", "e"]) == [Change(3, 3, 3, 3)]
    assert changed_regions(old, ["a", "b", "d", "e"]) == [Change(3, 3, 3, 2)]
    assert changed_regions(old, ["a", "b", "c", "n", "d", "e"]) == [Change(4, 3, 4, 4)]
    assert changed_regions([], ["a"]) == [Change(1, 0, 1, 1)]
    lines = map_lines(old, ["n", "a", "b", "c", "X", "e"])
    assert lines.map_range(1, 3) == (2, 4)
    assert lines.map_range(5, 5) == (6, 6)
    assert (
        lines.map_range(3, 4)
        is lines.map_range(4, 4)
        is lines.map_range(5, 6)
        is lines.map_range(2, 1)
        is None
    )


@pytest.mark.parametrize("words", [100_000, 300, 3], ids=["unique", "repeated", "three words"])
def test_editing_one_line_in_a_hundred_keeps_untouched_ranges(words: int) -> None:
    chance = random.Random(words)
    old = [str(chance.randrange(words)) for _ in range(5000)]
    touched = set(chance.sample(range(5000), 50))
    new: list[str] = []
    for number, line in enumerate(old):
        new += (
            {0: ["changed"], 1: [line, "added"], 2: []}[chance.randrange(3)] if number in touched else [line]
        )
    lines = map_lines(old, new)
    untouched = [start for start in range(1, 4981, 20) if not touched & set(range(start - 1, start + 19))]
    kept = [start for start in untouched if lines.map_range(start, start + 19)]
    assert len(untouched) > 150
    assert len(kept) >= 0.95 * len(untouched)


def _bad_cases() -> dict[str, tuple[list[str], list[str]]]:
    chance = random.Random(1)
    unique = [f"line {number}" for number in range(50_000)]
    thue = [str(number.bit_count() % 2) for number in range(50_000)]
    return {
        "reversed": (unique, unique[::-1]),
        "shuffled": (unique, chance.sample(unique, len(unique))),
        "nothing in common": (unique, [f"other {number}" for number in range(50_000)]),
        "two words": (
            [chance.choice("ab") for _ in range(50_000)],
            [chance.choice("ab") for _ in range(50_000)],
        ),
        "periods": (["a", "b"] * 25_000, ["b", "a", "a"] * 16_000),
        "turned": (thue, thue[17_000:] + thue[:17_000]),
        "one word": (["a"] * 50_000, ["a"] * 20_000 + ["b"] + ["a"] * 20_000),
    }


@pytest.mark.parametrize("name", list(_bad_cases()))
def test_bad_cases_stay_within_their_steps(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps and depth are what bounds the time: the one is counted down, the other never passed."""
    old, new = _bad_cases()[name]
    works: list[line_diff._Work] = []
    depths: set[int] = set()
    divide = line_diff._divide

    def watch(work: line_diff._Work, region: line_diff._Region) -> list[line_diff._Region]:
        works[:] = [work]
        depths.add(region.depth)
        return divide(work, region)

    monkeypatch.setattr(line_diff, "_divide", watch)
    matching_ranges(old, new)
    # One round may run over: as many diagonals as there were rounds, each to the end of its equal lines.
    assert works[0].steps > -line_diff.MAX_STEPS
    assert max(depths) <= line_diff.MAX_DEPTH
