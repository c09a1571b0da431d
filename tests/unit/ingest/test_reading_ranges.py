"""Reading gives exactly the lines of the text: by range, by page, by heading."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.domain.extracts import Origin
from kosmos.errors import InvalidInput, NotFound
from kosmos.ingest.reading import lines_of_heading, lines_of_page, page_of_line, parse_range, read_lines
from kosmos.ingest.tree import parse_tree

PROPERTY = settings(max_examples=200, deadline=None)
TEXTS = st.lists(st.text(st.characters(exclude_characters="\n\r"), max_size=8), min_size=1, max_size=30).map(
    "\n".join
)
TEXT = "# Install\n\n## Linux\n\na\n\n## macOS\n\n# Remove\n\n## Linux\n\nb\n\n# 卸载 Linux"
SECTIONS = parse_tree(TEXT).sections


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("10:40", (10, 40)),
        ("10:", (10, None)),
        (":40", (1, 40)),
        ("12", (12, 12)),
        (" 3 : 5 ", (3, 5)),
        ("7:7", (7, 7)),
    ],
)
def test_ranges_as_people_write_them(written: str, expected: tuple[int, int | None]) -> None:
    assert parse_range(written) == expected


@pytest.mark.parametrize(
    "written", ["", ":", "a", "1-3", "5:2", "0", "0:3", ":0", "-1", "1:2:3", "1.5", "１:x", "9" * 30, "1,2"]
)
def test_no_ranges(written: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_range(written)
    assert refused.value.remedy


@PROPERTY
@given(TEXTS, st.data())
def test_lines_are_those_of_the_text(text: str, data: st.DataObject) -> None:
    lines = text.split("\n")
    start = data.draw(st.integers(1, len(lines)))
    end = data.draw(st.integers(start, len(lines) + 3))
    passage = read_lines(text, start, end)
    assert passage.text.split("\n") == lines[start - 1 : end]
    assert (passage.start_line, passage.end_line) == (start, min(end, len(lines)))
    assert passage.line_count == len(lines)
    assert read_lines(text, start).end_line == len(lines)


def test_lines_that_are_not_there() -> None:
    with pytest.raises(NotFound, match="the text has 2"):
        read_lines("a\nb", 3)
    for start, end in [(0, 1), (2, 1), (-1, None)]:
        with pytest.raises(InvalidInput):
            read_lines("a\nb", start, end)


@PROPERTY
@given(st.lists(st.integers(1, 5), min_size=1, max_size=8), st.integers(0, 3))
def test_pages_and_lines_agree(lengths: list[int], before: int) -> None:
    """The writer knows which page it put each line on."""
    origins, line = [Origin(1, "line", 1)], before + 1
    written: dict[int, int] = {}
    for place, length in enumerate(lengths, start=1):
        origins.append(Origin(line, "page", place))
        written |= dict.fromkeys(range(line, line + length), place)
        line += length
    for number in range(1, line):
        assert page_of_line(origins, number) == written.get(number)
    for place in range(1, len(lengths) + 1):
        start, end = lines_of_page(origins, place, line_count=line - 1)
        assert [number for number, page in written.items() if page == place] == list(range(start, end + 1))


def test_pages_that_cannot_be_read() -> None:
    pages = [Origin(1, "slide", 1), Origin(4, "slide", 2), Origin(4, "slide", 3)]
    assert lines_of_page(pages, 3, line_count=6) == (4, 6)
    assert page_of_line(pages, 5) == 3
    with pytest.raises(NotFound, match="no text"):
        lines_of_page(pages, 2, line_count=6)
    with pytest.raises(NotFound) as refused:
        lines_of_page(pages, 9, line_count=6)
    assert "1 to 3" in str(refused.value.remedy)
    with pytest.raises(NotFound, match="no pages"):
        lines_of_page([Origin(1, "sheet", 1)], 1, line_count=6)
    assert page_of_line([], 1) is None


@pytest.mark.parametrize(
    ("query", "lines"),
    [
        ("Install", (1, 8)),
        ("macOS", (7, 8)),
        ("MACOS", (7, 8)),
        ("mac", (7, 8)),
        ("Install > Linux", (3, 6)),
        ("remove > linux", (11, 14)),
        ("卸载", (15, 15)),
        ("#linux-1", (11, 14)),
        ("  卸载   linux ", (15, 15)),
    ],
)
def test_headings(query: str, lines: tuple[int, int]) -> None:
    assert lines_of_heading(SECTIONS, query) == lines


def test_headings_that_fit_twice_are_listed_with_their_lines() -> None:
    with pytest.raises(
        InvalidInput, match=r"Install > Linux \(line 3\); Remove > Linux \(line 11\)\."
    ) as refused:
        lines_of_heading(SECTIONS, "Linux")
    assert refused.value.remedy


def test_headings_that_are_not_there() -> None:
    with pytest.raises(NotFound) as missing:
        lines_of_heading(SECTIONS, "Windows")
    assert "Install (line 1)" in str(missing.value.remedy)
    with pytest.raises(NotFound, match="No heading"):
        lines_of_heading([], "x")
    with pytest.raises(InvalidInput, match="empty"):
        lines_of_heading(SECTIONS, "  ")
    with pytest.raises(InvalidInput, match="and 5 more"):
        lines_of_heading(parse_tree("# x\n" * 15).sections, "x")
