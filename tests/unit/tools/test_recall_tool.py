"""The recall tool: its parameters on the wire, what it reads back, the cache of tools."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from kosmos.errors import ProviderRejected, ProviderUnavailable
from kosmos.tools.recall import (
    RECALL_TOOL_CACHE_SIZE,
    RecallTool,
    RecallToolCache,
    Recollection,
    recall_over_http,
)

CHUNK = {
    "id": "c1",
    "content": "Oil it.",
    "document_id": "d1",
    "document_keyword": "pump.md",
    "positions": [[2, 0, 0, 3, 4]],
    "similarity": 0.5,
}


class Wire:
    """What was sent, and what comes back."""

    def __init__(self, status: int = 200, answer: Any = None) -> None:
        self.status, self.answer = status, answer
        self.sent: list[tuple[str, Mapping[str, str], Mapping[str, Any]]] = []

    async def post(self, url: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> tuple[int, Any]:
        self.sent.append((url, headers, body))
        return self.status, self.answer


async def test_every_parameter_is_sent_and_chunks_come_back() -> None:
    wire = Wire(answer={"code": 0, "data": {"chunks": [CHUNK]}})
    tool = RecallTool(
        recall_over_http(wire.post),
        api_url="https://r.example/api/v1/retrieval",
        index_names=("s1",),
        doc_ids=("d1",),
        top_n=7,
        similarity_threshold=0.4,
        vector_similarity_weight=0.9,
        use_rerank=True,
        api_key="k",
    )
    (found,) = await tool("how?")
    ((url, headers, body),) = wire.sent
    assert (url, headers) == ("https://r.example/api/v1/retrieval", {"Authorization": "Bearer k"})
    assert body == {
        "question": "how?",
        "index_names": ["s1"],
        "doc_ids": ["d1"],
        "top_n": 7,
        "similarity_threshold": 0.4,
        "vector_similarity_weight": 0.9,
        "use_rerank": True,
    }
    assert (found.similarity, found.passage.start_line, found.passage.page) == (0.5, 3, 2)
    assert found.passage.url == "https://r.example/api/v1/retrieval#c1"
    assert "'k'" not in repr(tool)


def test_the_usual_parameters() -> None:
    tool = RecallTool(recall_over_http(Wire().post))
    assert (tool.top_n, tool.similarity_threshold, tool.vector_similarity_weight) == (10, 0.2, 0.3)
    assert (tool.use_rerank, tool.doc_ids, RECALL_TOOL_CACHE_SIZE) == (False, (), 100)


@pytest.mark.parametrize(
    ("status", "answer", "error"),
    [
        (401, None, ProviderRejected),
        (503, None, ProviderUnavailable),
        (200, None, ProviderUnavailable),
        (200, {"code": 102, "message": "no"}, ProviderRejected),
        (200, {"code": 0, "data": {"chunks": [{}]}}, ProviderUnavailable),
    ],
)
async def test_failures(status: int, answer: Any, error: type[Exception]) -> None:
    tool = RecallTool(recall_over_http(Wire(status, answer).post), api_url="https://r.example")
    with pytest.raises(error):
        await tool("q")


def test_the_tool_used_longest_ago_goes_first() -> None:
    async def nothing(_: RecallTool, __: str) -> Sequence[Recollection]:
        return []

    cache = RecallToolCache(RecallTool(nothing, top_n=3), size=2)
    one = cache.get("1")
    assert (one.doc_ids, one.top_n) == (("1",), 3)
    cache.get("2")
    assert cache.get("1") is one
    cache.get("3")
    assert len(cache) == 2
    assert cache.get("1") is one
    assert cache.get("2") is not one
