"""Grep finds the lines a plain loop finds, counts characters, and ends in time."""

import itertools
import re
import time
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.errors import InvalidInput
from kosmos.ingest import grep as room
from kosmos.ingest.grep import SHOWN_CHARS, grep
from kosmos.ingest.grep_patterns import find_literal

PROPERTY = settings(max_examples=250, deadline=None)
TEXTS = st.lists(st.text(st.sampled_from("ab中é🚀. "), max_size=12), max_size=15).map("\n".join)
PATTERNS = st.lists(
    st.sampled_from(
        [
            "a",
            "b",
            "中",
            "🚀",
            ".",
            "a+",
            "b*",
            "[ab]",
            "(a|中)",
            "(ab)?",
            "^",
            "$",
            "a{2}",
            r"\.",
            "[^a]",
            r"\b",
        ]
    ),
    min_size=1,
    max_size=5,
).map("".join)


@PROPERTY
@given(TEXTS, PATTERNS)
def test_lines_and_columns_are_those_of_a_plain_loop(text: str, pattern: str) -> None:
    # The two engines differ in what a word is beyond ASCII, and here only there.
    expected = [
        (number, there.start() + 1)
        for number, line in enumerate(text.split("\n"), start=1)
        if (there := re.search(pattern, line, re.ASCII))
    ]
    found = grep([("t", text)], pattern).matches
    assert [(match.line, match.column) for match in found] == expected
    for match in found:
        assert match.text == text.split("\n")[match.line - 1]


@PROPERTY
@given(TEXTS, st.text(st.sampled_from("ab中é.+*("), min_size=1, max_size=3), st.integers(0, 3))
def test_fixed_text_with_lines_around_it(text: str, wanted: str, context: int) -> None:
    lines = text.split("\n")
    found = grep([("t", text)], wanted, fixed=True, context=context).matches
    assert [match.line - 1 for match in found] == [
        index for index, line in enumerate(lines) if wanted in line
    ]
    for match in found:
        index = match.line - 1
        assert list(match.before) == lines[max(0, index - context) : index]
        assert list(match.after) == lines[index + 1 : index + 1 + context]
        assert lines[index][match.column - 1 : match.end_column - 1] == wanted


@PROPERTY
@given(PATTERNS, TEXTS)
def test_every_match_contains_the_literal(pattern: str, text: str) -> None:
    literal = find_literal(pattern)
    for line in text.split("\n"):
        for match in re.finditer(pattern, line, re.ASCII):
            assert literal in match.group()


@pytest.mark.parametrize(
    ("pattern", "literal"),
    [
        ("kubelet", "kubelet"),
        (r"Pod\s+running", "running"),
        (r"a\.b", "a.b"),
        ("colou?r", "colo"),
        ("x{2,3}yz", "yz"),
        ("ab+c", "ab"),
        ("(abc)?de", "de"),
        ("a|b", ""),
        ("(?i)abc", ""),
        (r"\x41bc", ""),
        (r"\101bc", ""),
        ("[abc]d", "d"),
        ("[]a]bc", "bc"),
        ("容器.*运行时", "运行时"),
        ("a{", ""),
    ],
)
def test_literals(pattern: str, literal: str) -> None:
    assert find_literal(pattern) == literal


def test_case_and_order_of_texts() -> None:
    texts = [("one", "x\nPod POD"), ("two", "pod"), ("three", "none")]
    assert [(m.source, m.line, m.column) for m in grep(texts, "pod", ignore_case=True).matches] == [
        ("one", 2, 1),
        ("two", 1, 1),
    ]
    assert [m.source for m in grep(texts, "pod", ignore_case=True, fixed=True).matches] == ["one", "two"]
    assert grep(texts, "pod").searched == 3


def test_columns_count_characters_not_bytes() -> None:
    (match,) = grep([("t", "前言\n一个🚀容器运行时")], "容器").matches
    assert (match.line, match.column, match.end_column) == (2, 4, 6)


def test_results_are_limited_and_say_so() -> None:
    texts = [("t", "a\n" * 10)]
    few = grep(texts, "a", max_matches=3)
    assert (len(few.matches), few.truncated) == (3, "matches")
    all_of_them = grep(texts, "a", max_matches=10)
    assert (len(all_of_them.matches), all_of_them.truncated) == (10, "")


@PROPERTY
@given(st.integers(0, 3000), st.integers(0, 3000), st.sampled_from("x中🚀"))
def test_long_lines_are_cut_around_the_match(front: int, back: int, letter: str) -> None:
    line = letter * front + "HERE" + letter * back
    (match,) = grep([("t", f"first\n{line}\nlast")], "HERE", context=1).matches
    assert len(match.text) <= max(SHOWN_CHARS, len(line) if len(line.encode()) <= SHOWN_CHARS else 0)
    assert line[match.offset : match.offset + len(match.text)] == match.text
    assert line[match.column - 1 : match.end_column - 1] == "HERE"
    assert match.text[match.column - 1 - match.offset :].startswith("HERE")
    assert len(match.text) == min(len(line), SHOWN_CHARS)


