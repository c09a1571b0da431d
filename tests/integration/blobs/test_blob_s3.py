"""What only S3 can do wrong: keys, buckets, pages, silence, and answers made by an enemy."""

import asyncio
import hashlib
import os
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import httpx2
import pytest
from moto.iam.models import iam_backends
from moto.server import ThreadedMotoServer

from kosmos.blobs.bucket import Bucket
from kosmos.blobs.location import Location
from kosmos.blobs.s3 import S3Blobs
from kosmos.blobs.signing import AccessKeys
from kosmos.errors import ConfigError, Conflict, DataLost, EngineUnavailable

KEYS = AccessKeys("a", "b")
KEY = hashlib.sha256(b"content").hexdigest()
ALLOW = '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}'
Answer = Callable[[str, int], bytes]  # the request's first line, and how many came before it


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def bucket(endpoint: str) -> str:
    name = f"bucket-{uuid.uuid4().hex}"
    httpx2.put(f"{endpoint}/{name}", trust_env=False).raise_for_status()
    return name


@pytest.fixture
def strict_keys(endpoint: str, bucket: str) -> Iterator[AccessKeys]:
    """The keys of a user, from now on required: the server checks every signature with its own code."""
    iam, user = iam_backends["123456789012"]["aws"], uuid.uuid4().hex
    iam.create_user("us-east-1", user)
    iam.put_user_policy(user, "all", ALLOW)
    key = iam.create_access_key(user)
    httpx2.post(f"{endpoint}/moto-api/reset-auth", content=b"0", trust_env=False).raise_for_status()
    yield AccessKeys(key.access_key_id, key.secret_access_key)
    httpx2.post(f"{endpoint}/moto-api/reset-auth", content=b"inf", trust_env=False).raise_for_status()


@asynccontextmanager
async def _opened(
    location: Location, keys: AccessKeys = KEYS, *, page_size: int = 1000, patience: float = 30
) -> AsyncIterator[S3Blobs]:
    bucket = Bucket(location, keys, backoff=0.001, timeout=httpx2.Timeout(patience))
    blobs = S3Blobs(bucket, page_size=page_size)
    yield blobs
    await blobs.close()


