import asyncio
import json
import math
import os
import signal
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import openai
import pytest
from openai import AsyncOpenAI

from kosmos.doubles import answers, guest
from kosmos.doubles.model_server import ModelServer, Reply, serve_forever
from kosmos.errors import Conflict, InvalidInput


@asynccontextmanager
async def serving(script: Sequence[Reply]) -> AsyncIterator[tuple[ModelServer, AsyncOpenAI]]:
    async with ModelServer(script) as server, connected(server.base_url) as client:
        yield server, client


def connected(base_url: str) -> AsyncOpenAI:
    return AsyncOpenAI(base_url=base_url, api_key="k", max_retries=0, timeout=5)


async def say(client: AsyncOpenAI, **options: Any) -> Any:
    return await client.chat.completions.create(
        model="m", messages=[{"role": "user", "content": "x"}], **options
    )


async def test_429_says_when_to_come_back() -> None:
    async with serving([Reply(status=429, retry_after=1.5, content="Slow down.")]) as (_, client):
        with pytest.raises(openai.RateLimitError, match=r"Slow down\.") as caught:
            await say(client)
        assert (await say(client)).choices[0].finish_reason == "stop"

    assert caught.value.response.headers["retry-after"] == "1.5"
    assert caught.value.type == "rate_limit_exceeded"


async def test_errors_reach_streams_too() -> None:
    async with serving([Reply(status=500), Reply(status=401, malformed="<html>")]) as (_, client):
        with pytest.raises(openai.InternalServerError, match="Scripted error 500"):
            await say(client, stream=True)
        with pytest.raises(openai.AuthenticationError) as caught:
            await say(client, stream=True)

    assert caught.value.response.text == "<html>"


async def test_embeddings_can_fail_as_well() -> None:
    async with serving([Reply(endpoint="embeddings", status=503)]) as (_, client):
        with pytest.raises(openai.InternalServerError):
            await client.embeddings.create(model="e", input="a")
        assert (await client.embeddings.create(model="e", input="a")).data


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_hanging_request_ends_when_the_client_leaves(streamed: bool) -> None:
    async with serving([Reply(hang=True)]) as (server, client):
        with pytest.raises(openai.APITimeoutError):
            await say(client, stream=streamed, timeout=0.2)
        await server.until_active(0, within=2)
        assert (await say(client)).choices


async def test_a_hanging_request_does_not_hold_up_the_end_of_the_server() -> None:
    async with AsyncOpenAI(base_url="http://unset", api_key="k", max_retries=0) as client:
        async with ModelServer([Reply(hang=True), Reply(delay=60)]) as server:
            client.base_url = server.base_url
            asked = [asyncio.create_task(say(client)) for _ in range(2)]
            await server.until_active(2)
            began = time.monotonic()
        assert time.monotonic() - began < 1.5
        outcomes = await asyncio.gather(*asked, return_exceptions=True)

    assert {type(outcome) for outcome in outcomes} == {openai.InternalServerError}


async def test_clients_that_neither_write_nor_read_do_not_hold_it_up_either(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(guest, "GRACE_SECONDS", 0.05)
    asked = b'{"stream": true, "messages": [{"role": "user", "content": "x"}]}'
    head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % len(asked)
    async with ModelServer(default=Reply(content="x" * 30_000_000)) as server:
        address = urlsplit(server.base_url)
        writers = []
        for sent in (head, head + asked):
            _, writer = await asyncio.open_connection(address.hostname, address.port, limit=1024)
            writer.write(sent)
            writers.append(writer)
        await server.until_active(2)
    assert server.active == 0
    for writer in writers:
        writer.transport.abort()


async def test_a_hanging_request_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "HANG_SECONDS", 0.05)
    async with serving([Reply(hang=True)]) as (_, client):
        with pytest.raises(openai.InternalServerError) as caught:
            await say(client)
    assert caught.value.status_code == 504


async def test_a_delayed_reply_comes_late() -> None:
    async with serving([Reply(delay=0.2)]) as (_, client):
        began = time.monotonic()
        await say(client)
        assert time.monotonic() - began >= 0.2


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_malformed_body_is_not_json(streamed: bool) -> None:
    async with serving([Reply(malformed="<html>\nGateway</html>")]) as (_, client):
        with pytest.raises(json.JSONDecodeError):
            await read(await say(client, stream=streamed), [])


