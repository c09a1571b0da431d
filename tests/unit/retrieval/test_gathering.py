"""Asking the routes: those that fail leave a warning, those that work give their answer."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest

from kosmos.doubles.memory_store import MemoryStore
from kosmos.doubles.word_encoder import WordEncoder
from kosmos.errors import EngineUnavailable, ProviderUnavailable
from kosmos.retrieval.conditions import Conditions, compile_conditions
from kosmos.retrieval.gathering import Gathered, Scope, Shelf, gather
from kosmos.retrieval.routes import (
    DENSE,
    ROUTES,
    SPARSE,
    SUMMARY_DENSE,
    TEXT_DENSE,
    TEXT_SPARSE,
    TITLE_SPARSE,
)
from kosmos.retrieval.search import Wanted, search_shelves
from kosmos.retrieval.terms import term_id
from kosmos.retrieval.tuning import Tuning
from kosmos.store.rows import Dense

from .shelves import fill, rows, stock

TEXTS = {
    "pump": "# Pump\n\nThe pump must be oiled every 40 days.\n\n## Noise\n\nA loud pump needs new bearings.",
    "certs": "# 证书\n\n叶子证书每九十天轮换一次。\n\n## 根证书\n\n根证书十年有效。",
}
WHERE = compile_conditions(Conditions())


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


async def _gather(store: MemoryStore, query: str, encoder: WordEncoder | None, tuning: Tuning) -> Gathered:
    return await gather(store, [Shelf("c", encoder)], [query], scope=Scope(WHERE, tuning, 50))


async def test_all_four_routes_answer() -> None:
    encoder = WordEncoder()
    store = await stock(TEXTS, encoder=encoder)
    gathered = await _gather(store, "oil the pump", encoder, Tuning())
    assert set(gathered.lists) == set(ROUTES)
    assert gathered.warnings == {}
    assert {hit.pk for hits in gathered.lists.values() for hit in hits} <= set(gathered.rows)
    assert all(gathered.rows[pk]["node_type"] == "content" for pk in gathered.rows)
    assert gathered.lists[TEXT_SPARSE][0].pk == "pump-001"


async def test_routes_without_weight_are_not_asked() -> None:
    encoder = WordEncoder()
    store = await stock(TEXTS, encoder=encoder)
    tuning = Tuning().without((*DENSE, TITLE_SPARSE))
    before = encoder.encoded
    gathered = await _gather(store, "pump", encoder, tuning)
    assert (set(gathered.lists), store.asked) == ({TEXT_SPARSE}, [TEXT_SPARSE])
    assert encoder.encoded == before


@pytest.mark.parametrize("broken", ROUTES)
async def test_a_broken_route_leaves_the_answer_of_the_others(broken: str) -> None:
    encoder = WordEncoder()
    store = await stock(TEXTS, encoder=encoder)
    store.broken = {broken}
    gathered = await _gather(store, "oil the pump", encoder, Tuning())
    assert set(gathered.lists) == set(ROUTES) - {broken}
    (warning,) = gathered.warnings
    assert broken in warning
    assert "out of order" in warning


async def test_a_broken_encoder_leaves_the_sparse_routes() -> None:
    encoder = WordEncoder()
    store = await stock(TEXTS, encoder=encoder)
    encoder.broken = True
    gathered = await _gather(store, "oil the pump", encoder, Tuning())
    assert set(gathered.lists) == set(SPARSE)
    assert list(gathered.warnings) == ["Results are without the dense routes: The encoder does not answer."]


@pytest.mark.parametrize("shape", ["nan", "short", "none"])
async def test_vectors_that_cannot_be_used(shape: str) -> None:
    """An endpoint may give NaN, another dimension, or nothing at all."""

    class Odd(WordEncoder):
        async def encode_queries(self, texts: Sequence[str]) -> Dense:
            good = await super().encode_queries(texts)
            return {"nan": good * np.float32("nan"), "short": good[:, :5], "none": good[:0]}[shape]

    store = await stock(TEXTS, encoder=WordEncoder())
    gathered = await _gather(store, "oil the pump", Odd(), Tuning())
    assert set(gathered.lists) == set(SPARSE)
    assert ["cannot be used" in warning for warning in gathered.warnings] == [True]


async def test_when_nothing_works_the_reason_is_raised() -> None:
    store = await stock(TEXTS)
    store.broken = set(ROUTES)
    with pytest.raises(EngineUnavailable, match="out of order"):
        await _gather(store, "pump", None, Tuning())
    encoder = WordEncoder(broken=True)
    tuning = Tuning().without(SPARSE)
    with pytest.raises(ProviderUnavailable):
        await _gather(store, "pump", encoder, replace(tuning))


async def test_a_route_that_is_being_filled_says_so() -> None:
    encoder = WordEncoder()
    store = await stock(TEXTS)
    unfilled = (await _gather(store, "pump", encoder, Tuning())).warnings
    assert [warning.split(": ")[1] for warning in unfilled] == ["0 of 8 chunks."] * 2
    assert (await _gather(store, "pump", None, Tuning())).warnings == {}  # nobody will fill it
    await fill(store, "c", encoder)
    await store.upsert("c", rows("new", "---\ntitle: x\n---\n# New\n\nA pump that is new."))
    gathered = await _gather(store, "pump", encoder, Tuning())
    assert [warning for warning in gathered.warnings if TEXT_DENSE in warning.split()] == [
        "The route vector is still being filled: 8 of 10 chunks."
    ]
    assert "new-002" in {hit.pk for hit in gathered.lists[TEXT_SPARSE]}
    await fill(store, "c", encoder)  # front matter never gets a vector, and nobody waits for it
    assert (await _gather(store, "pump", encoder, Tuning())).warnings == {}


async def test_vectors_of_another_encoder_are_not_compared() -> None:
    store = await stock(TEXTS, encoder=WordEncoder(32))
    gathered = await _gather(store, "pump", WordEncoder(64), Tuning())
    assert set(gathered.lists) == set(SPARSE)
    assert ["kosmos reindex" in warning for warning in gathered.warnings] == [True, True]


async def test_terms_are_as_rare_as_in_all_collections_together() -> None:
    store = await stock(TEXTS)
    await store.upsert("other", rows("more", "# Pumps\n\npump pump\n\n# Again\n\npump"))
    shelves = [Shelf("c"), Shelf("other")]
    gathered = await gather(store, shelves, ["pump"], scope=Scope(WHERE, Tuning(), 50))
    one, two = (gathered.asked[TEXT_SPARSE][name] for name in ("c", "other"))
    assert one == two
    alone = await gather(store, shelves[:1], ["pump"], scope=Scope(WHERE, Tuning(), 50))
    assert alone.asked[TEXT_SPARSE]["c"] != one


async def test_rewritten_questions_have_lists_of_their_own() -> None:
    encoder = WordEncoder()
    store = await stock(TEXTS, encoder=encoder)
    gathered = await gather(
        store, [Shelf("c", encoder)], ["oil", "叶子证书"], scope=Scope(WHERE, Tuning(), 50)
    )
    assert {"sparse_vector", "sparse_vector#2", "vector#2"} <= set(gathered.lists)
    assert gathered.language == "en"
    assert gathered.lists["sparse_vector#2"][0].pk == "certs-001"


async def test_feedback_lends_terms_to_chinese_questions_only() -> None:
    store = await stock(TEXTS)
    tuning = replace(Tuning(), feedback=True)
    plain = await _gather(store, "叶子证书", None, Tuning())
    fed = await _gather(store, "叶子证书", None, tuning)
    assert set(plain.asked[TEXT_SPARSE]["c"]) < set(fed.asked[TEXT_SPARSE]["c"])
    assert term_id("轮换") in dict(fed.asked[TEXT_SPARSE]["c"])
    english = await _gather(store, "oil", None, tuning)
    assert set(english.asked[TEXT_SPARSE]["c"]) == {term_id("oil")}


@pytest.mark.parametrize(
    "query", ["😀😀", "the of", ".*+?[(", "'; DROP TABLE x; --", "\x00", "怎么", "a" * 10_000]
)
async def test_odd_questions_are_answered(query: str) -> None:
    encoder = WordEncoder()
    store = await stock(TEXTS, encoder=encoder)
    outcome = await search_shelves(store, [Shelf("c", encoder)], Wanted(query), tuning=Tuning())
    assert outcome.gathered.warnings == {}


async def test_across_languages_the_dense_routes_decide() -> None:
    """An English question over Chinese texts: the encoder knows what 证书 and 轮换 are."""
    encoder = WordEncoder(256, same={"证书": "certif", "轮换": "rotat"})
    noise = {f"n{i}": f"# 文档{i}\n\n第{i}篇文章讲的是别的事情。" for i in range(5)}
    store = await stock({**TEXTS, **noise}, encoder=encoder)
    outcome = await search_shelves(
        store, [Shelf("c", encoder)], Wanted("rotating certificates"), tuning=Tuning()
    )
    best = outcome.ranked[0]
    assert best.document_id == "certs"
    assert best.routes[TEXT_DENSE].weight == Tuning().other[TEXT_DENSE]
    assert SUMMARY_DENSE in best.routes