@asynccontextmanager
async def _scripted(answer: Answer, *, patience: float = 30) -> AsyncIterator[tuple[S3Blobs, list[str]]]:
    """Blobs on a server that answers as told, and the requests it received."""
    seen: list[str] = []

    served: list[asyncio.Future[None]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        served.append(done := asyncio.get_running_loop().create_future())
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            if "content-length: " in head:
                await reader.readexactly(int(head.partition("content-length: ")[2].split()[0]))
            seen.append(head)
            writer.write(reply := answer(head, len(seen) - 1))
            if not reply:
                await reader.read()
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
        done.set_result(None)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        async with _opened(Location("bucket", f"http://127.0.0.1:{port}"), patience=patience) as blobs:
            yield blobs, seen
        await asyncio.gather(*served)


def _http(status: int, body: bytes = b"") -> bytes:
    return f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body


async def _keys(blobs: S3Blobs) -> list[str]:
    return [key async for key in blobs.keys()]  # noqa: SIM118 - not a dictionary


@pytest.mark.parametrize("prefix", ["", "plain/", "two words/知识+~(x)/"])
async def test_signatures_are_accepted(
    endpoint: str, bucket: str, strict_keys: AccessKeys, prefix: str
) -> None:
    place = Location(bucket, endpoint, "us-east-1", prefix)
    async with _opened(place, strict_keys, page_size=1) as blobs:
        await blobs.check()
        keys = {await blobs.put(data) for data in (b"", b"content", os.urandom(400_000))}
        assert set(await _keys(blobs)) == keys
        assert await blobs.read(KEY) == b"content"
        assert await blobs.exists(KEY)
        await blobs.remove(KEY)
        assert not await blobs.exists(KEY)


async def test_wrong_keys(endpoint: str, bucket: str, strict_keys: AccessKeys) -> None:
    for keys in (AccessKeys("unknown", "b"), AccessKeys(strict_keys.access_key, "wrong")):
        async with _opened(Location(bucket, endpoint), keys) as blobs:
            for attempt in (blobs.check(), blobs.put(b"content"), blobs.read(KEY), _keys(blobs)):
                with pytest.raises(ConfigError) as caught:
                    await attempt
                assert bucket in caught.value.message
                assert "access key" in (caught.value.remedy or "")


async def test_a_missing_bucket(endpoint: str) -> None:
    async with _opened(Location("no-such-bucket", endpoint)) as blobs:
        reading = (blobs.read(KEY), blobs.exists(KEY), _keys(blobs))
        for attempt in (blobs.check(), blobs.put(b"content"), blobs.remove(KEY), *reading):
            with pytest.raises(ConfigError, match="no-such-bucket") as caught:
                await attempt
            assert "Create the bucket" in (caught.value.remedy or "")


async def test_pages_and_neighbours(endpoint: str, bucket: str) -> None:
    async with (
        _opened(Location(bucket, endpoint, prefix="one/"), page_size=3) as blobs,
        _opened(Location(bucket, endpoint, prefix="other/")) as other,
        _opened(Location(bucket, endpoint)) as above,
    ):
        await other.put(b"elsewhere")
        stored = await asyncio.gather(*(blobs.put(bytes([number])) for number in range(10)))
        assert await _keys(blobs) == sorted(stored)
        assert await _keys(above) == []


async def test_nobody_is_there() -> None:
    async with _opened(Location("bucket", "http://127.0.0.1:1")) as blobs:
        for attempt in (blobs.check(), blobs.put(b"x"), blobs.read(KEY), blobs.exists(KEY), _keys(blobs)):
            with pytest.raises(EngineUnavailable, match=r"127\.0\.0\.1:1 does not answer") as caught:
                await attempt
            assert caught.value.retryable


async def test_passing_trouble_is_waited_out() -> None:
    async with _scripted(lambda _, number: _http(503 if number < 2 else 200, b"content")) as (blobs, seen):
        assert await blobs.read(KEY) == b"content"
    assert len(seen) == 3


@pytest.mark.parametrize("reply", [_http(500), _http(503), b"nonsense", b"HTTP/1.1 200 OK\r\nConte"])
async def test_lasting_trouble_is_reported_after_three_attempts(reply: bytes) -> None:
    async with _scripted(lambda *_: reply) as (blobs, seen):
        with pytest.raises(EngineUnavailable) as caught:
            await blobs.read(KEY)
    assert len(seen) == 3
    assert caught.value.remedy


async def test_silence_is_not_waited_out_twice() -> None:
    async with _scripted(lambda *_: b"", patience=0.3) as (blobs, seen):
        with pytest.raises(EngineUnavailable):
            await blobs.read(KEY)
    assert len(seen) == 1


async def test_an_answer_that_breaks_off() -> None:
    broken = b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\ncon"
    async with _scripted(lambda *_: broken) as (blobs, _):
        with pytest.raises(EngineUnavailable):
            await blobs.read(KEY)


async def test_content_that_is_not_what_was_asked_for() -> None:
    async with _scripted(lambda *_: _http(200, b"another")) as (blobs, _):
        with pytest.raises(DataLost):
            await blobs.read(KEY)


@pytest.mark.parametrize("status", [400, 501])
async def test_services_without_conditional_writes(status: int) -> None:
    def answer(head: str, _: int) -> bytes:
        return _http(404 if head.startswith("head") else status if "if-none-match: *" in head else 200)

    async with _scripted(answer) as (blobs, seen):
        assert await blobs.put(b"content") == KEY
        await blobs.put(b"content")
    assert [head.split()[0] for head in seen] == ["head", "put", "put", "head", "put"]


async def test_somebody_else_was_faster() -> None:
    def answer(head: str, _: int) -> bytes:
        return _http(404 if head.startswith("head") else 412)

    async with _scripted(answer) as (blobs, _):
        assert await blobs.put(b"content") == KEY


async def test_a_file_that_changes_while_it_is_sent(tmp_path: Path) -> None:
    source = tmp_path / "source"
    for change in (b"CONTENT", b"con", b"content" * 100_000):
        source.write_bytes(b"content")

        def answer(head: str, _: int, change: bytes = change) -> bytes:
            source.write_bytes(change)
            return _http(404)

        async with _scripted(answer) as (blobs, seen):
            with pytest.raises(Conflict):
                await blobs.put_file(source)
        assert [head.split()[0] for head in seen] == ["head"]


async def test_hostile_lists() -> None:
    circle = "<IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>"
    bodies = (
        f"<ListBucketResult>{circle}</ListBucketResult>".encode(),
        b'<!DOCTYPE x [<!ENTITY a "b">]><ListBucketResult/>',
        b" " * (10 * 1024 * 1024 + 1),
    )
    for reply in (_http(200, body) for body in bodies):

        def answer(head: str, _: int, reply: bytes = reply) -> bytes:
            return reply

        async with _scripted(answer) as (blobs, seen):
            with pytest.raises(ConfigError, match="does not answer like S3"):
                await _keys(blobs)
        assert len(seen) <= 2
