"""CSV files: any delimiter, any encoding, every row with the line it came from."""

import csv as writer
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.errors import TooLarge
from kosmos.ingest.formats.csv import MAX_COLUMNS, ROWS, extract, find_delimiter

PROPERTY = settings(max_examples=100, deadline=None)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gb18030", "utf-16"])
def test_rows_become_a_table(delimiter: str, encoding: str) -> None:
    text = f"名称{delimiter}数量\r\n苹果{delimiter}3\r\n香蕉{delimiter}十二个香蕉\r\n"
    result = extract(text.encode(encoding), "a.csv")
    assert result.markdown == "| 名称 | 数量 |\n| --- | --- |\n| 苹果 | 3 |\n| 香蕉 | 十二个香蕉 |"


def test_what_would_break_a_table_does_not() -> None:
    result = extract(b'a,b\n"x|y","one\ntwo"\n\nlast\n\\,end\n', "a.csv")
    lines = result.markdown.split("\n")
    assert lines[2:] == ["| x\\|y | one<br>two |", "| last |  |", "| \\\\ | end |"]
    assert [(origin.line, origin.place) for origin in result.origins] == [(1, 1), (3, 2), (4, 5)]


def test_the_header_comes_again_in_long_tables() -> None:
    rows = "".join(f"{number},x\n" for number in range(2 * ROWS + 1))
    result = extract(("n,v\n" + rows).encode(), "a.csv")
    lines = result.markdown.split("\n")
    assert lines.count("| n | v |") == 3
    places = {origin.line: origin.place for origin in result.origins}
    last = max(places)
    assert (places[last], lines[last - 1]) == (2 * ROWS + 2, f"| {2 * ROWS} | x |")


@pytest.mark.parametrize(
    ("data", "expected"), [(b"", ""), (b"\n\n", ""), (b"a,b\n", "| a | b |\n| --- | --- |")]
)
def test_small_files(data: bytes, expected: str) -> None:
    assert extract(data, "a.csv").markdown == expected


def test_the_delimiter_is_the_one_that_cuts_alike() -> None:
    assert find_delimiter("name;note\na;one, two\nb;three\n") == ";"
    assert find_delimiter("a,b\n1,2\n") == ","
    assert find_delimiter("no delimiter at all") == ","


def test_too_many_columns_are_refused() -> None:
    with pytest.raises(TooLarge, match="columns"):
        extract(b"a,b\n" + b"x," * (MAX_COLUMNS + 1) + b"\n", "a.csv")


CELL = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8)


@PROPERTY
@given(st.lists(st.lists(CELL, min_size=2, max_size=4), min_size=2, max_size=6))
def test_every_cell_is_there_once_and_every_line_is_right(rows: list[list[str]]) -> None:
    buffer = io.StringIO()
    writer.writer(buffer, lineterminator="\n").writerows(rows)
    text = buffer.getvalue()
    result = extract(text.encode(), "a.csv")
    shown = result.markdown.split("\n")
    for origin in result.origins:
        first = shown[origin.line - 1].split(" | ")[0].removeprefix("| ").split(" ")[0].replace("\\", "")
        row = text.split("\n")[origin.place - 1].replace('""', '"').replace("\\", "")
        assert first.replace("<br>", "").replace('""', '"') in row
