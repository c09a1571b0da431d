"""Streamed inference over real HTTP: what is said, thought and called, and every way of failing."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from kosmos.domain.credentials import Credential, CredentialType
from kosmos.doubles.model_server import ModelServer, Reply, ToolCall, fingerprint
from kosmos.errors import (
    AllProvidersFailed,
    NoCredential,
    ProviderBusy,
    ProviderError,
    ProviderRejected,
    ProviderUnavailable,
)
from kosmos.llm.inference import Patience, infer
from kosmos.llm.streaming import Inquiry, Model, Turn
from kosmos.llm.thoughts import Piece, Retracted, Text, Thought
from kosmos.net import Policy, guarded_transport

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ASKED = Inquiry([{"role": "user", "content": "泵多久加一次油？"}])
Items = list[Piece | Turn]


def model(server: ModelServer, name: str = "mine", **options: Any) -> Model:
    credential = Credential(
        id=name,
        owner_id=None,
        name=name,
        type=CredentialType.LLM,
        base_url=server.base_url,
        model="scripted",
        options=options,
        is_default=False,
        has_key=True,
        key_id=None,
        created_at=NOW,
        updated_at=NOW,
    )
    return Model(credential, "sk-secret")


async def collect(models: Sequence[Model], inquiry: Inquiry = ASKED, **patience: Any) -> Items:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    return [piece async for piece in infer(models, inquiry, Patience(sleep=sleep, **patience))]


def turn_of(items: Items) -> Turn:
    assert isinstance(items[-1], Turn)
    return items[-1]


async def test_a_text_comes_in_pieces() -> None:
    async with ModelServer([Reply(content="每四十天加一次油。" * 5)]) as server:
        items = await collect([model(server)])
    said = [piece.text for piece in items if isinstance(piece, Text)]
    assert len(said) > 3
    assert "".join(said) == turn_of(items).text == "每四十天加一次油。" * 5
    assert turn_of(items).spent.output_tokens > 0
    assert not turn_of(items).estimated
    assert server.requests[0].headers["authorization"] == fingerprint("Bearer sk-secret")
    assert server.requests[0].body["stream_options"] == {"include_usage": True}


@pytest.mark.parametrize(
    "reply", [Reply(content="<think>Let me see.</think>Yes."), Reply(reasoning="Let me see.", content="Yes.")]
)
async def test_both_ways_of_thinking_are_understood(reply: Reply) -> None:
    async with ModelServer([reply]) as server:
        items = await collect([model(server)])
    thought = "".join(piece.text for piece in items if isinstance(piece, Thought))
    assert (thought, turn_of(items).thoughts, turn_of(items).text) == ("Let me see.", "Let me see.", "Yes.")


async def test_calls_of_tools_are_put_together() -> None:
    calls = (ToolCall("search", {"query": "泵 oil " * 20}), ToolCall("read", "{broken"))
    tools = [{"type": "function", "function": {"name": "search", "parameters": {"type": "object"}}}]
    async with ModelServer([Reply(tool_calls=calls)]) as server:
        turn = turn_of(await collect([model(server)], replace(ASKED, tools=tools, tool_choice="required")))
    assert [item.call.name for item in turn.calls] == ["search", "read"]
    assert turn.calls[0].call.arguments == {"query": "泵 oil " * 20}
    assert turn.calls[1].call.arguments is None
    assert len({item.id for item in turn.calls}) == 2
    assert server.requests[0].body["tool_choice"] == "required"


async def test_a_failure_in_mid_stream_is_retracted_and_tried_again() -> None:
    script = [Reply(content="It begins well and", truncate_after=3), Reply(content="Every 40 days.")]
    async with ModelServer(script) as server:
        items = await collect([model(server)])
    at = next(at for at, piece in enumerate(items) if isinstance(piece, Retracted))
    assert any(isinstance(piece, Text) for piece in items[:at])
    assert "".join(piece.text for piece in items[at:] if isinstance(piece, Text)) == "Every 40 days."


@pytest.mark.parametrize(
    ("reply", "error", "asked"),
    [
        (Reply(status=503, repeat=True), ProviderUnavailable, 3),
        (Reply(status=429, retry_after=7, repeat=True), ProviderBusy, 3),
        (Reply(content="x", truncate_after=2, repeat=True), ProviderUnavailable, 3),
        (Reply(malformed="{not json", repeat=True), ProviderUnavailable, 3),
        (Reply(malformed='{"error": {"message": "boom"}}', repeat=True), ProviderUnavailable, 3),
        (Reply(status=401, repeat=True), ProviderRejected, 1),
        (Reply(status=400, repeat=True), ProviderRejected, 1),
    ],
)
async def test_only_what_may_pass_is_tried_again(
    reply: Reply, error: type[ProviderError], asked: int
) -> None:
    async with ModelServer([reply]) as server:
        with pytest.raises(error) as caught:
            await collect([model(server)])
    assert len(server.requests) == asked
    assert "sk-secret" not in str(caught.value)


async def test_the_provider_says_how_long_to_wait() -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    script = [Reply(status=429, retry_after=7), Reply(status=500), Reply(content="Yes.")]
    async with ModelServer(script) as server:
        items = [piece async for piece in infer([model(server)], ASKED, Patience(sleep=sleep))]
    assert turn_of(items).text == "Yes."
    assert waits[0] == 7
    assert 0.5 < waits[1] < 1.5


async def test_silence_is_a_failure() -> None:
    async with ModelServer(
        [Reply(content="It stalls" * 9, truncate_after=3, hang=True, repeat=True)]
    ) as server:
        with pytest.raises(ProviderUnavailable, match="in time"):
            await collect([model(server)], seconds=0.2, tries=1)


async def test_the_next_model_is_asked() -> None:
    async with ModelServer([Reply(status=401)]) as bad, ModelServer([Reply(content="Yes.")]) as good:
        assert turn_of(await collect([model(bad), model(good, "other")])).text == "Yes."
        with pytest.raises(AllProvidersFailed, match=r"mine.*other"):
            dead = Reply(status=401, repeat=True)
            async with ModelServer([dead]) as one, ModelServer([dead]) as two:
                await collect([model(one), model(two, "other")])


async def test_without_any_model() -> None:
    with pytest.raises(NoCredential):
        await collect([])


async def test_tokens_that_nobody_counted_are_estimated() -> None:
    async with ModelServer([Reply(content="每四十天加一次油。")]) as server:
        turn = turn_of(await collect([model(server, stream_usage=False)]))
    assert turn.estimated
    assert turn.spent.output_tokens == 9
    assert turn.spent.prompt_tokens >= 8
    assert "stream_options" not in server.requests[0].body


async def test_options_that_the_client_does_not_know_are_sent() -> None:
    async with ModelServer() as server:
        await collect(
            [model(server, top_k=20, max_context_tokens=9)], replace(ASKED, options={"temperature": 0})
        )
    body = server.requests[0].body
    assert (body["top_k"], body["temperature"]) == (20, 0)
    assert "max_context_tokens" not in body


async def test_a_guarded_way_refuses_private_addresses() -> None:
    async with ModelServer() as server:
        guarded = replace(model(server), transport=guarded_transport(Policy()))
        with pytest.raises(ProviderRejected):
            await collect([guarded])
        assert server.requests == []
        port = server.base_url.split(":")[2].split("/")[0]
        open_way = guarded_transport(Policy(allow_hosts=(f"127.0.0.1:{port}",)))
        assert turn_of(await collect([replace(model(server), transport=open_way)])).text


async def test_leaving_early_closes_the_connection() -> None:
    async with ModelServer([Reply(content="word " * 200, pace=0.01)]) as server:
        stream = infer([model(server)], ASKED)
        async for piece in stream:
            assert isinstance(piece, Text)
            break
        await stream.aclose()
        await server.until_active(0)
        await asyncio.sleep(0)
