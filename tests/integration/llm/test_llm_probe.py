"""The test call to a credential, over real HTTP: what works, and how each failure is named."""

import asyncio
import logging
import socket
import time
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import httpx2
import openai
import pytest

from kosmos.domain.credentials import Credential, CredentialType
from kosmos.doubles.model_server import ModelServer, Reply, fingerprint
from kosmos.doubles.requests import Endpoint
from kosmos.errors import CredentialUnusable, KosmosError, ProviderBusy, ProviderRejected, ProviderUnavailable
from kosmos.llm.client import named_errors, probe

KEY = "sk-secret-of-a-test-0123456789"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
ENDPOINTS: dict[CredentialType, Endpoint] = {
    CredentialType.SLM: "chat",
    CredentialType.LLM: "chat",
    CredentialType.VLM: "chat",
    CredentialType.EMBEDDING: "embeddings",
    CredentialType.RERANK: "rerank",
}
KINDS = (CredentialType.LLM, CredentialType.EMBEDDING, CredentialType.RERANK)


def credential(base_url: str, kind: CredentialType = CredentialType.LLM) -> Credential:
    return Credential(
        id="1",
        owner_id=None,
        name="mine",
        type=kind,
        base_url=base_url,
        model="scripted-model",
        options={},
        is_default=False,
        has_key=True,
        key_id=None,
        created_at=NOW,
        updated_at=NOW,
    )


async def failure(kind: CredentialType, *, seconds: float = 5, **reply: Any) -> KosmosError:
    """What a probe raises when the provider answers like that."""
    async with ModelServer([Reply(endpoint=ENDPOINTS[kind], **reply)]) as server:
        with pytest.raises(KosmosError) as caught:
            await probe(credential(server.base_url, kind), KEY, seconds)
    return caught.value


@pytest.mark.parametrize(
    ("kind", "path", "detail"),
    [
        (CredentialType.LLM, "/v1/chat/completions", "finished by stop"),
        (CredentialType.SLM, "/v1/chat/completions", "finished by stop"),
        (CredentialType.VLM, "/v1/chat/completions", "finished by stop"),
        (CredentialType.EMBEDDING, "/v1/embeddings", "dimension 48"),
        (CredentialType.RERANK, "/v1/rerank", "2 results"),
    ],
)
async def test_one_small_call_of_the_right_kind(kind: CredentialType, path: str, detail: str) -> None:
    async with ModelServer(dimension=48) as server:
        brought = await probe(credential(server.base_url, kind), KEY, 5)
    assert (brought.model, brought.detail) == ("scripted-model", detail)
    (request,) = server.requests
    assert (request.method, request.path) == ("POST", path)
    assert request.body["model"] == "scripted-model"
    assert request.headers["authorization"] == fingerprint(f"Bearer {KEY}")


