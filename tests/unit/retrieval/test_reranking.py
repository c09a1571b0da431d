"""Scores of rerankers and queries of models, as they come back over the wire."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.errors import ProviderUnavailable
from kosmos.retrieval.reranking import read_judgement, read_scores
from kosmos.retrieval.rewriting import MOST, read_queries


@pytest.mark.parametrize(
    "answer",
    [
        {"results": [{"index": 1, "relevance_score": 0.9}, {"index": 0, "relevance_score": -3}]},
        {"results": [{"index": 0, "score": -3.0, "document": {"text": "x"}}, {"index": 1, "score": 0.9}]},
        {"data": [{"index": 1, "relevance_score": 0.9}, {"index": 0, "relevance_score": -3}]},
        [{"index": 1, "score": 0.9}, {"index": 0, "score": -3}],
    ],
)
def test_the_answers_of_several_servers(answer: Any) -> None:
    assert read_scores(answer, 2, "m") == [-3.0, 0.9]


@pytest.mark.parametrize(
    "answer",
    [
        None,
        {},
        [],
        {"results": None},
        {"results": [{"index": 0, "relevance_score": 1}]},
        {"results": [{"index": 0, "relevance_score": 1}] * 2},
        {"results": [{"index": 0, "relevance_score": 1}, {"index": 2, "relevance_score": 1}]},
        {"results": [{"index": 0, "relevance_score": 1}, {"index": 1, "relevance_score": float("nan")}]},
        {"results": [{"index": 0, "relevance_score": 1}, {"index": 1, "relevance_score": "1"}]},
        {"results": [{"index": 0, "relevance_score": 1}, {"index": True, "relevance_score": 1}]},
        {"results": ["x", 7]},
    ],
)
def test_answers_that_leave_passages_out(answer: Any) -> None:
    with pytest.raises(ProviderUnavailable, match="of 2 passages"):
        read_scores(answer, 2, "m")


@pytest.mark.parametrize(
    ("text", "scores"),
    [
        ('{"1": 7, "2": 0, "3": 10}', [0.7, 0.0, 1.0]),
        ('Here you are:\n```json\n{"1": 2.5}\n```', [0.25, 0.0, 0.0]),
        ('{"1": 99, "2": -4, "3": "high", "7": 1}', [1.0, 0.0, 0.0]),
        ('First {"x": 1}, then {"2": 5}', [0.0, 0.5, 0.0]),
    ],
)
def test_the_judgement_of_a_chat_model(text: str, scores: list[float]) -> None:
    assert read_judgement(text, 3, "m") == scores


@pytest.mark.parametrize("text", ["", "All good.", "[7, 0]", '{"1": NaN}', '{"4": 1}', "{" * 100_000])
def test_a_model_that_does_not_judge(text: str) -> None:
    with pytest.raises(ProviderUnavailable):
        read_judgement(text, 3, "m")


@pytest.mark.parametrize(
    ("text", "queries"),
    [
        ('["rotate certificates", "轮换证书"]', ["rotate certificates", "轮换证书"]),
        ('Sure!\n```json\n["a  b", "a b", 7, ""]\n```', ["a b"]),
        ('["the question"]', []),
        ("[]", []),
        ("no idea", []),
        ('["' + "x" * 5000 + '"]', ["x" * 500]),
        ('["1","2","3","4","5"]', ["1", "2", "3"]),
    ],
)
def test_queries_of_a_chat_model(text: str, queries: list[str]) -> None:
    assert read_queries(text, "the question") == queries


@settings(deadline=None)
@given(st.text())
def test_whatever_a_model_writes(text: str) -> None:
    assert len(read_queries(text, "q")) <= MOST
    try:
        scores = read_judgement(text, 2, "m")
    except ProviderUnavailable:
        return
    assert all(0 <= score <= 1 for score in scores)
