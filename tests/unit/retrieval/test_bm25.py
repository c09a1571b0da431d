"""BM25 by hand: the inner product of the two vectors is the formula of the textbook."""

import math
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.retrieval.bm25 import document_vector, query_vector, rarity
from kosmos.retrieval.terms import term_id
from kosmos.store.rows import TermCounts

CORPUS = (["apple", "apple", "pie"], ["banana", "pie"], ["cherry"])
WORDS = ("apple", "banana", "cherry", "pie", "向", "量", "向量")
TEXTS = st.lists(st.sampled_from(WORDS), max_size=20)


def _counts(corpus: Sequence[Sequence[str]]) -> TermCounts:
    return TermCounts(len(corpus), {term_id(word): sum(word in text for text in corpus) for word in WORDS})


def _textbook(question: Sequence[str], text: Sequence[str], corpus: Sequence[Sequence[str]]) -> float:
    score = 0.0
    for word in question:
        having = sum(word in other for other in corpus)
        idf = math.log(1 + (len(corpus) - having + 0.5) / (having + 0.5))
        count = text.count(word)
        score += idf * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * len(text) / 250))
    return score


def _inner(question: Sequence[str], text: Sequence[str], corpus: Sequence[Sequence[str]]) -> float:
    query, vector = query_vector(question, _counts(corpus)), document_vector(text)
    return sum(weight * vector.get(term, 0.0) for term, weight in query.items())


def test_a_document_vector_by_hand() -> None:
    # norm = 1.2 x (0.25 + 0.75 x 3 / 250) = 0.3108
    assert document_vector(CORPUS[0]) == {
        term_id("apple"): pytest.approx(2 * 2.2 / 2.3108),
        term_id("pie"): pytest.approx(2.2 / 1.3108),
    }
    assert document_vector([]) == {}


def test_a_query_vector_by_hand() -> None:
    query = query_vector(["apple", "pie", "pie"], _counts(CORPUS))
    assert query == {
        term_id("apple"): pytest.approx(math.log(1 + 2.5 / 1.5)),
        term_id("pie"): pytest.approx(2 * math.log(1 + 1.5 / 2.5)),
    }
    assert query_vector([], _counts(CORPUS)) == {}


def test_scores_by_hand() -> None:
    assert _inner(["apple"], CORPUS[0], CORPUS) == pytest.approx(0.9808293 * 1.9041025, rel=1e-6)
    assert _inner(["apple"], CORPUS[1], CORPUS) == 0


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=6), st.lists(TEXTS, min_size=1, max_size=5))
def test_the_inner_product_is_textbook_bm25(question: list[str], corpus: list[list[str]]) -> None:
    for text in corpus:
        assert _inner(question, text, corpus) == pytest.approx(_textbook(question, text, corpus))


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_rarity_is_positive_and_falls(rows: int, having: int) -> None:
    having = min(having, rows)
    here = rarity(TermCounts(rows, {1: having}), 1)
    assert here > 0
    assert having == 0 or here < rarity(TermCounts(rows, {1: having - 1}), 1)
    assert rarity(TermCounts(rows, {}), 1) == rarity(TermCounts(rows, {1: 0}), 1)


def test_terms_that_share_a_number_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    apart = document_vector(["one", "two"])
    monkeypatch.setattr("kosmos.retrieval.bm25.term_id", lambda _: 5)
    assert document_vector(["one", "two"]) == {5: pytest.approx(sum(apart.values()))}
