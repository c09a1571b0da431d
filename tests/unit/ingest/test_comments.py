"""Comments go without moving a line."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.domain.blocks import blank_comments, without_comments

PROPERTY = settings(max_examples=150, deadline=None)
COMMENTED = st.lists(
    st.sampled_from(["<!--", "-->", "\n", "a", "中", " ", "<!", "--", ">", "-", "<"]), max_size=40
).map("".join)


@pytest.mark.parametrize(
    ("text", "blanked", "without"),
    [
        ("plain", "plain", "plain"),
        ("a <!-- b --> c", "a  c", "a  c"),
        ("a\n<!-- b\nc -->\nd", "a\n\n\nd", "a\n\nd"),
        ("a\n<!-- never\nclosed", "a\n\n", "a\n"),
        ("write `<!--` here\nto go on", "write `<!--` here\nto go on", "write `<!--` here\nto go on"),
        ("<!--a--><!--b-->c", "c", "c"),
        ("a --> b", "a --> b", "a --> b"),
        ("<!-->a-->b", "b", "b"),
        ("a\n  <!-- b -->\nc", "a\n  \nc", "a\n  \nc"),
        ("a <!-- b\n <!-- c", "a <!-- b\n", "a <!-- b\n"),
        (" <!-- never\nclosed", "\n", ""),
        ("<!-- <!-- -->x", "x", "x"),
        ("", "", ""),
    ],
)
def test_comments_go(text: str, blanked: str, without: str) -> None:
    assert blank_comments(text) == blanked
    assert without_comments(text) == without


@PROPERTY
@given(COMMENTED)
def test_every_line_stays_where_it_was(text: str) -> None:
    blanked = blank_comments(text).split("\n")
    lines = text.split("\n")
    assert len(blanked) == len(lines)
    inside = False
    for was, now in zip(lines, blanked, strict=True):
        # A line that neither begins inside a comment nor opens one is untouched.
        if not inside and "<!--" not in was:
            assert now == was
        inside = _inside_after(was, inside)


def _inside_after(line: str, inside: bool) -> bool:
    rest = line
    while True:
        _, mark, rest = rest.partition("-->" if inside else "<!--")
        if not mark:
            return inside
        inside = not inside


@PROPERTY
@given(COMMENTED)
def test_both_ways_leave_the_same_words(text: str) -> None:
    assert without_comments(text).replace("\n", "") == blank_comments(text).replace("\n", "")
    assert without_comments(text).count("\n") <= text.count("\n")
