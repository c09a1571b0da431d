"""Search with models: rerankers and rephrasing over the wire, and what happens when they fail."""

import json
from typing import Any

import pytest

from kosmos.accounts.credentials import NewCredential, add_credential
from kosmos.domain.answers import Findings
from kosmos.domain.credentials import CredentialType
from kosmos.doubles.memory_store import MemoryStore
from kosmos.doubles.model_server import ModelServer, Reply
from kosmos.llm.secrets import passing_box
from kosmos.retrieval.search import Wanted
from kosmos.tasks import asking

from .scene import Scene

TEXTS = {
    "a.md": "# A\n\nThe pump, the pump, the pump and the pump.\n",
    "b.md": "# B\n\nOil the pump every 40 days.\n",
    "c.md": "# C\n\n叶子证书每九十天轮换一次。\n",
}


@pytest.fixture
async def shop(scene: Scene) -> Scene:
    """Three documents in a store in memory."""
    made = scene.using(store=MemoryStore())
    for name, text in TEXTS.items():
        await made.add(text, name)
    return made


async def _use(scene: Scene, server: ModelServer, kind: CredentialType) -> None:
    new = NewCredential(f"{kind} double", kind, server.base_url, "scripted", is_default=True)
    async with scene.bench.db.write() as conn:
        await add_credential(conn, scene.owner, new, box=passing_box(), now=scene.bench.clock())


async def _find(scene: Scene, query: str, **wanted: Any) -> Findings:
    return await asking.find(scene.bench, scene.owner, Wanted(query, **wanted))


def _sources(found: Findings) -> list[str]:
    return [hit.source for hit in found.hits]


async def test_a_rerank_endpoint_orders_the_results(shop: Scene) -> None:
    query = "pump 40 days"
    plain = await _find(shop, query, routes={"title_sparse": 0}, k=2)
    async with ModelServer() as server:
        await _use(shop, server, CredentialType.RERANK)
        for how in ("endpoint", "auto"):
            found = await _find(shop, query, rerank=how, explain=True)
            assert _sources(found)[0] == "b.md"
            assert found.warnings == ()
            assert found.hits[0].score == 1.0  # all three words
            why = found.hits[0].explain
            assert why is not None
            assert why["rerank"] == {"by": how, "score": 1.0}
            assert why["fused"] == pytest.approx(sum(place["part"] for place in why["routes"].values()))
        body = server.requests[-1].body
        assert (body["query"], len(body["documents"])) == (query, 2)
        assert len(plain.hits) == 2


async def test_a_chat_model_judges_the_passages(shop: Scene) -> None:
    def decide(body: dict[str, Any]) -> Reply:
        text = str(body["messages"][-1]["content"])
        passages = text.split("Passage ")[1:]
        return Reply(content=json.dumps({p[0]: 9 if "Oil" in p else 2 for p in passages}))

    async with ModelServer(decide) as server:
        await _use(shop, server, CredentialType.LLM)
        found = await _find(shop, "pump", rerank="model")
    assert [(hit.source, hit.score) for hit in found.hits] == [("b.md", 0.9), ("a.md", 0.2)]


@pytest.mark.parametrize(
    ("how", "reply", "words"),
    [
        ("endpoint", Reply(endpoint="rerank", status=500), "HTTP 500"),
        ("endpoint", Reply(endpoint="rerank", malformed='{"results": []}'), "0 of 2 passages"),
        ("model", Reply(content="I cannot say."), "how well"),
    ],
)
async def test_a_reranker_that_fails_leaves_the_order_as_it_was(
    shop: Scene, how: str, reply: Reply, words: str
) -> None:
    plain = _sources(await _find(shop, "pump days"))
    async with ModelServer([reply]) as server:
        await _use(shop, server, CredentialType.RERANK if how == "endpoint" else CredentialType.LLM)
        found = await _find(shop, "pump days", rerank=how)
    assert _sources(found) == plain
    (warning,) = found.warnings
    assert warning.startswith("Results were not reranked: ")
    assert words in warning


async def test_without_a_reranker(shop: Scene) -> None:
    plain = await _find(shop, "pump")
    assert await _find(shop, "pump", rerank="auto") == plain
    for how, words in (("endpoint", "RERANK"), ("local", "No local reranker"), ("model", "LLM")):
        found = await _find(shop, "pump", rerank=how)
        assert found.hits == plain.hits
        assert words in found.warnings[0]


async def test_a_local_reranker(shop: Scene) -> None:
    class Last:
        name = "last"

        async def score(self, query: str, passages: Any) -> list[float]:
            return [float(number) for number, _ in enumerate(passages)]

    plain = _sources(await _find(shop, "pump oil"))
    with_local = shop.using(reranker=Last())
    for how in ("local", "auto"):
        assert _sources(await _find(with_local, "pump oil", rerank=how)) == plain[::-1]


async def test_a_model_rephrases_the_question_in_the_language_of_the_documents(shop: Scene) -> None:
    question = "when do leaf certs get swapped"
    assert _sources(await _find(shop, question)) == []
    async with ModelServer([Reply(content='["叶子证书 轮换"]')]) as server:
        await _use(shop, server, CredentialType.SLM)
        found = await _find(shop, question, rewrite=True)
        prompt = str(server.requests[-1].body["messages"][-1]["content"])
    assert found.queries == (question, "叶子证书 轮换")
    assert _sources(found)[0] == "c.md"
    assert set(found.hits[0].routes) == {"sparse_vector#2"}
    assert "Chinese and English" in prompt
    assert question in prompt


async def test_without_a_model_the_question_stays(shop: Scene) -> None:
    found = await _find(shop, "pump", rewrite=True)
    assert found.queries == ("pump",)
    assert found.hits
    assert "not rephrased" in found.warnings[0]
