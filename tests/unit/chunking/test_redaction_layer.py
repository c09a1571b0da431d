"""Redactions are a layer: lines keep their place, what is not covered stays, parts agree with the whole."""

import json
import random
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kosmos.chunking.redaction import apply_redactions, find_redactions, merge_redactions, redactions_of
from kosmos.domain.redactions import (
    LINE_END,
    MAX_REPLACEMENT,
    Redaction,
    RedactionKind,
    RedactionSource,
    dump_redactions,
    load_redactions,
    mark_of,
    redact_range,
)
from kosmos.errors import DataLost, InvalidInput

PROPERTY = settings(max_examples=100, deadline=None)
TEXTS = st.lists(st.text("ab 中\u2028\x0c🙂é", max_size=8), min_size=1, max_size=8).map("\n".join)
MARKS = st.sampled_from(["", "⟦x⟧", "⟦电话⟧"])


@st.composite
def redactions(draw: st.DrawFn) -> Redaction:
    start = draw(st.integers(1, 9)), draw(st.integers(0, 9))
    end = max(draw(st.tuples(st.integers(1, 10), st.integers(1, 10))), (start[0], start[1] + 1))
    return Redaction(
        start_line=start[0],
        end_line=end[0],
        kind=draw(st.sampled_from(RedactionKind)),
        source=draw(st.sampled_from(RedactionSource)),
        replacement=draw(MARKS),
        reason=draw(st.sampled_from(["", "why"])),
        start_column=start[1],
        end_column=draw(st.sampled_from([end[1], None])),
    )


LAYERS = st.lists(redactions(), max_size=6)


def _lines(first: int, last: int, mark: str = "⟦x⟧") -> Redaction:
    return Redaction(first, last, RedactionKind.PRIVATE, RedactionSource.MODEL, mark)


def _within(line: int, start: int, end: int, **fields: object) -> Redaction:
    values = {"kind": RedactionKind.EMAIL, "source": RedactionSource.DETECTOR, "replacement": "⟦e⟧", **fields}
    return Redaction(line, line, start_column=start, end_column=end, **values)  # type: ignore[arg-type]


def _kept(text: str, layer: list[Redaction]) -> list[str]:
    """Line by line the characters that no redaction covers, by a rule that knows nothing of merging."""
    return [
        "".join(
            sign
            for column, sign in enumerate(line)
            if not any(item.start <= (number, column) < item.end for item in layer)
        )
        for number, line in enumerate(text.split("\n"), start=1)
    ]


@PROPERTY
@given(TEXTS, LAYERS)
@example("a\n\nb", [_lines(2, 2)])
@example("abc", [_within(1, 1, 2), _within(1, 2, 3)])
def test_lines_stay_and_what_is_not_covered_is_unchanged(text: str, layer: list[Redaction]) -> None:
    shown = apply_redactions(text, layer)
    assert shown.count("\n") == text.count("\n")
    without_marks = apply_redactions(text, [_unmarked(item) for item in layer])
    assert without_marks.split("\n") == _kept(text, layer)
    marks = sum(len(item.replacement) for item in merge_redactions(layer))
    assert len(without_marks) <= len(shown) <= len(without_marks) + marks


def _unmarked(item: Redaction) -> Redaction:
    return Redaction(
        item.start_line, item.end_line, item.kind, item.source, "", "", item.start_column, item.end_column
    )


@PROPERTY
@given(TEXTS, LAYERS, st.randoms())
def test_merging_knows_no_order_and_is_done_once(
    text: str, layer: list[Redaction], shuffled: random.Random
) -> None:
    merged = merge_redactions(layer)
    assert merge_redactions(merged) == merged
    assert all(one.end <= other.start for one, other in pairwise(merged))
    again = [*layer, *layer]
    shuffled.shuffle(again)
    assert merge_redactions(again) == merged
    half = len(layer) // 2
    assert merge_redactions([*merge_redactions(layer[:half]), *layer[half:]]) == merged
    assert apply_redactions(text, merged) == apply_redactions(text, layer)


@PROPERTY
@given(TEXTS, LAYERS, st.data())
def test_a_part_shows_what_the_whole_shows_there(
    text: str, layer: list[Redaction], data: st.DataObject
) -> None:
    lines = text.split("\n")
    first = data.draw(st.integers(1, len(lines)))
    last = data.draw(st.integers(first, len(lines)))
    merged = merge_redactions(layer)
    own = redactions_of(merged, first, last)
    assert set(own) == {item for item in merged if item.start_line <= last and item.end_line >= first}
    part = apply_redactions("\n".join(lines[first - 1 : last]), own, first_line=first)
    assert part.split("\n") == apply_redactions(text, layer).split("\n")[first - 1 : last]


@PROPERTY
@given(st.text("ab中", min_size=1, max_size=12), LAYERS, st.integers(1, 11))
def test_the_pieces_of_a_line_show_what_the_line_shows(line: str, layer: list[Redaction], cut: int) -> None:
    layer = [item for item in layer if item.start_column < len(line)]
    cut = min(cut, len(line))
    pieces = [
        apply_redactions(line[:cut], layer),
        apply_redactions(line[cut:], layer, first_column=cut) if cut < len(line) else "",
    ]
    assert "".join(pieces) == apply_redactions(line, layer)


