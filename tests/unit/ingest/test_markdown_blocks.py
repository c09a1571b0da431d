"""Blocks: only what stands at the top level, each with its exact lines."""

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.domain.blocks import Block
from kosmos.ingest.blocks import parse_blocks
from kosmos.ingest.canonical import clean_text

PROPERTY = settings(max_examples=100, deadline=None)
LINES = st.one_of(
    st.sampled_from(
        [
            "",
            "",
            "text",
            "中文段落。",
            "# One",
            "## Two ##",
            "### 三",
            "####### seven",
            "#none",
            "===",
            "---",
            "***",
            "- item",
            "  - nested",
            "1. first",
            "10) tenth",
            "    code",
            "\tcode",
            "```",
            "```py",
            "~~~",
            "````",
            "> quote",
            "> # quoted",
            "- # listed",
            "> ```",
            "|a|b|",
            "|-|-|",
            "|1|2|",
            "a | b",
            "<div>",
            "</div>",
            "<!-- comment",
            "-->",
            "<!-- whole -->",
            "[ref]: /url",
            "[ref]: /url 'title",
            "$$",
            "+++",
            "  ",
            "\\# no",
        ]
    ),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=10),
)
DOCUMENTS = st.lists(LINES, max_size=40).map(lambda lines: clean_text("\n".join(lines)))
MATTER = st.sampled_from(["", "---\na: 1\n---\n", "---\nno data\n---\n", "---\na: 1\n...\n"])


def _headings(text: str) -> list[tuple[int, int, int, str]]:
    return [(b.start_line, b.end_line, b.level, b.title) for b in parse_blocks(text) if b.kind == "heading"]


@pytest.mark.parametrize(
    "text",
    [
        "- # in a list",
        "1. # in a list",
        "- item\n\n  # in an item",
        "> # in a quote",
        "> text\n> ## more",
        "```\n# in a fence\n```",
        "~~~md\n# in a fence\n```\n# still\n~~~",
        "```\n# never closed",
        "    # in indented code",
        "<div>\n# in html\n</div>",
        "<!--\n# in a comment\n-->",
        "#nothing",
        "####### seven",
        r"\# escaped",
        "| # | table |\n|---|---|\n| # a | b |",
    ],
)
def test_no_heading(text: str) -> None:
    assert _headings(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# A", (1, 1, 1, "A")),
        ("   ###### F  ", (1, 1, 6, "F")),
        ("## B ##", (1, 1, 2, "B")),
        ("# C#", (1, 1, 1, "C#")),
        ("#", (1, 1, 1, "")),
        ("Title\n=", (1, 2, 1, "Title")),
        ("Title\n---", (1, 2, 2, "Title")),
        ("two\nlines\n---", (1, 3, 2, "two lines")),
        ("text\n# interrupts", (2, 2, 1, "interrupts")),
        ("- list\n\n# after", (3, 3, 1, "after")),
        ("> quote\n# after", (2, 2, 1, "after")),
        ("```\ncode\n```\n# after", (4, 4, 1, "after")),
        ("---\na: 1\n---\n# after", (4, 4, 1, "after")),
        ("---\na: 1\n---\n\nSetext\n===", (5, 6, 1, "Setext")),
        ("---\nplain words\n---", (2, 3, 2, "plain words")),
        ("# Head <!-- draft --> line", (1, 1, 1, "Head line")),
        ("# 中文 **bold**", (1, 1, 1, "中文 **bold**")),
    ],
)
def test_one_heading(text: str, expected: tuple[int, int, int, str]) -> None:
    assert _headings(text) == [expected]


def test_every_kind_with_its_lines() -> None:
    text = (
        "---\nkey: value\n---\n# Head\n\npara\nmore\n\n- a\n- b\n\n> q\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n"
        "```\nx\n```\n\n    indented\n\n<div>\n</div>\n\n***\n\n1. one"
    )
    expected = [
        ("front_matter", 1, 3),
        ("heading", 4, 4),
        ("paragraph", 6, 7),
        ("list", 9, 11),
        ("quote", 12, 12),
    ]
    expected += [("table", 14, 16), ("code", 18, 20), ("code", 22, 22), ("html", 24, 25), ("rule", 27, 27)]
    expected += [("list", 29, 29)]
    assert [(block.kind, block.start_line, block.end_line) for block in parse_blocks(text)] == expected


