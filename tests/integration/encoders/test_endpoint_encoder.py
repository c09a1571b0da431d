"""Vectors from an endpoint: batched, tried again, checked."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from kosmos.domain.credentials import Credential, CredentialType
from kosmos.domain.jobs import Spent
from kosmos.doubles.encoders import embed
from kosmos.doubles.model_server import ModelServer, Reply, fingerprint
from kosmos.encoders.endpoint import DELAYS, EndpointEncoder, endpoint_name
from kosmos.encoders.spending import spending_told
from kosmos.errors import ProviderBusy, ProviderError, ProviderRejected, ProviderUnavailable

NOW = datetime(2026, 1, 2, tzinfo=UTC)


class Waits:
    """Sleeps no time at all and remembers how long it should have been."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def credential_for(base_url: str, options: Mapping[str, Any] | None = None) -> Credential:
    """An EMBEDDING credential of the instance."""
    return Credential(
        id="c1",
        owner_id=None,
        name="vectors",
        type=CredentialType.EMBEDDING,
        base_url=base_url,
        model="embed-1",
        options=options or {},
        is_default=False,
        has_key=False,
        key_id=None,
        created_at=NOW,
        updated_at=NOW,
    )


def encoder_for(server: ModelServer, waits: Waits | None = None, **options: Any) -> EndpointEncoder:
    credential = credential_for(server.base_url, options)
    return EndpointEncoder(credential, "sk-1", seconds=5, sleep=waits or Waits())


def fault(**fields: Any) -> Reply:
    return Reply(endpoint="embeddings", **fields)


async def test_rows_stand_where_their_texts_do() -> None:
    async with ModelServer(dimension=16) as server:
        encoder = encoder_for(server, batch_texts=3)
        assert encoder.dimension == 0
        texts = ["b", "a", "", "b", "油泵", "a", "c", "d"]
        found = await encoder.encode_passages(texts)
        nothing = await encoder.encode_passages([])
    assert found.shape == (8, 16)
    assert found.dtype == np.float32
    for text, row in zip(texts, found, strict=True):
        np.testing.assert_allclose(row, embed(text or " ", 16), atol=1e-6)
    sent = [request.body["input"] for request in server.requests]
    assert sorted(text for batch in sent for text in batch) == sorted({"b", "a", " ", "油泵", "c", "d"})
    assert sorted(map(len, sent)) == [3, 3]
    assert server.requests[0].headers["authorization"] == fingerprint("Bearer sk-1")
    assert encoder.dimension == 16
    assert nothing.shape == (0, 16)


async def test_options_of_the_credential() -> None:
    options: Any = {
        "dimensions": 4,
        "query_prompt": "Q: ",
        "passage_prompt": "P: ",
        "user": "me",
        "prompt_price": 2.0,
    }
    spent: list[Spent] = []
    async with ModelServer() as server:
        encoder = encoder_for(server, **options)
        assert encoder.dimension == 4
        with spending_told(spent.append):
            await encoder.encode_queries(["where?"])
            await encoder.encode_passages(["here" * 10])
        await encoder.encode_passages(["nobody listens"])
    bodies = [request.body for request in server.requests]
    assert bodies[0]["input"] == ["Q: where?"]
    assert bodies[1]["input"] == ["P: " + "here" * 10]
    assert {key for body in bodies for key in body} == {
        *("input", "model", "dimensions", "user", "encoding_format"),
    }
    assert [item.prompt_tokens for item in spent] == [2, 10]
    assert spent[1].cost == pytest.approx(2e-5)


