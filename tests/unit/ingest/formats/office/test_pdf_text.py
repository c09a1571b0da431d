"""PDF files: nothing is lost or invented, columns, headings, tables and pages come out right."""

from collections import Counter

import pypdfium2
import pytest
from reportlab.pdfgen.canvas import Canvas

from kosmos.ingest.formats.pdf import extract
from kosmos.ingest.formats.prose import flatten

from . import samples_pdf as samples


def _ink(text: str) -> Counter[str]:
    return Counter(character for character in text if character.isalnum())


def _line_of(markdown: str, text: str) -> int:
    return next(number for number, line in enumerate(markdown.split("\n"), start=1) if text in line)


def test_a_report_has_its_headings_table_and_pages() -> None:
    result = extract(samples.report(), "report.pdf")
    lines = result.markdown.split("\n")
    headings = ["# Annual Report", "# Overview", "## Revenue by quarter", "# Outlook", "# Appendix"]
    assert [line for line in lines if line.startswith("#")] == headings
    table = "| Quarter | Revenue | Cost |\n| --- | --- | --- |\n| Q1 | 1,200 | 800 |\n| Q2 | 1,350 | 910 |\n"
    assert table in result.markdown
    assert result.title == "Annual Report"
    places = [(origin.kind, origin.place) for origin in result.origins]
    assert places == [("page", 1), ("page", 2), ("page", 3)]
    assert result.origins[1].line <= _line_of(result.markdown, "# Outlook") < result.origins[2].line


def test_running_lines_are_kept_once_and_noted() -> None:
    result = extract(samples.report(), "report.pdf")
    assert result.markdown.count("Example Company, confidential") == 1
    assert "of 3" not in result.markdown
    assert any("Example Company, confidential" in note and "2 further pages" in note for note in result.notes)
    assert any("Page N of 3" in note and "3 pages" in note for note in result.notes)


def test_lines_that_repeat_within_the_text_stay() -> None:
    pages = [samples.text_page(["The same words.", f"Page {n} differs."], top=500) for n in range(4)]
    assert extract(samples.draw(*pages), "a.pdf").markdown.count("The same words.") == 4


def test_two_columns_are_read_one_after_the_other() -> None:
    text = extract(samples.paper(), "paper.pdf").markdown
    places = [text.index(sentence) for sentence in [*samples.LEFT, *samples.RIGHT]]
    assert places == sorted(places)
    assert text.startswith("# A Paper in Two Columns\n")


def test_chinese_lines_are_joined_without_spaces() -> None:
    result = extract(samples.chinese(), "chinese.pdf")
    assert samples.CHINESE in result.markdown
    assert result.markdown.startswith("# 第一章 概述\n")


@pytest.mark.parametrize("name", ["report", "paper", "chinese"])
def test_every_character_of_pdfium_is_in_the_text(name: str) -> None:
    data = getattr(samples, name)()
    document = pypdfium2.PdfDocument(data)
    pages = [page.get_textpage().get_text_range() for page in document]
    result = extract(data, "a.pdf")
    expected = sum((_ink(page) for page in pages), Counter())
    if name == "report":
        expected -= _ink("Example Company, confidential" * 2 + "Page 1 of 3 Page 2 of 3 Page 3 of 3")
    assert _ink(result.markdown) == expected


def test_the_same_bytes_give_the_same_text() -> None:
    assert extract(samples.report(), "a.pdf") == extract(samples.report(), "a.pdf")


def test_words_cut_at_the_end_of_a_line_are_whole_again() -> None:
    lines = [
        "This sentence has a convolu-",
        "tion in it, and a well-known con-",
        "volution once more, and the well-",
        "known one.",
    ]
    text = extract(samples.draw(samples.text_page(lines)), "a.pdf").markdown
    assert text == (
        "This sentence has a convolution in it, and a well-known convolution "
        "once more, and the well-known one."
    )


def test_text_that_looks_like_markdown_stays_text() -> None:
    odd = ["# not a heading", "```", "<!-- not hidden -->", "> no quote", "---"]

    def paint(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 11)
        for index, line in enumerate(odd):
            canvas.drawString(72, 780 - 60 * index, line)

    text = extract(samples.draw(paint), "a.pdf").markdown
    assert text.split("\n\n") == [
        "\\# not a heading",
        "\\```",
        "&lt;!-- not hidden -->",
        "\\> no quote",
        "\\---",
    ]


def test_bullets_and_code_keep_their_form() -> None:
    def paint(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 11)
        canvas.drawString(72, 780, "• first thing")
        canvas.drawString(72, 765, "• second thing")
        canvas.setFont("Courier", 10)
        canvas.drawString(72, 700, "def double(x):")
        canvas.drawString(96, 688, "return 2 * x")

    text = extract(samples.draw(paint), "a.pdf").markdown
    assert "- first thing\n\n- second thing" in text
    assert "```\ndef double(x):\n    return 2 * x\n```" in text


def test_the_outline_makes_headings_of_plain_lines() -> None:
    def paint(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 11)
        canvas.drawString(72, 780, "1.2 Small Title")
        canvas.drawString(72, 766, "Text follows at once and is as large as the title, for several words.")
        canvas.bookmarkPage("here")
        canvas.addOutlineEntry("Small Title", "here", level=0)

    assert extract(samples.draw(paint), "a.pdf").markdown.startswith("# 1.2 Small Title\n\nText follows")


def test_flatten_drops_what_no_text_may_hold() -> None:
    assert flatten("a\x00b\u2028c\ud800\ufffe\u00add") == "a b c d"