def test_a_long_line_before_or_after_is_shown_by_its_head() -> None:
    (match,) = grep([("t", f"{'中' * 9000}\nHERE\n{'b' * 9000}")], "HERE", context=1).matches
    assert (match.before, match.after) == (("中" * SHOWN_CHARS,), ("b" * SHOWN_CHARS,))


@PROPERTY
@given(
    st.lists(st.sampled_from(["a" * 50, "中" * 40, "needle", "", "x needle y"]), max_size=400),
    st.integers(0, 5),
)
def test_pieces_hide_nothing(lines: list[str], grown: int) -> None:
    """Pieces are small here, so that lines end at, before and behind their borders, and some are longer."""
    lines = [line * (40 * grown + 1) if line.startswith("中") else line for line in lines]
    text = "\n".join(lines)
    large = r"(?:needle|[q-s]{500}[q-s]{500}[q-s]{500}[q-s]{500}[q-s]{500})"
    found = grep([("t", text)], large, max_matches=10_000).matches
    assert [match.line for match in found] == [n for n, line in enumerate(lines, start=1) if "needle" in line]


def test_a_match_across_the_border_of_two_pieces_of_one_line() -> None:
    large = r"needle|[q-s]{500}[q-s]{500}[q-s]{500}[q-s]{500}[q-s]{500}"
    for front in range(4080, 4110):
        (match,) = grep([("t", "中" + "a" * front + "needle" + "b" * 9000)], large).matches
        assert match.column == front + 2


def test_a_match_far_inside_a_line_longer_than_a_piece() -> None:
    line = "中" * 700_000 + "needle" + "b" * 700_000
    (match,) = grep([("t", f"a\n{line}\nneedle x")], "needle$|needleb").matches[:1]
    assert (match.line, match.column) == (2, 700_001)
    assert [m.line for m in grep([("t", f"a\n{line}\nneedle x")], "needle").matches] == [2, 3]


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        (r"(a)\1", "references back"),
        ("a(?=b)", "ahead or behind"),
        ("(?<!a)b", "ahead or behind"),
        ("(?>a)b", "atomic"),
        ("a++", "atomic"),
        (r"a\Z", "Z"),
        ("a{2000}", "too large"),
        ("((a{100}){100}){100}", "too large"),
        (".{1,1000}.{1,1000}.{1,1000}", "too large"),
        ("(", "missing"),
        ("[b-a]", "range"),
        ("*a", "argument"),
        ("", "1 to 1000"),
        ("a\nb", "one line"),
        ("a" * 1001, "1001"),
    ],
)
def test_patterns_that_cannot_be_searched(pattern: str, says: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(says)) as refused:
        grep([("t", "text")], pattern)
    assert refused.value.remedy
    assert "(?m)" not in refused.value.message


@pytest.mark.parametrize(
    "kwargs", [{"context": -1}, {"context": 51}, {"max_matches": 0}, {"max_matches": 10**6}]
)
def test_numbers_out_of_range(kwargs: dict[str, int]) -> None:
    with pytest.raises(InvalidInput):
        grep([], "a", **kwargs)  # type: ignore[arg-type]


@pytest.mark.parametrize("pattern", ["(x+x+)+y", "(a|aa)+$", "(a*)*b", r"^(([a-z])+.)+[A-Z]([a-z])+$"])
def test_catastrophic_patterns_end(pattern: str) -> None:
    assert grep([("t", "x" * 20_000 + "\n" + "a" * 20_000)], pattern).searched == 1


def _tick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that moves on by one whenever it is looked at."""
    clock = itertools.count()
    monkeypatch.setattr(room, "time", SimpleNamespace(monotonic=lambda: next(clock)))


def test_time_that_is_up_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    _tick(monkeypatch)
    texts = [(str(number), "a b c") for number in range(50)]
    result = grep(texts, "zz?[b]", deadline=10)
    assert (result.truncated, result.searched) == ("deadline", 10)


def test_the_clock_is_watched_inside_one_text(monkeypatch: pytest.MonkeyPatch) -> None:
    _tick(monkeypatch)
    costly = "(?:(?:[a-z]{1,10}){1,10}){1,9}X"
    assert grep([("t", "ab" * 100_000)], costly, deadline=5).truncated == "deadline"
    assert len(grep([("t", "a\n" * 1000)], "a", deadline=500).matches) < 1000


def test_a_deadline_in_the_past_searches_nothing() -> None:
    assert grep([("t", "a")], "a", deadline=time.monotonic() - 1).truncated == "deadline"


def test_half_a_surrogate_pair_keeps_its_place() -> None:
    (match,) = grep([("t", "a\ud800b")], "b").matches
    assert match.column == 3