async def read(answer: Any, into: list[str]) -> None:
    """Collect what a stream says, up to where it breaks."""
    async for chunk in answer:
        (choice,) = chunk.choices
        into.append(choice.delta.content or "")


async def test_a_stream_breaks_off_in_the_middle() -> None:
    heard: list[str] = []
    async with serving([Reply(content="12345678abcdefgh--------", truncate_after=3)]) as (_, client):
        with pytest.raises(openai.APIConnectionError):
            await read(await say(client, stream=True), heard)
        await read(await say(client, stream=True), [])
    assert heard == ["", "12345678", "abcdefgh"]


async def test_a_plain_answer_breaks_off_too() -> None:
    async with serving([Reply(content="x" * 100, truncate_after=1)]) as (_, client):
        with pytest.raises(openai.APIConnectionError):
            await say(client)


async def test_a_stream_stalls_in_the_middle() -> None:
    heard: list[str] = []
    async with serving([Reply(content="12345678abcdefgh", truncate_after=2, hang=True)]) as (_, client):
        with pytest.raises(openai.APITimeoutError):
            await read(await say(client, stream=True, timeout=0.3), heard)
    assert heard == ["", "12345678"]


async def test_a_slow_stream_stops_when_the_client_leaves() -> None:
    async with serving([Reply(content="x" * 400, pace=0.05)]) as (server, client):
        async with await say(client, stream=True) as chunks:
            async for chunk in chunks:
                if chunk.choices[0].delta.content:
                    break
        await server.until_active(0, within=1)


async def test_a_script_that_raises_is_a_server_error() -> None:
    def decide(request: dict[str, Any]) -> Reply:
        raise RuntimeError("mistake in the test")

    async with ModelServer(decide) as server, connected(server.base_url) as client:
        with pytest.raises(openai.InternalServerError):
            await say(client)
    assert server.active == 0


async def test_a_server_can_be_started_again_and_keeps_its_port() -> None:
    server = ModelServer([Reply(content="1"), Reply(content="2")])
    urls = []
    for expected in "12":
        async with server, connected(server.base_url) as client:
            urls.append(server.base_url)
            assert (await say(client)).choices[0].message.content == expected
    assert len(set(urls)) == 1


@pytest.mark.parametrize("port", [None, 70_000])
async def test_a_port_that_cannot_be_used_is_a_conflict(port: int | None) -> None:
    async with ModelServer() as server:
        taken = int(server.base_url.split(":")[2].removesuffix("/v1"))
        with pytest.raises(Conflict, match="cannot be used"):
            await ModelServer(port=taken if port is None else port).__aenter__()


async def test_serving_a_file_until_told_to_stop(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_text('{"replies": [{"content": "from a file"}], "default": {"status": 503}, "dimension": 5}')
    ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    serving = asyncio.create_task(serve_forever(path, 0, on_ready=ready.set_result))
    async with connected(await ready) as client:
        assert (await say(client)).choices[0].message.content == "from a file"
        assert len((await client.embeddings.create(model="e", input="a")).data[0].embedding) == 5
        with pytest.raises(openai.InternalServerError):
            await say(client)
    os.kill(os.getpid(), signal.SIGTERM)
    await asyncio.wait_for(serving, 2)


async def test_a_bad_file_is_never_served(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_text('{"replies": [{"say": "x"}]}')
    with pytest.raises(InvalidInput, match=r"replies\[0\]\.say"):
        await serve_forever(path, 0)


@pytest.mark.parametrize("form", ["base64", "float"])
async def test_embeddings_can_be_spoiled(form: Any) -> None:
    script = [
        Reply(endpoint="embeddings", vectors=1),
        Reply(endpoint="embeddings", vectors=5, dimension=3),
        Reply(endpoint="embeddings", not_a_number=True),
    ]
    async with serving(script) as (_, client):
        few, many, spoiled, whole = [
            (await client.embeddings.create(model="e", input=["a", "b"], encoding_format=form)).data
            for _ in range(4)
        ]
    assert [len(found) for found in (few, many, spoiled, whole)] == [1, 5, 2, 2]
    assert [item.index for item in many] == [0, 1, 2, 3, 4]
    if form == "float":  # the client hands the other form over as it came
        assert {len(item.embedding) for item in many} == {3}
        assert [math.isnan(item.embedding[0]) for item in (*spoiled, *whole)] == [True, True, False, False]
        assert spoiled[0].embedding[1:] == whole[0].embedding[1:]
