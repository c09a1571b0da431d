import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletionChunk, ChatCompletionMessageFunctionToolCall

from kosmos.doubles.model_server import ModelServer, Reply, ToolCall, fingerprint

KEY = "sk-of-a-test"


@asynccontextmanager
async def serving(*args: Any, **options: Any) -> AsyncIterator[tuple[ModelServer, AsyncOpenAI]]:
    async with (
        ModelServer(*args, **options) as server,
        AsyncOpenAI(base_url=server.base_url, api_key=KEY, max_retries=0, timeout=5) as client,
    ):
        yield server, client


async def say(client: AsyncOpenAI, text: str, **options: Any) -> Any:
    return await client.chat.completions.create(
        model="m", messages=[{"role": "user", "content": text}], **options
    )


async def stream(client: AsyncOpenAI, text: str, **options: Any) -> list[ChatCompletionChunk]:
    return [chunk async for chunk in await say(client, text, stream=True, **options)]


def joined(chunks: list[ChatCompletionChunk], field: str) -> str:
    deltas = (chunk.choices[0].delta for chunk in chunks if chunk.choices)
    return "".join(getattr(delta, field, None) or "" for delta in deltas)


async def test_plain_chat() -> None:
    async with serving([Reply(content="Hello, 世界.", reasoning="They greet.")]) as (_, client):
        answer = await say(client, "Hi" * 10)
        fallback = await say(client, "Hi")

    assert answer.model == "m"
    assert answer.choices[0].message.content == "Hello, 世界."
    assert answer.choices[0].message.reasoning_content == "They greet."
    assert answer.choices[0].finish_reason == "stop"
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.usage.total_tokens) == (
        5,
        5,
        10,
    )
    assert fallback.choices[0].message.content == "This is the scripted reply of the model double."
    assert fallback.usage.prompt_tokens == 1
    assert answer.id != fallback.id


async def test_tool_calls() -> None:
    calls = (ToolCall("search", {"query": "猫"}), ToolCall("read", '{"line": '))
    async with serving([Reply(tool_calls=calls)]) as (_, client):
        choice = (await say(client, "x")).choices[0]

    sent: list[ChatCompletionMessageFunctionToolCall] = choice.message.tool_calls
    assert choice.finish_reason == "tool_calls"
    assert choice.message.content is None
    assert [(call.function.name, call.function.arguments) for call in sent] == [
        ("search", '{"query": "猫"}'),
        ("read", '{"line": '),
    ]
    assert len({call.id for call in sent}) == 2


async def test_stream_of_content_and_reasoning() -> None:
    text, thought = (
        "A sentence long enough for some chunks. 中文也行。",
        "First this, then that, then an end.",
    )
    async with serving([Reply(content=text, reasoning=thought)]) as (_, client):
        chunks = await stream(client, "x")

    assert chunks[0].choices[0].delta.role == "assistant"
    assert joined(chunks, "content") == text
    assert joined(chunks, "reasoning_content") == thought
    assert len([chunk for chunk in chunks if chunk.choices[0].delta.content]) > 3
    assert [chunk.choices[0].finish_reason for chunk in chunks][-2:] == [None, "stop"]
    assert all(chunk.usage is None for chunk in chunks)
    assert len({chunk.id for chunk in chunks}) == 1


async def test_stream_of_tool_calls_is_split_and_can_be_put_together() -> None:
    calls = (ToolCall("search", {"query": "cats and dogs"}), ToolCall("read", '{"broken": [1, 2', id="own"))
    async with serving([Reply(content="Let me look.", tool_calls=calls)]) as (_, client):
        chunks = await stream(client, "x")

    found: dict[int, dict[str, str]] = {}
    pieces = 0
    for chunk in chunks:
        for delta in chunk.choices[0].delta.tool_calls or []:
            assert delta.function is not None
            call = found.setdefault(delta.index, {"id": "", "name": "", "arguments": ""})
            call["id"] += delta.id or ""
            call["name"] += delta.function.name or ""
            call["arguments"] += delta.function.arguments or ""
            pieces += 1
    assert joined(chunks, "content") == "Let me look."
    assert found[0] == {"id": "call_1_0", "name": "search", "arguments": '{"query": "cats and dogs"}'}
    assert found[1] == {"id": "own", "name": "read", "arguments": '{"broken": [1, 2'}
    assert pieces > 6
    assert chunks[-1].choices[0].finish_reason == "tool_calls"


async def test_usage_comes_last_in_a_stream_that_asks_for_it() -> None:
    override = {"prompt_tokens": 1000, "prompt_tokens_details": {"cached_tokens": 900}}
    async with serving([Reply(content="four" * 4, usage=override, finish_reason="length")]) as (_, client):
        chunks = await stream(client, "x", stream_options={"include_usage": True})

    *rest, last = chunks
    assert last.choices == []
    assert last.usage is not None
    assert last.usage.prompt_tokens_details is not None
    assert last.usage.prompt_tokens_details.cached_tokens == 900
    assert (last.usage.prompt_tokens, last.usage.completion_tokens, last.usage.total_tokens) == (
        1000,
        4,
        1004,
    )
    assert all(chunk.usage is None for chunk in rest)
    assert rest[-1].choices[0].finish_reason == "length"


