"""What a converter wrote becomes canonical text, and every line it spoke of stays where it was."""

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.domain.extracts import Extract, Figure, Origin
from kosmos.ingest.canonical import MAX_TITLE, canonical_of, clean_text, is_canonical, one_line

PROPERTY = settings(max_examples=150, deadline=None)
AWKWARD = st.lists(
    st.one_of(
        st.sampled_from("\r\n\x0b\x0c\x85\u2028\ufeff\x00\x1b\ud800e\u0301#- 0123"), st.text(max_size=4)
    )
)


def _figure(line: int) -> Figure:
    return Figure(hashlib.sha256(b"x").hexdigest(), b"x", "image/png", "c", line)


def test_the_title_is_declared_or_found_or_the_name() -> None:
    assert canonical_of(Extract("# Found", "Declared"), "a.html", converter="html/1")[0].title == "Declared"
    assert canonical_of(Extract("# Found", " \n "), "a.html", converter="html/1")[0].title == "Found"
    assert canonical_of(Extract("text"), "a.html", converter="html/1")[0].title == "a.html"
    assert len(canonical_of(Extract("x", "long " * 1000), "a", converter="html/1")[0].title) <= MAX_TITLE


@pytest.mark.parametrize("converter", ["markdown/1", "text/1"])
def test_front_matter_is_metadata_of_markdown(converter: str) -> None:
    text = "---\ntitle: T\nweight: 3\n---\nbody"
    canonical, _ = canonical_of(Extract(text, metadata={"kept": 1}), "a.md", converter=converter)
    assert canonical.text == text
    assert canonical.title == "T"
    assert canonical.metadata == {"kept": 1, "title": "T", "weight": 3}
    assert canonical.converter == converter


def test_a_rule_at_the_head_of_a_page_hides_nothing() -> None:
    canonical, extract = canonical_of(Extract("---\ntitle: T\n---\nbody"), "a.html", converter="html/1")
    assert canonical.text == extract.markdown == "***\ntitle: T\n---\nbody"
    assert canonical.metadata == {}


def test_lines_beyond_the_end_move_to_the_last() -> None:
    extract = Extract(
        "a\nb\n\n\n", origins=(Origin(4, "page", 2), Origin(0, "page", 1)), figures=(_figure(9),)
    )
    canonical, settled = canonical_of(extract, "a", converter="pdf/1")
    assert canonical.text == "a\nb"
    assert [(origin.line, origin.place) for origin in settled.origins] == [(1, 1), (2, 2)]
    assert settled.figures[0].line == 2


@PROPERTY
@given(AWKWARD.map("".join))
def test_every_line_stays_where_it_was(markdown: str) -> None:
    canonical, settled = canonical_of(Extract(markdown), "a", converter="html/1")
    assert is_canonical(canonical.text)
    assert clean_text(canonical.text) == canonical.text == settled.markdown
    before = markdown.replace("\r\n", "\n").split("\n")
    for number, line in enumerate(canonical.lines):
        digits = "".join(char for char in before[number] if char in "0123456789")
        assert "".join(char for char in line if char in "0123456789") == digits


@pytest.mark.parametrize("text", ["a\n", "a\rb", "a\x00", "a\u2028b", "e\u0301", "\ufeff"])
def test_what_is_not_canonical_is_seen(text: str) -> None:
    assert not is_canonical(text)
    assert is_canonical(clean_text(text))


def test_one_line() -> None:
    assert one_line(" a\n b\tc\u2028d\x00\ud800 ") == "a b c d"
