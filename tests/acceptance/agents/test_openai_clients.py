"""Clients of others talk to agents as they talk to any model."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest

from acceptance.agents.server import Server, prepare, serving
from kosmos.app import open_app
from kosmos.config import load_settings
from kosmos.doubles.model_server import ModelServer, Reply, ToolCall
from kosmos.tasks.folders import Choice, add_paths
from kosmos.workers import working_beside

TEXT = "# Pump\n\nThe blue pump must be oiled every 40 days.\n"


def _decide(body: dict[str, Any]) -> Reply:
    if body.get("tools") and body["messages"][-1]["role"] != "tool":
        return Reply(tool_calls=(ToolCall("search", {"query": "pump oiled"}),))
    return Reply(content="Every 40 days [1]. Built in Norway [88].")


def official(server: Server, key: str | None = None) -> openai.AsyncOpenAI:
    """The client of OpenAI."""
    http = openai.DefaultAsyncHttpxClient(trust_env=False)
    return openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key=key or server.token, http_client=http)


async def _fill(home: Path, docs: Path) -> None:
    settings = load_settings({"KOSMOS_HOME": str(home)})
    async with open_app(settings) as app, working_beside(app, at_least=1):
        who = await app.local_user()
        await add_paths(app.bench, who, "default", [docs], choice=Choice((), ()), on_step=lambda *_: None)


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    """A server with a document, a model and an agent called `teller`."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "pump.md").write_text(TEXT)
    await _fill(tmp_path / "home", tmp_path / "docs")
    async with ModelServer(_decide) as double, serving(tmp_path / "home") as made:
        async with made.client() as http:
            await prepare(http, double, allowed_tools=["search"])
        yield made


TALK: list[Any] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "Hello, pump."}]},
    {"role": "assistant", "content": "Hello."},
    {"role": "user", "content": "How often is it oiled?"},
]


async def test_the_official_client(server: Server) -> None:
    async with official(server) as client:
        models = [model.id async for model in await client.models.list()]
        assert {"teller", "knowledge assistant"} <= set(models)
        answer = await client.chat.completions.create(model="teller", messages=TALK, temperature=0.1)
        text = answer.choices[0].message.content or ""
        assert text.startswith("Every 40 days [1]. Built in Norway.")
        assert "Sources:\n[1] " in text
        citations = (answer.model_extra or {})["citations"]
        assert citations[0]["quote"] == "The blue pump must be oiled every 40 days."
        assert answer.usage is not None
        assert answer.usage.total_tokens > 0


async def test_the_official_client_streams(server: Server) -> None:
    async with official(server) as client:
        stream = await client.chat.completions.create(
            model="teller", messages=TALK, stream=True, stream_options={"include_usage": True}
        )
        chunks = [chunk async for chunk in stream]
    streamed = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert streamed.strip().startswith("Every 40 days [1]. Built in Norway.")
    assert "Sources:\n[1] " in streamed
    cited = [found for chunk in chunks if (found := (chunk.model_extra or {}).get("citations"))]
    assert cited[0][0]["quote"] == "The blue pump must be oiled every 40 days."
    assert chunks[-1].usage is not None
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"


async def test_what_it_cannot_do_is_said_in_words_that_clients_read(server: Server) -> None:
    asked: list[Any] = [{"role": "user", "content": "?"}]
    tool: Any = {"type": "function", "function": {"name": "f", "parameters": {}}}
    image: Any = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]}]
    async with official(server) as client:
        create = client.chat.completions.create
        with pytest.raises(openai.NotFoundError, match="There is no agent 'nobody'"):
            await create(model="nobody", messages=asked)
        with pytest.raises(openai.UnprocessableEntityError, match="their own tools"):
            await create(model="teller", messages=asked, tools=[tool])
        with pytest.raises(openai.UnprocessableEntityError, match="Only text"):
            await create(model="teller", messages=image)
    async with official(server, "sk-wrong") as stranger:
        with pytest.raises(openai.AuthenticationError):
            await stranger.models.list()


async def test_the_client_of_hugging_face(server: Server) -> None:
    hub = pytest.importorskip("huggingface_hub")
    client = hub.AsyncInferenceClient(base_url=f"{server.url}/v1", api_key=server.token)
    asked = [{"role": "user", "content": "How often is it oiled?"}]
    answer = await client.chat_completion(model="teller", messages=asked)
    assert answer.choices[0].message.content.startswith("Every 40 days [1].")
    assert answer.usage.total_tokens > 0
    stream = await client.chat_completion(model="teller", messages=asked, stream=True)
    text = "".join([chunk.choices[0].delta.content or "" async for chunk in stream])
    assert text.startswith("Every 40 days [1].")


async def test_plain_http_needs_no_footnotes(server: Server) -> None:
    async with server.client() as http:
        body = {
            "model": "teller",
            "messages": [{"role": "user", "content": "How often?"}],
            "footnotes": False,
        }
        answer: httpx2.Response = await http.post("/v1/chat/completions", json=body)
        message = answer.json()["choices"][0]["message"]
        assert message["content"] == "Every 40 days [1]. Built in Norway."
        assert answer.json()["citations"]