@pytest.mark.parametrize("key", [None, ""])
async def test_a_local_server_without_a_key(key: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    async with ModelServer() as server:
        brought = await probe(credential(server.base_url), key, 5)
    assert brought.detail == "finished by stop"
    assert server.requests[0].headers["authorization"] != fingerprint(f"Bearer {KEY}")


@pytest.mark.parametrize(
    ("kind", "said", "understood"),
    [
        (CredentialType.LLM, 7, 7.0),
        (CredentialType.LLM, 0, 0.0),
        (CredentialType.LLM, None, None),
        (CredentialType.EMBEDDING, 0.25, 0.25),
        (CredentialType.EMBEDDING, None, None),
        (CredentialType.RERANK, 7, 7.0),
        (CredentialType.RERANK, None, None),
    ],
)
async def test_a_busy_provider_says_how_long(
    kind: CredentialType, said: float | None, understood: float | None
) -> None:
    error = await failure(kind, status=429, retry_after=said)
    assert isinstance(error, ProviderBusy)
    assert error.retry_after == understood
    assert error.retryable


@pytest.mark.parametrize("header", ["Wed, 21 Oct 2026 07:28:00 GMT", "soon", "nan", "inf", "-5", ""])
async def test_a_wait_that_is_no_number_of_seconds_is_not_made_up(header: str) -> None:
    request = httpx2.Request("POST", "http://127.0.0.1/v1")
    response = httpx2.Response(429, headers={"retry-after": header}, request=request)
    with pytest.raises(ProviderBusy) as caught:
        async with named_errors(credential("http://127.0.0.1/v1")):
            raise openai.RateLimitError("slow down", response=response, body=None)
    assert caught.value.retry_after is None


@pytest.mark.parametrize(
    ("kind", "status", "named", "message"),
    [
        (CredentialType.LLM, 400, ProviderRejected, "HTTP 400"),
        (CredentialType.LLM, 401, CredentialUnusable, "refused the key"),
        (CredentialType.LLM, 403, CredentialUnusable, "HTTP 403"),
        (CredentialType.LLM, 404, CredentialUnusable, "HTTP 404"),
        (CredentialType.LLM, 500, ProviderUnavailable, "HTTP 500"),
        (CredentialType.LLM, 503, ProviderUnavailable, "HTTP 503"),
        (CredentialType.EMBEDDING, 401, CredentialUnusable, "refused the key"),
        (CredentialType.EMBEDDING, 404, CredentialUnusable, "HTTP 404"),
        (CredentialType.EMBEDDING, 500, ProviderUnavailable, "HTTP 500"),
        (CredentialType.RERANK, 401, CredentialUnusable, "refused the key"),
        (CredentialType.RERANK, 404, CredentialUnusable, "HTTP 404"),
        (CredentialType.RERANK, 500, ProviderUnavailable, "HTTP 500"),
    ],
)
async def test_each_status_has_its_consequence(
    kind: CredentialType, status: int, named: type[KosmosError], message: str
) -> None:
    error = await failure(kind, status=status)
    assert type(error) is named
    assert message in error.message
    assert error.message.startswith("mine (scripted-model)")
    assert error.retryable is (status >= 500)
    assert error.remedy


@pytest.mark.parametrize("kind", KINDS)
async def test_a_provider_that_hangs_is_given_up(kind: CredentialType) -> None:
    started = time.monotonic()
    error = await failure(kind, hang=True, seconds=0.2)
    assert type(error) is ProviderUnavailable
    assert "did not answer in time" in error.message
    assert 0.2 <= time.monotonic() - started < 3


@asynccontextmanager
async def trickling() -> AsyncIterator[str]:
    """A server whose answer does not end for a long time, but never pauses either."""
    left = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9999\r\n\r\n")
        with suppress(ConnectionError):
            for _ in range(100):
                writer.write(b" ")
                await writer.drain()
                await asyncio.sleep(0.05)
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
        left.set()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        yield f"http://{host}:{port}/v1"
        await asyncio.wait_for(left.wait(), 10)


async def test_a_provider_that_trickles_is_given_up() -> None:
    async with trickling() as base_url:
        with pytest.raises(ProviderUnavailable, match="did not answer in time"):
            await probe(credential(base_url), KEY, 0.4)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        *(
            (CredentialType.LLM, body)
            for body in ("", "<html>Hi</html>", "null", "[]", '"text"', "{}", "\x00")
        ),
        *((CredentialType.LLM, f'{{"choices": {choices}}}') for choices in ("[]", "null", "[7]", "{}")),
        *((CredentialType.EMBEDDING, body) for body in ("", "<html>Hi</html>", "{}", '{"data": []}')),
        *(
            (CredentialType.EMBEDDING, f'{{"data": {data}}}')
            for data in ("null", "[7]", '[{"embedding": 7}]')
        ),
        *((CredentialType.RERANK, body) for body in ("", "<html>Hi</html>", "[]", "{}", '"text"')),
        *((CredentialType.RERANK, f'{{"results": {results}}}') for results in ("null", "7", '"no"', "{}")),
    ],
)
async def test_an_answer_that_cannot_be_read(kind: CredentialType, body: str) -> None:
    error = await failure(kind, malformed=body)
    assert type(error) is ProviderUnavailable
    assert "cannot be read" in error.message
    assert error.remedy


async def test_an_answer_that_breaks_off() -> None:
    error = await failure(CredentialType.LLM, truncate_after=1)
    assert type(error) is ProviderUnavailable


@pytest.mark.parametrize("kind", KINDS)
async def test_nobody_listens_there(kind: CredentialType) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"
        with pytest.raises(ProviderUnavailable, match="cannot be reached") as caught:
            await probe(credential(url, kind), KEY, 5)
    assert url in caught.value.message


@pytest.mark.parametrize("url", ["http://[v1.x]/v1", "http://h\u00a0x/v1", "http://999.999.999.999/v1"])
async def test_an_address_that_the_client_cannot_use(url: str) -> None:
    with pytest.raises(ProviderRejected, match="mine"):
        await probe(credential(url), KEY, 5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("status", [200, 400, 401, 429, 500])
async def test_a_provider_that_repeats_the_key_does_not_make_us_show_it(
    kind: CredentialType, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    """A provider that fails is logged with its traceback, causes included."""
    caplog.set_level(logging.DEBUG)
    said = f'{{"error": "{KEY}", "choices": "{KEY}", "data": "{KEY}", "results": "{KEY}"}}'
    error = await failure(kind, status=status, malformed=said)
    logging.getLogger("kosmos").error("it failed", exc_info=error)
    shown = "".join(traceback.format_exception(error)) + str(error) + repr(error) + str(error.remedy)
    assert KEY not in shown + caplog.text


async def test_a_key_that_no_header_can_carry_is_not_shown() -> None:
    async with ModelServer() as server:
        with pytest.raises(ProviderUnavailable) as caught:
            await probe(credential(server.base_url), f"{KEY} ", 5)
    assert KEY not in "".join(traceback.format_exception(caught.value))


async def test_the_call_is_made_once() -> None:
    """Retrying is decided above; a client that retries by itself would hide a busy provider."""
    async with ModelServer([Reply(status=500, repeat=True)]) as server:
        with pytest.raises(ProviderUnavailable):
            await probe(replace(credential(server.base_url), name="other"), KEY, 5)
    assert len(server.requests) == 1
