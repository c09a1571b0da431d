"""Ranking: what stands around a chunk raises it, by parts that are written down."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.retrieval.evidence import Ranked, one_per_document, rank, rescore
from kosmos.retrieval.routes import TEXT_SPARSE
from kosmos.retrieval.tuning import Tuning
from kosmos.store.rows import Found

PLAIN = Tuning(same={TEXT_SPARSE: 1.0}, other={TEXT_SPARSE: 1.0}, document=0.3, links=0.0)


def _rank(scores: dict[str, float], tuning: Tuning = PLAIN, **fields: Any) -> list[Ranked]:
    """Chunks called `document-number`."""
    listed = sorted((Found(pk, score) for pk, score in scores.items()), key=lambda hit: (-hit.score, hit.pk))
    rows = {
        pk: {"document_id": pk.split("-")[0], "language": "en", **fields.get(pk.replace("-", "_"), {})}
        for pk in scores
    }
    return rank({TEXT_SPARSE: listed}, rows, tuning, language="en")


def test_a_document_with_several_fitting_chunks_beats_a_lucky_one() -> None:
    found = _rank({"lucky-1": 10.0, "solid-1": 9.0, "solid-2": 8.0, "solid-3": 5.0, "solid-4": 5.0})
    assert [item.chunk_id for item in found[:2]] == ["solid-1", "solid-2"]
    best = found[0]
    (rise,) = best.rises
    assert (rise.kind, rise.chunk_ids) == ("document", ("solid-2", "solid-3"))
    assert rise.part == pytest.approx(0.3 * 0.8 + 0.1 * 0.5)
    assert best.score == pytest.approx(0.9 + rise.part)
    assert [
        item.chunk_id
        for item in _rank(
            {"lucky-1": 10.0, "solid-1": 9.0, "solid-2": 8.0}, Tuning(same={TEXT_SPARSE: 1.0}, document=0.0)
        )
    ] == ["lucky-1", "solid-1", "solid-2"]


def test_a_document_that_fitting_ones_link_to_rises() -> None:
    tuning = Tuning(same={TEXT_SPARSE: 1.0}, document=0.0, links=0.5)
    link = {"related_links": [{"document_id": "b"}, {"document_id": None}, "odd"]}
    found = _rank({"a-1": 10.0, "b-1": 4.0, "c-1": 5.0}, tuning, a_1=link)
    assert [item.chunk_id for item in found] == ["a-1", "b-1", "c-1"]
    (rise,) = found[1].rises
    assert (rise.kind, rise.chunk_ids) == ("link", ("a-1",))
    assert rise.part == pytest.approx(0.5)
    own = {"related_links": [{"document_id": "a"}]}
    assert _rank({"a-1": 10.0, "a-2": 4.0}, tuning, a_1=own)[1].rises == ()


@settings(deadline=None)
@given(st.dictionaries(st.from_regex(r"[abc]-[1-6]", fullmatch=True), st.floats(0.01, 10), min_size=1))
def test_every_score_is_the_sum_of_its_parts(scores: dict[str, float]) -> None:
    found = _rank(scores)
    assert {item.chunk_id for item in found} == set(scores)
    fused = {item.chunk_id: sum(place.part for place in item.routes.values()) for item in found}
    for item in found:
        rises = sum(
            weight * fused[pk]
            for rise in item.rises
            for weight, pk in zip(rise.weights, rise.chunk_ids, strict=True)
        )
        assert item.score == pytest.approx(fused[item.chunk_id] + rises)
        assert all(item.chunk_id not in rise.chunk_ids for rise in item.rises)
    assert [item.score for item in found] == sorted((item.score for item in found), reverse=True)


def test_each_document_once() -> None:
    found = _rank({"a-1": 9.0, "b-1": 8.0, "a-2": 7.0, "c-1": 1.0})
    assert [(item.chunk_id, more) for item, more in one_per_document(found)] == [
        ("a-1", 1),
        ("b-1", 0),
        ("c-1", 0),
    ]


def test_a_reranker_orders_what_it_has_read() -> None:
    found = _rank({"a-1": 9.0, "b-1": 8.0, "c-1": 7.0, "d-1": 6.0})
    again = rescore(found, [0.1, 0.9, 0.5])
    assert [(item.chunk_id, item.score) for item in again[:3]] == [("b-1", 0.9), ("c-1", 0.5), ("a-1", 0.1)]
    assert [item.fused for item in again[:3]] == [found[1].score, found[2].score, found[0].score]
    assert again[3] == found[3]


def test_rows_that_are_gone_are_left_out() -> None:
    listed = [Found("a-1", 2.0), Found("gone", 1.0)]
    found = rank({TEXT_SPARSE: listed}, {"a-1": {"document_id": "a"}}, PLAIN, language="zh")
    assert [item.chunk_id for item in found] == ["a-1"]
