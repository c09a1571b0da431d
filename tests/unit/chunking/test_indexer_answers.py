"""What a model points at is checked line by line, and what is wrong is named exactly."""

from typing import Any

import pytest

from kosmos.chunking.indexer_answers import Pointed, read_answer
from kosmos.chunking.indexer_batches import Region
from kosmos.chunking.indexer_prompt import HEADINGS, REDACT, SUMMARY
from kosmos.chunking.indexer_sheet import lay_out
from kosmos.ingest.blocks import parse_blocks

from .pointing_doubles import Call

LONG = "The pump is blue and needs oil. " * 40 + "It also"
TEXT = "\n".join(
    [
        *("# Title", "", LONG, "goes on", "", "1.2 Results", "", LONG, "", "```", "code", "```"),
        *("", "| a | b |", "|---|---|", "| 1 | 2 |", "", "## Next", "", LONG, "", "The end of it."),
    ]
)
SHEET = lay_out(TEXT, parse_blocks(TEXT))
REGION = Region(1, 22)


def read(*calls: Call, tail: bool = False, region: Region = REGION) -> tuple[Pointed, list[str]]:
    """What was pointed at, and what is wrong."""
    return read_answer(SHEET, region, calls, tail=tail)


def units(*lines: Any, **more: Any) -> Call:
    """Units at these lines."""
    return Call(SUMMARY, {"units": [{"line": line, "summary": f"about {line}"} for line in lines], **more})


def headings(*pairs: tuple[Any, Any]) -> Call:
    """Headings at these lines and levels."""
    return Call(HEADINGS, {"headings": [{"line": line, "level": level} for line, level in pairs]})


def ranges(*items: tuple[Any, Any, str]) -> Call:
    """Lines to be hidden."""
    listed = [{"start_line": a, "end_line": b, "kind": kind, "reason": "why"} for a, b, kind in items]
    return Call(REDACT, {"ranges": listed})


def test_a_good_answer_is_taken_as_it_is() -> None:
    pointed, wrong = read(units(3, 8, 20), headings((6, 2)), ranges((22, 22, "noise")))
    assert wrong == []
    assert pointed.headings == {6: 2}
    assert pointed.units == {3: "about 3", 8: "about 8", 20: "about 20"}
    assert [(item.start_line, item.end_line) for item in pointed.redactions] == [(22, 22)]


def test_small_slips_are_understood() -> None:
    """A line in the middle means its beginning, a blank line what follows, a heading what it heads."""
    assert read(units(4, 7, 18))[0].units == {3: "about 4", 8: "about 7", 20: "about 18"}
    assert list(read(units("3", 20))[0].units) == [3, 20]
    assert list(read(units(3, 6, 20), headings((6, 2)))[0].units) == [3, 8, 20]  # not the title: its text
    assert read(units(3, 20), headings((1, 1), (18, 2)))[0].headings == {}  # marked ones are known


def test_headings_come_by_level() -> None:
    pointed, wrong = read(units(3, 20), Call(HEADINGS, {"h2": [6, 18], "h5": ["22"], "h1": []}))
    assert wrong == []
    assert pointed.headings == {6: 2, 22: 5}
    assert read(units(3, 20), Call(HEADINGS, {}))[1] == []


def test_more_starts_begin_units_without_a_summary() -> None:
    pointed, wrong = read(units(3, 20, more_starts=[22, 8, 3, 18, 4]), headings((6, 2)))
    assert wrong == []
    assert pointed.starts == {8, 22}  # in any order; 3, 4 and 18 are where units begin already
    assert list(pointed.units) == [3, 20]
    assert read(units(3, 20, more_starts=[22], unfinished_from=20), tail=True)[0].starts == frozenset()


def test_numbers_count_from_the_region() -> None:
    pointed, wrong = read(units(3), region=Region(18, 22))
    assert wrong == []
    assert pointed.units == {20: "about 3"}


