"""Search and recall over HTTP: what is asked for, what comes back, and clients of other servers."""

import itertools
from typing import Any

import pytest

from acceptance.http.world import Person, World

_NUMBERS = itertools.count()
TEXT = """---
title: Pump manual
author: Li
---
# Pump 泵

The pump must be oiled every 40 days.

## 证书 Certificates

叶子证书每九十天轮换一次。
"""


@pytest.fixture
def reader(world: World) -> tuple[Person, str, str]:
    """Somebody with a space and a document in it."""
    person = world.join(f"reader {next(_NUMBERS)}")
    space = person.ok("POST", "/api/v1/spaces", {"name": "手册 manual"})["id"]
    return person, space, world.add(space, "docs/pump.md", TEXT)


def _search(person: Person, **body: Any) -> dict[str, Any]:
    found: dict[str, Any] = person.ok("POST", "/api/v1/search", {"query": "证书 轮换", **body})
    return found


def test_filters_and_options(reader: tuple[Person, str, str]) -> None:
    person, space, document = reader
    for kept in (
        {"path": "docs/"},
        {"metadata": {"author": "Li"}},
        {"document_ids": [document]},
        {"languages": ["en", "zh"], "types": ["content"]},
        {"since": "2000-01-01", "until": "2100-01-01T00:00:00Z"},
    ):
        assert _search(person, filter=kept)["items"], kept
    for lost in (
        {"path": "other/"},
        {"metadata": {"author": "Wu"}},
        {"pages": [1, 2]},
        {"until": "2000-01-01"},
    ):
        assert _search(person, filter=lost)["items"] == [], lost
    found = _search(
        person,
        space_ids=[space],
        k=1,
        group_by_document=True,
        neighbours=1,
        walk=True,
        explain=True,
        similarity_threshold=0.1,
        fusion="rrf",
        routes={"title_sparse": 0},
    )
    best = found["items"][0]
    assert (best["document_id"], best["space_id"], best["origin"]) == (document, space, "anchor")
    assert best["neighbours"]
    assert best["likeness"]["term"] > 0.1
    parts = [place["part"] for place in best["explain"]["routes"].values()]
    assert sum(parts) + sum(rise["part"] for rise in best["explain"]["rises"]) == pytest.approx(best["score"])
    assert found["queries"] == ["证书 轮换"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"filter": {"colour": "red"}},
        {"filter": {"types": ["chapter"]}},
        {"filter": {"since": "soon"}},
        {"filter": {"metadata": {"a": {"b": 1}}}},
        {"filter": {"pages": [3]}},
        {"routes": {"bm25": 1}},
        {"routes": {"vector": -1}},
        {"fusion": "best"},
        {"rerank": "always"},
        {"offset": -1},
        {"neighbours": 1000},
        {"similarity_threshold": 7},
        {"weights": {}},
    ],
)
def test_what_cannot_be_understood(reader: tuple[Person, str, str], wrong: dict[str, Any]) -> None:
    answer = reader[0].call("POST", "/api/v1/search", {"query": "x", **wrong})
    assert answer.status_code == 422, answer.text
    assert answer.json()["detail"]


def test_models_that_are_missing_are_warned_of(reader: tuple[Person, str, str]) -> None:
    found = _search(reader[0], rerank="endpoint", rewrite=True)
    assert found["items"]
    assert len(found["warnings"]) == 2


def test_a_client_of_ragflow(reader: tuple[Person, str, str]) -> None:
    """The request as RAGFlow's own client library sends it, and the fields that it reads."""
    person, space, document = reader
    body = {
        "question": "叶子证书多久轮换",
        "dataset_ids": [space],
        "document_ids": [document],
        "page": 1,
        "page_size": 30,
        "similarity_threshold": 0.2,
        "vector_similarity_weight": 0.3,
        "top_k": 1024,
        "rerank_id": None,
        "keyword": False,
        "highlight": True,
        "cross_languages": [],
        "metadata_condition": None,
    }
    answer = person.ok("POST", "/api/v1/retrieval", body)
    assert answer["code"] == 0
    (chunk, *_) = answer["data"]["chunks"]
    assert "九十天" in chunk["content"]
    assert (chunk["document_id"], chunk["kb_id"], chunk["dataset_id"]) == (document, space, space)
    assert chunk["document_keyword"] == chunk["document_name"] == "docs/pump.md"
    assert "<em>" in chunk["highlight"]
    assert 0.2 <= chunk["similarity"] <= 1
    assert chunk["positions"] == [[0, 0, 0, 11, 11]]
    for name in ("id", "term_similarity", "vector_similarity", "important_keywords", "image_id"):
        assert name in chunk
    assert answer["data"]["total"] == len(answer["data"]["chunks"])
    assert answer["data"]["doc_aggs"] == [
        {"doc_id": document, "doc_name": "docs/pump.md", "count": len(answer["data"]["chunks"])}
    ]


def test_the_recall_tool_of_the_literature_agent(reader: tuple[Person, str, str]) -> None:
    person, _, document = reader
    body: dict[str, Any] = {
        "question": "How often must the pump be oiled?",
        "index_names": ["手册 manual"],
        "doc_ids": [document],
        "top_n": 1,
        "use_rerank": True,
    }
    (chunk,) = person.ok("POST", "/api/v1/retrieval", body)["data"]["chunks"]
    assert "40 days" in chunk["content"]
    terms, vectors = chunk["term_similarity"], chunk["vector_similarity"]
    assert chunk["similarity"] == pytest.approx(0.7 * terms + 0.3 * vectors if vectors else terms)
    higher = {**body, "similarity_threshold": min(1.0, chunk["similarity"] + 0.01)}
    assert person.ok("POST", "/api/v1/retrieval", higher)["data"]["chunks"] == []
    both = {**body, "question": "pump 证书", "similarity_threshold": 0}
    pages = [person.ok("POST", "/api/v1/retrieval", {**both, "page": page})["data"] for page in (1, 2)]
    assert len({page["chunks"][0]["id"] for page in pages}) == 2
    assert [page["total"] for page in pages] == [2, 2]
    assert person.call("POST", "/api/v1/retrieval", {**body, "index_names": ["no such"]}).status_code == 404
    assert person.call("POST", "/api/v1/retrieval", {"index_names": []}).status_code == 422
    assert person.call("POST", "/api/v1/retrieval", {**body, "top_n": 0}).status_code == 422
