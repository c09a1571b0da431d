"""Token estimates and lines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kosmos.domain.documents import Canonical, slice_lines
from kosmos.domain.tokens import estimate_tokens

MIXED = st.text(st.sampled_from("ab c\n\t\u3000中文。，한é😀") | st.characters())
LINES = st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"])), min_size=1)


@given(MIXED, MIXED)
def test_joining_texts_neither_loses_nor_adds_tokens(one: str, other: str) -> None:
    apart = estimate_tokens(one), estimate_tokens(other)
    together = estimate_tokens(one + other)
    assert max(apart) <= together <= sum(apart)
    assert together >= sum(apart) - 1  # only the last, partly filled group of four can be saved


@given(MIXED)
def test_a_text_has_at_most_one_token_a_visible_character(text: str) -> None:
    visible = sum(not char.isspace() for char in text)
    assert -(-visible // 4) <= estimate_tokens(text) <= visible


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        (" \n\t\u3000\u3000", 0),
        ("a", 1),
        ("word", 1),
        ("words", 2),
        ("w o r d", 1),
        ("中文", 2),
        ("中文 abcde", 4),
        ("中\u3000文\u3000abcd", 3),
        ("한국어", 3),
        ("𠀀", 1),
    ],
)
def test_estimates_that_can_be_counted_by_hand(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@given(LINES, st.data())
def test_a_slice_is_those_lines_and_nothing_else(lines: list[str], data: st.DataObject) -> None:
    """Lines may hold form feeds, U+2028 or carriage returns: only LF ends one."""
    text = "\n".join(lines)
    start = data.draw(st.integers(1, len(lines)))
    end = data.draw(st.integers(start, len(lines)))
    part = slice_lines(text, start, end)
    assert part.split("\n") == lines[start - 1 : end] == Canonical(text, "", {}).lines[start - 1 : end]
    assert part in text


def test_a_slice_beyond_the_end_stops_there() -> None:
    assert slice_lines("a\nb\n\nd", 3, 99) == "\nd"
    assert slice_lines("a\nb", 3, 9) == ""
