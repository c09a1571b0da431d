"""Prose is cut after sentences, in Chinese and English; what only looks like an end is left alone."""

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.chunking.sentences_split import cut_run, record_ends, sentence_ends


def _cut(text: str, ends: list[int]) -> list[str]:
    return [text[start:end] for start, end in pairwise([0, *ends, len(text)])]


@pytest.mark.parametrize(
    "parts",
    [
        ["One. ", "Two! ", "Three? ", "Four"],
        ["第一句。", "第二句！", "“第三句？”", "第四句……", "第五句"],
        ['He said "stop." ', "Then he left."],
        ["中文 and English. ", "混在一起。", "Again"],
        ["An odd space . ", "Next one"],
        ["Say it in a log.\\n", "Next line\\n\\n", "Last"],
        ["المزيد. ", "كلمات"],
        ["Wait... ", "What"],
    ],
)
def test_sentences_end_here(parts: list[str]) -> None:
    text = "".join(parts)
    assert _cut(text, sentence_ends(text)) == parts


@pytest.mark.parametrize(
    "text",
    [
        "Version 1.2 and v3.4.5 of kube.io",
        "Use a tool, e.g. this one",
        "Mr. Smith met Dr. Jones and J. Doe in the U.S. Senate",
        "see Fig. 3 and No. 7",
        "a.b.c",
        r"\frac{R-\rho}{\nabla x} \neq \nu \right)",
        "no end at all",
        "One sentence.",
        "",
    ],
)
def test_no_sentence_ends_inside(text: str) -> None:
    assert sentence_ends(text) == []


def test_records_written_on_one_line() -> None:
    text = "[{'a': 1}, {'b': [2]}, [3],[4]]"
    assert _cut(text, record_ends(text)) == ["[{'a': 1}, ", "{'b': [2]}, ", "[3],", "[4]]"]


def test_a_run_is_cut_at_clauses_before_words() -> None:
    text = "aaaa bbbb, cccc dddd eeee"
    assert _cut(text, list(cut_run(text, 14))) == ["aaaa bbbb, ", "cccc dddd eeee"]
    assert _cut("第一段，第二段，第三段", list(cut_run("第一段，第二段，第三段", 6))) == [
        "第一段，",
        "第二段，",
        "第三段",
    ]
    assert _cut("aaaa bbbb cccc", list(cut_run("aaaa bbbb cccc", 8))) == ["aaaa ", "bbbb ", "cccc"]


def test_a_visible_character_is_not_cut() -> None:
    family = "👩\u200d👩\u200d👧"
    for piece in _cut(family * 50, list(cut_run(family * 50, 12))):
        assert piece.replace(family, "") == ""
    for piece in _cut("e\u0301" * 50, list(cut_run("e\u0301" * 50, 7))):
        assert unicodedata.combining(piece[0]) == 0


@settings(max_examples=200, deadline=None)
@given(st.text(), st.integers(1, 20))
def test_pieces_are_never_empty_or_too_long(text: str, limit: int) -> None:
    for piece in _cut(text, list(cut_run(text, limit)))[: -1 if not text else None]:
        assert 0 < len(piece) <= limit
    ends = sentence_ends(text)
    assert ends == sorted(set(ends))
    assert all(0 < end < len(text) for end in ends)
