"""Plain text as it is; code in a fence that nothing in it can close."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.domain.extracts import Origin
from kosmos.ingest.blocks import parse_blocks
from kosmos.ingest.canonical import clean_text
from kosmos.ingest.formats import markdown
from kosmos.ingest.formats.text import extract, fence, language_of


@pytest.mark.parametrize("name", ["a.txt", "README", "a.log", "a"])
def test_prose_is_left_alone(name: str) -> None:
    result = extract(b"one\r\ntwo\rthree", name)
    assert (result.markdown, result.origins) == ("one\ntwo\nthree", ())


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("a.py", "python"),
        ("A.YML", "yaml"),
        ("x/Dockerfile", "dockerfile"),
        ("a.json", "json"),
        ("a.svg", "xml"),
    ],
)
def test_code_is_fenced(name: str, language: str) -> None:
    result = extract(b"x: 1\ny: 2\n", name)
    assert result.markdown == f"```{language}\nx: 1\ny: 2\n```"
    assert result.origins == (Origin(2, "line", 1),)
    assert language_of(name) == language


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(["`", "```", "````", "~~~", "\n", "x", "# h", "    "])).map("".join))
def test_nothing_closes_the_fence(code: str) -> None:
    text = clean_text(fence("a" + code, "x"))
    (block,) = parse_blocks(text)
    assert (block.kind, block.start_line, block.end_line) == ("code", 1, len(text.split("\n")))


def test_markdown_is_the_file_itself() -> None:
    result = markdown.extract("---\na: 1\n---\n# 题\r\n\u2028x".encode("utf-16"), "a.md")
    assert result.markdown == "---\na: 1\n---\n# 题\n\u2028x"
    assert result.notes == ("Read as utf-16-le.",)