async def test_embeddings_are_unit_vectors_that_depend_on_the_text_only() -> None:
    async with serving(dimension=16) as (server, client):
        packed = await client.embeddings.create(model="e", input=["a", "b", "a"])
        plain = await client.embeddings.create(model="e", input="a", encoding_format="float")
        wide = await client.embeddings.create(model="e", input="a", dimensions=1024)
        tokens = await client.embeddings.create(model="e", input=[[1, 2], [3]])

    assert [request.body["encoding_format"] for request in server.requests[:2]] == ["base64", "float"]
    vectors = [item.embedding for item in packed.data]
    assert vectors[0] == vectors[2] == plain.data[0].embedding
    assert vectors[0] != vectors[1]
    assert [len(vector) for vector in vectors] == [16, 16, 16]
    assert [item.index for item in packed.data] == [0, 1, 2]
    for vector in (*vectors, wide.data[0].embedding):
        assert math.isclose(math.hypot(*vector), 1, abs_tol=1e-6)
    assert len(wide.data[0].embedding) == 1024
    assert len(tokens.data) == 2
    assert packed.usage.total_tokens == 1


async def test_models_are_listed() -> None:
    async with serving(models=["small", "large"]) as (_, client):
        assert [model.id for model in (await client.models.list()).data] == ["small", "large"]


async def test_rerank_goes_by_shared_words() -> None:
    documents = ["dogs", "black cats sleep", {"text": "Cats!"}, "黑猫在睡觉"]
    async with ModelServer() as server, httpx2.AsyncClient(base_url=server.base_url) as http:
        asked = {"model": "r", "query": "black cats", "documents": documents, "top_n": 3}
        results = (await http.post("/rerank", json=asked)).json()["results"]
        chinese = {"query": "黑猫", "documents": documents, "top_n": 1, "return_documents": True}
        best = (await http.post("/rerank", json=chinese)).json()["results"]

    assert results == [
        {"index": 1, "relevance_score": 1.0},
        {"index": 2, "relevance_score": 0.5},
        {"index": 0, "relevance_score": 0.0},
    ]
    assert best == [{"index": 3, "relevance_score": 1.0, "document": {"text": "黑猫在睡觉"}}]


async def test_a_callable_can_be_the_script() -> None:
    def decide(request: dict[str, Any]) -> Reply:
        return Reply(content=request["messages"][-1]["content"].upper())

    async with serving(decide) as (_, client):
        assert (await say(client, "loud")).choices[0].message.content == "LOUD"
        assert len((await client.embeddings.create(model="e", input="a")).data) == 1


async def test_requests_are_recorded_without_the_key() -> None:
    async with serving() as (server, client):
        await say(client, "remember", temperature=0.5)

    (request,) = server.requests
    assert (request.method, request.path) == ("POST", "/v1/chat/completions")
    assert request.body["messages"] == [{"role": "user", "content": "remember"}]
    assert request.body["temperature"] == 0.5
    assert request.headers["authorization"] == fingerprint(f"Bearer {KEY}")
    assert KEY not in repr(request)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/chat/completions", {"messages": []}),
        ("/chat/completions", {"messages": ["x"]}),
        ("/chat/completions", []),
        ("/embeddings", {"input": ["a", ""]}),
        ("/embeddings", {"input": "a", "dimensions": -1}),
        ("/rerank", {"query": "a"}),
        ("/rerank", {"query": "a", "documents": ["a"], "top_n": 0}),
        ("/rerank", {"query": "a", "documents": [1]}),
    ],
)
async def test_bad_requests_get_400_and_use_up_nothing(path: str, body: Any) -> None:
    async with (
        ModelServer([Reply(content="kept")]) as server,
        httpx2.AsyncClient(base_url=server.base_url) as http,
    ):
        answer = await http.post(path, json=body)
        broken = await http.post(path, content=b"{")

    assert answer.status_code == broken.status_code == 400
    assert answer.json()["error"]["type"] == "invalid_request_error"
    assert [request.body for request in server.requests] == [body, "{"]
    assert len(server.script.unused) == 1


async def test_unknown_paths_get_404() -> None:
    async with ModelServer() as server, httpx2.AsyncClient(base_url=server.base_url) as http:
        answers = [await http.post("/responses", json={}), await http.get("/embeddings")]

    assert [answer.status_code for answer in answers] == [404, 404]
    assert answers[0].json()["error"]["message"] == "There is no POST /v1/responses here."
    assert len(server.requests) == 2


async def test_many_at_once_get_each_reply_once_and_are_counted() -> None:
    script = [Reply(content=str(number), delay=0.2) for number in range(20)]
    async with serving(script) as (server, client):
        answers = await asyncio.gather(*(say(client, "x") for _ in script))
        assert server.peak == 20
        await say(client, "x")
        assert server.peak == 20

    assert sorted(int(answer.choices[0].message.content) for answer in answers) == list(range(20))
    assert server.active == 0
    assert len(server.requests) == 21
