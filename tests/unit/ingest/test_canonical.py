"""Canonical text: one form for every file, line for line the file itself."""

import re
import time
import unicodedata
from contextlib import nullcontext

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.errors import InvalidInput
from kosmos.ingest.canonical import canonicalize, clean_text

PROPERTY = settings(max_examples=100, deadline=None)
# Everything that has ever broken a line, hidden in a text or moved a character.
AWKWARD = "\r\n\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029\ufeff\ufffe\uffff\x01\x1b\x7f\u0301e\u212b한# -\t"
awkward_text = st.lists(st.one_of(st.sampled_from(AWKWARD), st.text(max_size=5))).map("".join)
BREAKS = "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def _text(data: bytes) -> str:
    return canonicalize(data, "a.md").text


def _without_nul(text: str) -> bytes:
    return text.replace("\x00", "").encode()


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", ""),
        (b"\n\n\n", ""),
        (b"one\r\ntwo\r\n", "one\ntwo"),
        (b"one\rtwo\r", "one\ntwo"),
        (b"one\r\r\ntwo", "one\n\ntwo"),
        (b"one\n\rtwo", "one\n\ntwo"),
        (b"\xef\xbb\xbf# Title\n", "# Title"),
        (b"\xef\xbb\xbf\xef\xbb\xbf# Title", "# Title"),
        ("a\ufeffb".encode(), "ab"),
        (b"a\x1b[31mb\x07", "a[31mb"),
        (b"col\tumn", "col\tumn"),
        ("cafe\u0301".encode(), "caf\u00e9"),
        ("e\x01\u0301".encode(), "\u00e9"),
        ("中文。\n第二行".encode(), "中文。\n第二行"),
        (b"\n\n  first\n\n", "\n\n  first"),
    ],
)
def test_one_form_for_every_file(data: bytes, expected: str) -> None:
    assert _text(data) == expected


@pytest.mark.parametrize("mark", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"])
def test_odd_line_breaks_break_no_line_and_join_no_words(mark: str) -> None:
    text = _text(f"first{mark}second\nthird".encode())
    assert text.split("\n") == ["first second", "third"]
    assert len(text.splitlines()) == 2


def test_a_heading_after_a_form_feed_is_still_one() -> None:
    assert canonicalize(b"intro\n\n\x0c# Chapter\n", "a.md").title == "Chapter"


@pytest.mark.parametrize("data", [b"\x00", b"text\x00more", "wide".encode("utf-16"), b"x" * 10_000 + b"\x00"])
def test_a_file_with_nul_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidInput, match="not a text file") as caught:
        canonicalize(data, "picture.md")
    assert caught.value.remedy
    assert "picture.md" in caught.value.message


@pytest.mark.parametrize(
    ("data", "at"), [(b"abc\xff", 3), ("中文".encode("gbk"), 0), (b"\xed\xa0\x80", 0), (b"ok\xc0\xaf", 2)]
)
def test_what_is_no_utf8_is_refused_with_a_remedy(data: bytes, at: int) -> None:
    with pytest.raises(InvalidInput, match=rf"old\.txt is not UTF-8 text \(byte {at}\)") as caught:
        canonicalize(data, "old.txt")
    assert caught.value.remedy == "Save it as UTF-8 and add it again."


@PROPERTY
@given(awkward_text)
def test_canonical_text_is_its_own_canonical_text(text: str) -> None:
    once = canonicalize(_without_nul(text), "a.md")
    again = canonicalize(once.text.encode(), "a.md")
    assert again == once
    assert clean_text(once.text) == once.text


@PROPERTY
@given(awkward_text)
def test_canonical_text_has_the_promised_form(text: str) -> None:
    result = _text(_without_nul(text))
    assert not FORBIDDEN.search(result)
    assert not result.endswith("\n")
    assert unicodedata.is_normalized("NFC", result)
    result.encode()


@PROPERTY
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r\x00"))))
def test_line_n_of_a_file_stays_line_n(lines: list[str]) -> None:
    found = _text("\n".join(lines).encode()).split("\n")
    kept = ["".join(" " if char in BREAKS else FORBIDDEN.sub("", char) for char in line) for line in lines]
    while kept and not kept[-1]:
        kept.pop()
    assert found == ([unicodedata.normalize("NFC", line) for line in kept] or [""])


@PROPERTY
@given(st.binary(max_size=200))
def test_any_bytes_are_text_or_refused(data: bytes) -> None:
    readable = b"\x00" not in data and data.decode(errors="ignore").encode() == data
    with nullcontext() if readable else pytest.raises(InvalidInput):
        assert canonicalize(data, "x.md").title.strip()


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# First\n\n# Second", "First"),
        ("intro\n\n## Deep ##\n", "Deep"),
        ("# C#\n", "C#"),
        ("# 标题 #\n", "标题"),
        ("# Head <!-- draft -->\n", "Head"),
        ("Setext\n======\n\ntext", "Setext"),
        ("two\nlines\n===", "two lines"),
        ("```sh\n# a comment of the shell\n```\n\n# Real\n", "Real"),
        ("```sh\n# only code\n```\n", "name.md"),
        ("> # quoted\n\n- # listed\n", "name.md"),
        ("---\ntitle: Declared\n---\n# Heading\n", "Declared"),
        ("---\ntitle: ''\n---\n# Heading\n", "name.md"),
        ("---\ntitle: 2024\n---\n# Heading\n", "Heading"),
        ("---\na: 1\n# comment: not a heading\n---\n# Heading\n", "Heading"),
        ("#NoBlank", "name.md"),
        ("#", "name.md"),
        ("", "name.md"),
        ("just text", "name.md"),
    ],
)
def test_the_title(text: str, title: str) -> None:
    assert canonicalize(text.encode(), "name.md").title == title


def test_a_heading_full_of_blanks_takes_no_time() -> None:
    data = b"# a" + b" " * 20_000 + b"b" + b" #" * 10_000 + b"\n"
    before = time.monotonic()
    assert canonicalize(data, "a.md").title.startswith("a b")
    assert time.monotonic() - before < 5
