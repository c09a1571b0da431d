"""Sentences are pieces of the text, to the letter, at exactly their lines."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.agents.sentences import sentences
from kosmos.domain.documents import slice_lines
from kosmos.ingest.canonical import clean_text

PROPERTY = settings(max_examples=150, deadline=None)
PIECES = st.sampled_from(
    [
        "One. ",
        "Two! ",
        "3.5 ",
        "v1.2",
        "e.g.this ",
        "(Yes.) ",
        "“好。”",
        "第一句。",
        "第二句！",
        "多少？",
        "；",
        "\n",
        "\n\n",
        "\n- item ",
        "\n1. first ",
        "\n| a | b |",
        "\n|---|---|",
        "\n```\n",
        "\n~~~\n",
        "code = 1.0 ",
        "\n# Head",
        "\n> q ",
        "\n    indented",
        "\n$$\n",
        "\t",
        " ",
        "word ",
        "…",
        "?!",
        "...",
        "\n  goes on. ",
        "\u3000",
        "\xa0",
        "<!-- x -->",
    ]
)
TEXTS = st.lists(PIECES, max_size=30).map("".join) | st.text(max_size=60)


def _texts(text: str) -> list[str]:
    return [item.text for item in sentences(text, 1)]


@PROPERTY
@given(TEXTS.map(clean_text), st.integers(1, 10**6))
def test_every_sentence_stands_at_exactly_its_lines(text: str, first_line: int) -> None:
    lines = text.split("\n")
    after = 0
    for item in sentences(text, first_line):
        assert first_line <= item.start_line <= item.end_line < first_line + len(lines)
        here = slice_lines(text, item.start_line - first_line + 1, item.end_line - first_line + 1)
        assert item.text in here
        assert item.text == item.text.strip()
        assert item.text.count("\n") == item.end_line - item.start_line
        # In order and apart: each is found behind the one before it.
        at = text.index(item.text, after)
        assert text.count("\n", 0, at) <= item.start_line - first_line
        after = at + len(item.text)


@PROPERTY
@given(TEXTS.map(clean_text))
def test_no_word_is_lost(text: str) -> None:
    found = "".join(_texts(text))
    for char in set(text):
        if char.isalnum():
            assert found.count(char) == text.count(char)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("第一句。第二句！第三句？", ["第一句。", "第二句！", "第三句？"]),
        ("他说：“走吧。”然后走了。", ["他说：“走吧。”", "然后走了。"]),
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ('He said "no." Then left.', ['He said "no."', "Then left."]),
        ("It weighs 3.5 kg in v1.2.0 now.", ["It weighs 3.5 kg in v1.2.0 now."]),
        ("See kosmos.md or e.g.this one.", ["See kosmos.md or e.g.this one."]),
        ("中文和English mixed. 下一句。end", ["中文和English mixed.", "下一句。", "end"]),
        ("A sentence\nover lines. Next\none.", ["A sentence\nover lines.", "Next\none."]),
        ("Para one\n\nPara two", ["Para one", "Para two"]),
        ("", []),
        ("\n \n\t\n", []),
        ("---\n===\n|---|:-:|", []),
        ("# Heading\nText below", ["# Heading", "Text below"]),
        ("> a quote\n> goes on", ["> a quote", "> goes on"]),
    ],
)
def test_prose(text: str, expected: list[str]) -> None:
    assert _texts(text) == expected


def test_list_items_stand_alone_with_what_goes_on_below_them() -> None:
    text = "Intro:\n- first item\n  goes on\n- second. Third\n1. one\n2) two. Three\n* star\n+ plus"
    expected = ["Intro:", "- first item\n  goes on", "- second.", "Third", "1. one", "2) two.", "Three"]
    assert _texts(text) == [*expected, "* star", "+ plus"]


def test_table_rows_stand_alone_and_rules_are_left_out() -> None:
    text = "Before\n| name | size |\n|------|-----:|\n| a. b | 3.5 |\nafter"
    assert _texts(text) == ["Before", "| name | size |", "| a. b | 3.5 |", "after"]


def test_lines_of_code_stand_alone_and_fences_are_left_out() -> None:
    text = "Run:\n```sh\nmake all\n\n# comment\necho one. two\n```\nDone. ```x``` too\n```y``` last."
    assert [(item.text, item.start_line) for item in sentences(text, 10)] == [
        ("Run:", 10),
        ("make all", 12),
        ("# comment", 14),
        ("echo one. two", 15),
        ("Done.", 17),
        ("```x``` too", 17),
        ("```y``` last.", 18),
    ]


@pytest.mark.parametrize("mark", [".", "?!", ".'", "。", "”", "1.", "# ", "> ", "| ", "```", "\u3000"])
def test_a_long_run_of_marks_takes_no_time(mark: str) -> None:
    before = time.monotonic()
    sentences(mark * 60_000 + "x", 1)
    assert time.monotonic() - before < 3


def test_lines_are_counted_from_the_first() -> None:
    found = sentences("\n\none.\ntwo\nthree. four", 100)
    assert [(item.text, item.start_line, item.end_line) for item in found] == [
        ("one.", 102, 102),
        ("two\nthree.", 103, 104),
        ("four", 104, 104),
    ]
