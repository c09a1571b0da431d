"""Excel workbooks: values, dates, merged and hidden things, and limits that say what they left out."""

import datetime
import io

import openpyxl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openpyxl.drawing.image import Image

from kosmos.ingest.formats import xlsx
from kosmos.ingest.formats.prose import render_table
from kosmos.ingest.formats.xlsx import extract
from kosmos.ingest.formats.xlsx_cells import spell_value

from . import samples_office as samples
from .samples_pdf import encode, picture_of


def _table(rows: list[list[object]], sheet: str = "Sheet") -> str:
    def fill(book: openpyxl.Workbook) -> None:
        for row in rows:
            book.active.append(row)

    text = extract(samples.workbook(fill), "a.xlsx").markdown
    assert text.startswith(f"## {sheet}")
    return text.removeprefix(f"## {sheet}\n\n")


def test_values_are_spelled_plainly() -> None:
    when = datetime.datetime(2026, 3, 1, 14, 30)  # noqa: DTZ001
    rows: list[list[object]] = [
        ["名称", "a|b"],
        [1.0, 0.1],
        [datetime.date(2026, 3, 1), when],
        [True, "two\nlines"],
    ]
    assert _table(rows) == (
        "| 名称 | a\\|b |\n| --- | --- |\n| 1 | 0.1 |\n"
        "| 2026-03-01 | 2026-03-01 14:30:00 |\n| TRUE | two<br>lines |"
    )


def test_empty_rows_and_columns_around_a_table_are_left_out() -> None:
    def fill(book: openpyxl.Workbook) -> None:
        book.active["C4"], book.active["D4"], book.active["C9"] = "a", "b", "c"

    text = extract(samples.workbook(fill), "a.xlsx").markdown
    assert text == "## Sheet\n\n| a | b |\n| --- | --- |\n| c |  |"


def test_sheets_have_origins_and_hidden_ones_are_named() -> None:
    def fill(book: openpyxl.Workbook) -> None:
        book.active.title = "一月"
        book.active.append(["x"])
        book.create_sheet("Secret").append(["y"])
        book["Secret"].sheet_state = "hidden"

    result = extract(samples.workbook(fill), "a.xlsx")
    assert [(o.line, o.kind, o.place, o.name) for o in result.origins] == [
        (1, "sheet", 1, "一月"),
        (6, "sheet", 2, "Secret"),
    ]
    assert result.markdown.split("\n")[5] == "## Secret"
    assert result.notes == ("Hidden sheets are in the text: Secret.",)


def test_merged_cells_are_filled_but_titles_are_not() -> None:
    def fill(book: openpyxl.Workbook) -> None:
        sheet = book.active
        for row in (["Title", None, None], ["group", "2025", None], [None, "a", "b"], [None, 1, 2]):
            sheet.append(row)
        sheet["C3"] = "b"
        for merge in ("A1:C1", "B2:C2", "A2:A4"):
            sheet.merge_cells(merge)

    lines = extract(samples.workbook(fill), "a.xlsx").markdown.split("\n")[2:]
    assert lines == [
        "| Title |  |  |",
        "| --- | --- | --- |",
        "| group | 2025 | 2025 |",
        "| group | a | b |",
        "| group | 1 | 2 |",
    ]


def test_formulas_without_results_are_counted() -> None:
    def fill(book: openpyxl.Workbook) -> None:
        book.active.append([1, 2, "=A1+B1", "=A1*2"])

    result = extract(samples.workbook(fill), "a.xlsx")
    assert result.markdown.endswith("| 1 | 2 |\n| --- | --- |")
    assert result.notes[0].startswith("Sheet “Sheet”: 2 formulas have no stored result")


def test_huge_sheets_say_what_they_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xlsx, "MAX_ROWS", 10)
    monkeypatch.setattr(xlsx, "MAX_COLUMNS", 3)

    def fill(book: openpyxl.Workbook) -> None:
        for row in range(25):
            book.active.append([row] * 5)

    result = extract(samples.workbook(fill), "a.xlsx")
    assert result.markdown.count("\n| ") == 11
    assert result.notes == (
        "Sheet “Sheet”: 10 of 25 rows with values were read.",
        "Sheet “Sheet”: columns 4 to 5 were left out.",
    )


def test_a_value_in_the_last_row_is_found() -> None:
    def fill(book: openpyxl.Workbook) -> None:
        book.active["A1"], book.active["B5000"] = "top", "bottom"

    assert extract(samples.workbook(fill), "a.xlsx").markdown.endswith("|  | bottom |")


def test_pictures_follow_their_table() -> None:
    def fill(book: openpyxl.Workbook) -> None:
        book.active.append(["x"])
        book.active.add_image(Image(io.BytesIO(encode(picture_of("logo")))), "C3")

    (figure,) = extract(samples.workbook(fill), "a.xlsx").figures
    assert (figure.line, figure.media_type) == (6, "image/png")


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.text(max_size=12), min_size=1, max_size=4), min_size=1, max_size=5))
def test_a_table_has_one_line_a_row_and_equal_cells(rows: list[list[str]]) -> None:
    lines = render_table(rows).split("\n")
    assert len(lines) == len(rows) + 1
    width = max(len(row) for row in rows)
    assert all(line.replace("\\|", "").count("|") == width + 1 for line in lines)


@settings(max_examples=100, deadline=None)
@given(st.one_of(st.none(), st.booleans(), st.floats(), st.integers(), st.datetimes(), st.times(), st.text()))
def test_every_value_has_a_text(value: object) -> None:
    assert "\r" not in spell_value(value)
