"""Running headers, footers and page numbers are found; what belongs to the text is not."""

from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.chunking.detectors.boilerplate import find_boilerplate


def _hidden(pages: list[list[str]]) -> list[str]:
    lines = [line for page in pages for line in page]
    starts = [1 + sum(len(page) for page in pages[:at]) for at in range(len(pages))]
    found = find_boilerplate(lines, starts)
    assert all(item.whole_lines and item.kind == "boilerplate" and item.replacement == "" for item in found)
    return [lines[item.start_line - 1] for item in found]


def _page(top: list[str], number: int, bottom: list[str]) -> list[str]:
    body = [
        f"Body {word} of page {number * 7 % 5}"
        for word in ("alpha", "beta", "gamma", "delta", "eps", "zeta", "eta")
    ]
    return [*top, "", *(line + "!" * (number * number % 11) for line in body), "", *bottom]


def test_a_header_stays_once_and_page_numbers_never() -> None:
    pages = [_page(["年度报告 2023"], n, [f"第 {n + 4} 页 / 共 90 页"]) for n in range(6)]
    assert _hidden(pages) == ["第 4 页 / 共 90 页"] + [
        line for n in range(1, 6) for line in ("年度报告 2023", f"第 {n + 4} 页 / 共 90 页")
    ]


def test_left_and_right_pages_have_headers_of_their_own() -> None:
    pages = [_page([["The Book", "Chapter One"][n % 2]], n, [f"- {n} -"]) for n in range(8)]
    hidden = _hidden(pages)
    assert hidden.count("The Book") == hidden.count("Chapter One") == 3
    assert sum(line.startswith("- ") for line in hidden) == 0


def test_bare_page_numbers_must_rise_with_the_pages() -> None:
    assert _hidden([_page([], n, [str(n + 11)]) for n in range(5)]) == ["11", "12", "13", "14", "15"]
    assert _hidden([_page([], n, [str(n * n + 11)]) for n in range(5)]) == []


def test_a_number_alone_that_stays_the_same_is_not_ballast() -> None:
    assert _hidden([_page(["2023"], n, []) for n in range(5)]) == []


def test_headings_tables_and_lists_belong_to_the_text() -> None:
    for line in ("# Results", "| a | b |", "- item", "```", "![logo](x.png)"):
        assert _hidden([_page([line], n, []) for n in range(5)]) == []


def test_two_pages_are_no_pattern_and_far_pages_no_run() -> None:
    assert _hidden([_page(["Head"], n, []) for n in range(2)]) == []
    assert _hidden([_page(["Head"] if n % 4 == 0 else [], n, []) for n in range(12)]) == []


def test_full_width_digits_count_too() -> None:
    assert _hidden([_page([], n, ["第１２３４５"[0] + "１２３４５"[n] + "页"]) for n in range(5)]) == [
        f"第{digit}页" for digit in "１２３４５"
    ]


def test_without_pages_nothing_repeats() -> None:
    assert find_boilerplate(["a"] * 10, []) == []
    assert find_boilerplate([], [1]) == []


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sampled_from(["", "a", "Page 1", "7", "# h", "第2页"]), max_size=40),
    st.lists(st.integers(-2, 50)),
)
def test_any_pages_give_lines_of_the_text_once(lines: list[str], starts: list[int]) -> None:
    found = [item.start_line for item in find_boilerplate(lines, starts)]
    assert found == sorted(set(found))
    assert all(1 <= number <= len(lines) and lines[number - 1].strip() for number in found)