@PROPERTY
@given(TEXTS, st.lists(st.tuples(st.integers(1, 9), st.integers(0, 3)), max_size=4))
def test_whole_lines_applied_twice_are_the_same(text: str, ranges: list[tuple[int, int]]) -> None:
    layer = [_lines(first, first + more) for first, more in ranges]
    once = apply_redactions(text, layer)
    assert apply_redactions(once, layer) == once


@PROPERTY
@given(LAYERS)
def test_stored_and_read_again_unchanged(layer: list[Redaction]) -> None:
    stored = dump_redactions(layer)
    assert load_redactions(json.loads(json.dumps(stored))) == tuple(layer)
    assert (stored is None) == (not layer)


def test_a_range_of_lines_becomes_one_mark_and_blank_lines() -> None:
    text = "one\ntwo\n\nfour\nfive"
    assert apply_redactions(text, [_lines(2, 4)]) == "one\n⟦x⟧\n\n\nfive"
    assert apply_redactions(text, [_lines(3, 3)]) == "one\ntwo\n⟦x⟧\nfour\nfive"


def test_a_span_over_lines_keeps_what_stands_around_it() -> None:
    item = Redaction(1, 3, RedactionKind.PRIVATE_KEY, RedactionSource.DETECTOR, "⟦k⟧", "", 4, 3)
    assert apply_redactions("key=AAA\nBBB\nCCC;done", [item]) == "key=⟦k⟧\n\n;done"


def test_a_redaction_beyond_the_text_changes_nothing() -> None:
    assert apply_redactions("ab", [_within(1, 2, 5), _lines(2, 10**9)]) == "ab"


def test_the_stronger_source_then_the_graver_kind_names_the_whole() -> None:
    phone = _within(1, 0, 6, kind=RedactionKind.PHONE, replacement="⟦phone⟧")
    token = _within(1, 4, 9, kind=RedactionKind.TOKEN, replacement="⟦token⟧")
    noise = _within(1, 8, 12, kind=RedactionKind.NOISE, replacement="", source=RedactionSource.PERSON)
    assert apply_redactions("abcdefghijklmn", [phone, token]) == "⟦token⟧jklmn"
    (merged,) = merge_redactions([noise, phone, token])
    assert (merged.start, merged.end, merged.source, merged.kind) == ((1, 0), (1, 12), "person", "noise")


def test_neighbours_that_share_no_character_stay_apart() -> None:
    assert len(merge_redactions([_lines(1, 1), _lines(2, 2)])) == 2
    assert apply_redactions("abcd", [_within(1, 0, 2), _within(1, 2, 4)]) == "⟦e⟧⟦e⟧"


def test_what_a_model_asks_for() -> None:
    item = redact_range(3, 5, kind="noise", reason="  an  advert\n", source="model")
    assert (item.start, item.end, item.whole_lines) == ((3, 0), (5, LINE_END), True)
    assert (item.replacement, item.reason) == ("", "an advert")
    assert mark_of(RedactionKind.PHONE) == "⟦phone⟧"


@pytest.mark.parametrize(
    ("first", "last", "kind", "source"),
    [
        (0, 1, "noise", "model"),
        (3, 2, "noise", "model"),
        (1, 2, "secretive", "model"),
        (1, 2, "noise", "nobody"),
    ],
)
def test_what_a_model_may_not_ask_for(first: int, last: int, kind: str, source: str) -> None:
    with pytest.raises(InvalidInput):
        redact_range(first, last, kind=kind, reason="", source=source)


@pytest.mark.parametrize("mark", ["a\nb", "\t", "x" * (MAX_REPLACEMENT + 1)])
def test_a_mark_is_one_short_line(mark: str) -> None:
    with pytest.raises(InvalidInput):
        _lines(1, 1, mark)


def test_a_span_that_ends_before_it_starts_is_refused() -> None:
    for start, end in ((3, 3), (3, 2), (-1, 2)):
        with pytest.raises(InvalidInput):
            _within(1, start, end)


@pytest.mark.parametrize("damage", [{}, {"redactions": [{}]}, {"redactions": 3}, {"redactions": [[]]}, []])
def test_damaged_redactions_hide_everything_rather_than_nothing(damage: dict[str, object]) -> None:
    with pytest.raises(DataLost):
        load_redactions(damage)
    stored = dump_redactions([_lines(1, 2)])
    assert stored
    for field, value in (("kind", "odd"), ("start_line", 9), ("end_column", "x"), ("replacement", "\n")):
        with pytest.raises(DataLost):
            load_redactions({"redactions": [{**stored["redactions"][0], field: value}]})


def test_all_detectors_together() -> None:
    pages = [
        ["ACME confidential", f"text {number} of mail{number}@x.org", f"Page {number}"]
        for number in range(1, 5)
    ]
    text = "\n".join(line for page in pages for line in page)
    shown = apply_redactions(text, find_redactions(text, [1, 4, 7, 10])).split("\n")
    assert shown[:3] == ["ACME confidential", "text 1 of ⟦email⟧", ""]
    assert shown[9:] == ["", "text 4 of ⟦email⟧", ""]