async def test_large_texts_are_cut_and_batches_bounded() -> None:
    async with ModelServer() as server:
        found = await encoder_for(server).encode_passages([f"{number}" * 60_000 for number in range(6)])
    assert found.shape == (6, 384)
    sizes = [[len(text) for text in request.body["input"]] for request in server.requests]
    assert sorted(map(len, sizes)) == [2, 4]
    assert max(size for batch in sizes for size in batch) == 24_000


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (fault(vectors=1), "gave 1 vectors for 2 texts"),
        (fault(vectors=3), "gave 3 vectors for 2 texts"),
        (fault(not_a_number=True), "NaN"),
        (fault(dimension=7), "vectors of 7 numbers, not 384 as before"),
        (
            fault(malformed='{"data": [{"index": 0, "embedding": [1]}, {"index": 1, "embedding": [1, 2]}]}'),
            "lengths",
        ),
        (
            fault(malformed='{"data": [{"index": 0, "embedding": ["x"]}, {"index": 1, "embedding": ["y"]}]}'),
            "numbers",
        ),
    ],
)
async def test_bad_vectors_are_refused_at_once(reply: Reply, message: str) -> None:
    waits = Waits()
    async with ModelServer([fault(), reply]) as server:
        encoder = encoder_for(server, waits)
        if "malformed" not in str(reply) or reply.malformed is None:
            await encoder.encode_queries(["the first answer tells the dimension"])
        else:
            server.script.choose("embeddings", {"input": "x"})
        with pytest.raises(ProviderRejected, match=message) as caught:
            await encoder.encode_passages(["a", "b"])
    assert "kosmos credentials test vectors" in (caught.value.remedy or "")
    assert waits.seconds == []


async def test_vectors_that_come_in_another_order() -> None:
    swapped = '{"data": [{"index": 1, "embedding": [0, 1]}, {"index": 0, "embedding": [1, 0]}]}'
    uncounted = '{"data": [{"index": 0, "embedding": [0, 2]}, {"index": 0, "embedding": [2, 0]}]}'
    wrong = '{"data": [{"index": 5, "embedding": [0, 1]}, {"index": 0, "embedding": [1, 0]}]}'
    script = [fault(malformed=swapped), fault(malformed=uncounted), fault(malformed=wrong, repeat=True)]
    async with ModelServer(script) as server:
        encoder = encoder_for(server)
        assert (await encoder.encode_passages(["a", "b"])).tolist() == [[1, 0], [0, 1]]
        assert (await encoder.encode_passages(["a", "b"])).tolist() == [[0, 1], [1, 0]]
        with pytest.raises(ProviderUnavailable, match="cannot be read"):
            await encoder.encode_passages(["a", "b"])


async def test_an_endpoint_that_stumbles_is_asked_again() -> None:
    waits = Waits()
    script = [fault(status=503), fault(status=429, retry_after=3), fault(truncate_after=0)]
    async with ModelServer(script) as server:
        found = await encoder_for(server, waits).encode_passages(["a"])
    assert found.shape == (1, 384)
    assert waits.seconds == [DELAYS[0], 3.0, DELAYS[2]]


@pytest.mark.parametrize(
    ("reply", "kind", "times"),
    [
        (fault(status=503, repeat=True), ProviderUnavailable, len(DELAYS) + 1),
        (fault(status=429, retry_after=600, repeat=True), ProviderBusy, 1),
        (fault(status=401, repeat=True), ProviderRejected, 1),
        (fault(status=400, repeat=True), ProviderRejected, 1),
    ],
)
async def test_but_not_for_ever(reply: Reply, kind: type[ProviderError], times: int) -> None:
    async with ModelServer([reply]) as server:
        with pytest.raises(kind):
            await encoder_for(server).encode_passages(["a"])
        assert len(server.requests) == times


async def test_no_more_at_once_than_allowed_and_cancelling_ends_all() -> None:
    async with ModelServer([fault(delay=0.05, repeat=True)]) as server:
        encoder = encoder_for(server, batch_texts=1, max_concurrency=3)
        await encoder.encode_passages([str(number) for number in range(9)])
        assert server.peak == 3
        task = asyncio.create_task(encoder.encode_passages([str(number) for number in range(100)]))
        await server.until_active(3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await server.until_active(0)
        assert len(server.requests) < 30


async def test_names_tell_endpoints_apart() -> None:
    one, other = credential_for("http://a/v1"), credential_for("http://b/v1")
    assert endpoint_name(one).startswith("embed-1@")
    named = {one.base_url: endpoint_name(one), other.base_url: endpoint_name(other)}
    named["short"] = endpoint_name(credential_for("http://a/v1", {"dimensions": 3}))
    named["introduced"] = endpoint_name(credential_for("http://a/v1", {"passage_prompt": "P: "}))
    assert len(set(named.values())) == 4
    assert endpoint_name(credential_for("http://a/v1", {"query_prompt": "Q: "})) == endpoint_name(one)
