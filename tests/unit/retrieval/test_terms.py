"""Terms: Chinese and English, mixed and in every width."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.retrieval.terms import TERM_SPACE, term_id, terms

PROPERTY = settings(max_examples=150, deadline=None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("向量", ["向", "量", "向量"]),
        ("数据库", ["数", "据", "库", "数据", "据库"]),
        ("库", ["库"]),
        ("数据，库", ["数", "据", "数据", "库"]),
        ("ひらがな", ["ひ", "ら", "が", "な", "ひら", "らが", "がな"]),
        ("한국", ["한", "국", "한국"]),
        ("𠮷野", ["𠮷", "野", "𠮷野"]),
        ("databases Running", ["databas", "run"]),
        ("GPU加速cuda", ["gpu", "加", "速", "加速", "cuda"]),
        ("第3章", ["第", "3", "章"]),
        ("ＡＢＣ１２３", ["abc123"]),
        ("ｶﾞｲﾄﾞ", ["ガ", "イ", "ド", "ガイ", "イド"]),
        ("ﬁle ²", ["file", "2"]),
        ("naïve Straße", ["naïve", "straße"]),
        ("snake_case kebab-case", ["snake", "case", "kebab", "case"]),
        ("v1.2 a.b", ["v1", "2", "b"]),
        ("😀🎉 👨‍👩‍👧", []),
        ("ok😀fine", ["ok", "fine"]),
        ("the The THE what is it", []),
        ("ｔｈｅ end", ["end"]),
        ("не стоп", ["не", "стоп"]),
        ("\ud800 \x00 \u200b", []),
    ],
)
def test_terms_of(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("indexing", "indexed"),
        ("Databases", "database"),
        ("ｗｏｒｄ", "WORD"),
        ("cafe\u0301", "café"),
        ("㍿", "株式会社"),
        ("ＧＰＵ加速", "gpu加速"),
    ],
)
def test_forms_that_find_each_other(one: str, other: str) -> None:
    assert terms(one) == terms(other)


def test_a_pair_is_not_made_across_a_gap() -> None:
    assert "据库" not in terms("数据 库")
    assert "据库" not in terms("数据x库")


@PROPERTY
@given(st.text(st.characters()))
def test_no_text_makes_it_fail(text: str) -> None:
    found = terms(text)
    assert all(term and not any(char.isspace() for char in term) for term in found)
    assert terms(text) == found
    for term in found:
        assert 0 <= term_id(term) < TERM_SPACE


@PROPERTY
@given(st.text("中文数据库检索，。 ", max_size=30))
def test_runs_give_all_their_characters_and_pairs(text: str) -> None:
    runs = text.replace("，", " ").replace("。", " ").split()
    expected = [piece for run in runs for piece in [*run, *(a + b for a, b in itertools.pairwise(run))]]
    assert terms(text) == expected


@PROPERTY
@given(st.text(), st.text())
def test_terms_of_two_texts_are_those_of_each(one: str, other: str) -> None:
    assert terms(f"{one}\n\n{other}") == terms(one) + terms(other)


def test_term_ids_are_the_same_everywhere() -> None:
    """Written down: an index made on one machine is read on another."""
    assert term_id("123456789") == 0xCBF43926 % TERM_SPACE  # the check value of CRC-32
    assert {term: term_id(term) for term in ("向量", "run", "")} == {
        "向量": 353525073,
        "run": 349952704,
        "": 0,
    }


@PROPERTY
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_every_term_has_a_number_in_range(term: str) -> None:
    assert 0 <= term_id(term) < 1_000_000_000