def test_a_text_of_nothing_has_no_blocks() -> None:
    assert parse_blocks("") == parse_blocks("\n \n\t") == parse_blocks("[a]: /only 'a reference'") == []


def test_deep_nesting_is_one_block() -> None:
    assert [block.kind for block in parse_blocks("> " * 500 + "deep")] == ["quote"]
    nested = "\n".join(f"{'  ' * depth}- item" for depth in range(200))
    assert [(block.kind, block.end_line) for block in parse_blocks(nested)] == [("list", 200)]


@PROPERTY
@given(MATTER, DOCUMENTS)
def test_blocks_lie_in_the_text_in_order_without_overlap(matter: str, body: str) -> None:
    text = clean_text(matter + body)
    lines = text.split("\n")
    last = 0
    for block in parse_blocks(text):
        assert last < block.start_line <= block.end_line <= len(lines)
        assert lines[block.start_line - 1].strip()
        assert (block.level > 0) == (block.kind == "heading")
        assert block.level <= 6
        last = block.end_line


@PROPERTY
@given(DOCUMENTS)
def test_a_heading_says_what_its_lines_say(text: str) -> None:
    lines = text.split("\n")
    for start, end, level, title in _headings(text):
        if start == end:
            assert re.match(rf" {{0,3}}#{{{level}}}(?!#)", lines[start - 1])
        else:
            assert lines[end - 1].strip()[0] == "=-"[level - 1]
        for word in title.split():
            assert word in "\n".join(lines[start - 1 : end])


@PROPERTY
@given(DOCUMENTS)
def test_front_matter_moves_every_block_down(body: str) -> None:
    # A body that itself begins like front matter is another text without its own beginning.
    body = f"x\n\n{body}".rstrip("\n")
    below = [
        replace(
            block,
            start_line=block.start_line + 3,
            end_line=block.end_line + 3,
            safe_starts=tuple(line + 3 for line in block.safe_starts),
        )
        for block in parse_blocks(body)
    ]
    assert parse_blocks(f"---\na: 1\n---\n{body}") == [Block("front_matter", 1, 3), *below]


WORDS = st.lists(st.sampled_from(["alpha", "beta", "中文", "x#", "e1"]), min_size=1, max_size=3).map(" ".join)
PARTS = st.one_of(
    st.tuples(st.just("heading"), st.integers(1, 6), WORDS),
    st.tuples(st.just("setext"), st.integers(1, 2), WORDS),
    st.tuples(
        st.sampled_from(["paragraph", "fence", "quote", "list", "indented", "comment"]), st.just(0), WORDS
    ),
)
SHAPES = {
    "setext": "{words}\n{underline}",
    "heading": "{marks} {words}",
    "paragraph": "{words}\nand {words}",
    "fence": "```\n# {words}\n\n## {words}\n```",
    "quote": "> # {words}\n> {words}",
    "list": "- # {words}\n- {words}\n  ## {words}",
    "indented": "para\n\n    # {words}",
    "comment": "<!--\n# {words}\n-->",
}


@PROPERTY
@given(st.lists(PARTS, max_size=15))
def test_headings_are_those_that_were_written(parts: list[tuple[str, int, str]]) -> None:
    """The oracle is the writer: it knows at which line it put which heading."""
    written: list[str] = []
    expected: list[tuple[int, int, int, str]] = []
    for kind, level, words in parts:
        if level:
            at = len(written) + 1
            expected.append((at, at + (kind == "setext"), level, words))
        shape = SHAPES[kind].format(
            words=words, marks="#" * level, underline=" =-"[level] * 3 if level < 3 else ""
        )
        written += [*shape.split("\n"), "", "para", ""]
    assert _headings("\n".join(written)) == expected