@pytest.mark.parametrize(
    ("calls", "violation"),
    [
        ((), "no tool was called; call generate_content_summary"),
        ((Call("split", {}),), "there is no tool 'split'; use"),
        ((Call(SUMMARY, None),), "the arguments of generate_content_summary are no JSON object"),
        ((Call(SUMMARY, {"parts": []}),), "generate_content_summary needs a list 'units'"),
        ((units(),), "nothing is filed; begin units at 3"),
        ((units(3, 99),), "generate_content_summary: there is no line 99; numbers go from 1 to 22"),
        ((units(3, -1),), "there is no line -1"),
        ((units(3, 20, more_starts=[8, 99]),), "more_starts: there is no line 99; numbers go from 1 to 22"),
        ((units(3), Call(HEADINGS, {"h1": [99]})), "identify_headings: there is no line 99"),
        ((units(3), Call(HEADINGS, {"h1": [6], "h2": [6]})), "identify_headings: line 6 is named twice"),
        ((units(3, 2.5),), "there is no line 2.5"),
        ((units(3, True),), "there is no line True"),
        ((units(20, 3),), "generate_content_summary: line 3 comes after line 20; lines must ascend"),
        ((units(3, 3, 20),), "generate_content_summary: line 3 is named twice; lines must ascend"),
        ((units(3, 4, 20),), "line 4 lies inside what begins at line 3, where a unit begins already"),
        ((Call(SUMMARY, {"units": [{"line": 3, "summary": "  "}]}),), "the unit at line 3 has no summary"),
        ((Call(SUMMARY, {"units": [None]}),), "there is no line None"),
        ((units(8),), "no unit begins at 3"),
        ((units(3, 20), headings((0, 1))), "identify_headings: there is no line 0"),
        ((units(3, 20), headings((11, 1))), "line 11 is part of a block of kind code"),
        ((units(3, 20), headings((16, 1))), "line 16 is part of a block of kind table"),
        ((units(3, 20), headings((3, 1))), "line 3 is too long for a heading"),
        ((units(3, 20), headings((4, 1))), "line 4 has no number, so it cannot be a heading"),
        ((units(3, 20), headings((6, 7))), "the level of line 6 must be a number from 1 to 6"),
        ((units(3, 20), headings((6, "2"))), "the level of line 6 must be a number from 1 to 6"),
        ((units(3, 20), headings((6, 2), (6, 3))), "identify_headings: line 6 is named twice"),
        ((units(3, 20), ranges((5, 4, "noise"))), "redact_lines: 5 to 4 is no range within 1 to 22"),
        ((units(3, 20), ranges((3, 30, "noise"))), "redact_lines: 3 to 30 is no range within 1 to 22"),
        ((units(3, 20), ranges((3, 3, "secret"))), "redact_lines: the kind of a range is one of private"),
        ((units(3, 20), ranges((1, 20, "noise"))), "more than half of the lines would be hidden"),
    ],
)
def test_what_is_wrong_is_named(calls: tuple[Call, ...], violation: str) -> None:
    _, wrong = read(*calls)
    assert any(violation in problem for problem in wrong), wrong


def test_a_tail_is_left_to_the_next_batch() -> None:
    pointed, wrong = read(
        units(3, unfinished_from=20), headings((6, 2)), ranges((22, 22, "noise")), tail=True
    )
    assert wrong == []
    assert pointed.unfinished_from == 20
    assert pointed.redactions == ()
    assert read(units(3, 20, unfinished_from=20))[0].unfinished_from is None  # only where it was offered
    _, wrong = read(units(3, unfinished_from=3), tail=True)
    assert wrong == ["unfinished_from: line 3 leaves more than half of the text; file more of it"]
    _, wrong = read(units(3, unfinished_from=77), tail=True)
    assert wrong == ["unfinished_from: there is no line 77; numbers go from 1 to 22"]
