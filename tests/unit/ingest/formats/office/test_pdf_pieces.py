"""The pieces PDF reading is made of: tables that are checked, hyphens, running lines, headings."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.ingest.formats.pdf_headings import Headings, index_outline
from kosmos.ingest.formats.pdf_hyphens import Hyphens
from kosmos.ingest.formats.pdf_lines import Box, Line, PageText, read_lines, split_lines
from kosmos.ingest.formats.pdf_running import PageLines, find_running
from kosmos.ingest.formats.pdf_tables import Table, claim_tables

PROPERTY = settings(max_examples=50, deadline=None)
FRAME = Box(0, 0, 1000, 1000)


def _page(text: str) -> PageText:
    """A page whose characters stand side by side, ten points a line."""
    boxes = np.zeros((len(text), 4))
    row = column = 0
    for index, character in enumerate(text):
        boxes[index] = (column * 5, row * 10, column * 5 + 4, row * 10 + 8)
        row, column = (row + 1, 0) if character == "\n" else (row, column + 1)
    flags = np.zeros(len(text), dtype=np.bool_)
    return PageText(1000, 1000, text, boxes, np.full(len(text), 10.0), flags, flags)


def _line(text: str, *, size: float = 10, top: float = 100, bold: bool = False) -> Line:
    return Line(text, Box(50, top, 50 + 5 * len(text), top + size), size, bold)


ROWS = (("Name", "Value"), ("one", "1"), ("two", "2"))


def test_a_table_with_the_characters_of_the_page_is_believed() -> None:
    page = _page("Name Value\none 1\ntwo 2\n")
    (claim,) = claim_tables(page, [Table(FRAME, ROWS, math.inf)])
    assert {page.characters[index] for index in np.flatnonzero(~claim.taken)} <= {"\n", " "}


@pytest.mark.parametrize(
    "rows",
    [
        (("Name", "Value"), ("one", "1"), ("two", "3")),
        (("Name", "Value"), ("one", "1"), ("two", "")),
        (("Name", "Value"), ("one", "1"), ("two", "2 and more")),
        (("Name",), ("Value",), ("one 1 two 2",)),
    ],
    ids=["changed", "lost", "invented", "no columns"],
)
def test_a_table_that_says_something_else_is_not(rows: tuple[tuple[str, ...], ...]) -> None:
    assert claim_tables(_page("Name Value\none 1\ntwo 2\n"), [Table(FRAME, rows, math.inf)]) == []


def test_words_a_space_apart_are_no_cells() -> None:
    assert claim_tables(_page("Name Value\none 1\ntwo 2\n"), [Table(FRAME, ROWS, 0.3)]) == []


def test_a_line_within_the_frame_that_is_no_cell_stays_text() -> None:
    page = _page("Name Value of the things\none number 1\ntwo numbers 2\nx\n")
    rows = (("Name", "Value of the things"), ("one number", "1"), ("two numbers", "2"))
    (claim,) = claim_tables(page, [Table(FRAME, rows, math.inf)])
    assert [line.text for line in read_lines(page, ~claim.taken)] == ["x"]


def test_one_character_belongs_to_one_table() -> None:
    page = _page("Name Value\none 1\ntwo 2\n")
    table = Table(FRAME, ROWS, math.inf)
    assert len(claim_tables(page, [table, table])) == 1


@PROPERTY
@given(st.text(alphabet="ab \r\n\x02\ufffe", max_size=60))
def test_lines_cover_every_character_once(text: str) -> None:
    assert "".join(text[start:end] for start, end in split_lines(text)) == text


@pytest.mark.parametrize(
    ("known", "first", "second", "expected"),
    [
        ("", "convolu", "tion layers", "convolution layers"),
        ("a well-known fact", "a well", "known fact", "a well-known fact"),
        ("cooperate", "co", "operate", "cooperate"),
        ("", "the PK", "LQP file", "the PK-LQP file"),
        ("", "pages 18", "23", "pages 18-23"),
    ],
)
def test_cut_words_are_joined_as_the_document_writes_them(
    known: str, first: str, second: str, expected: str
) -> None:
    assert Hyphens([known]).join(first, second) == expected


def _pages(texts: list[str], top: float) -> list[PageLines]:
    return [PageLines(n, 800, (_line(text, top=top),)) for n, text in enumerate(texts, start=1)]


def test_equal_lines_at_the_edge_run() -> None:
    dropped, notes = find_running(_pages(["Head"] * 3, top=20))
    assert dropped == {(1, 0), (2, 0)}
    assert notes == ["Left out on 2 further pages: the running line “Head”."]


@pytest.mark.parametrize(
    ("texts", "top"),
    [
        (["Head"] * 2, 20),
        (["Head"] * 5, 400),
        (["Head a", "Head b", "Head c"], 20),
        (["7", "7 of 9", "12"], 780),
    ],
    ids=["two pages only", "in the middle", "different words", "numbers that do not count"],
)
def test_other_lines_stay(texts: list[str], top: float) -> None:
    assert find_running(_pages(texts, top)) == (set(), [])


def test_page_numbers_run_with_their_words() -> None:
    dropped, notes = find_running(_pages(["— 11 —", "— 12 —", "— 13 —"], top=780))
    assert dropped == {(0, 0), (1, 0), (2, 0)}
    assert notes == ["Left out on 3 pages: the line “— N —”, where N is the page number."]


BODY = [_line("Plain words of the text that go on and on.") for _ in range(20)]


@pytest.mark.parametrize(
    ("line", "alone", "level"),
    [
        (_line("Title", size=20), True, 1),
        (_line("Part", size=14), True, 2),
        (_line("Bold alone", bold=True), True, 3),
        (_line("Bold within a paragraph", bold=True), False, 0),
        (_line("A bold sentence.", bold=True), True, 0),
        (_line("Figure 2 of things", bold=True), True, 0),
        (_line("3.14159", size=20), True, 0),
        (_line("Plain words"), True, 0),
    ],
)
def test_size_and_weight_make_headings(line: Line, alone: bool, level: int) -> None:
    headings = Headings([*BODY, _line("Title", size=20), _line("Part", size=14)], {})
    assert headings.level(1, line, alone=alone) == level


def test_the_outline_knows_better_and_only_on_its_page() -> None:
    headings = Headings(BODY, index_outline([(2, "III-A Google Dreams", 1)]))
    assert headings.level(2, _line("A. Google  dreams"), alone=False) == 2
    assert headings.level(3, _line("A. Google dreams"), alone=False) == 0
