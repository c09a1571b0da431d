"""Signed requests to one bucket, tried again where that can help."""

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import quote

import httpx2

from kosmos.blobs.listing import LIMIT, parse_error_code, unintelligible
from kosmos.blobs.location import Location
from kosmos.blobs.refusals import refusal, unreachable
from kosmos.blobs.signing import EMPTY_SHA256, AccessKeys, Signer
from kosmos.domain.clock import Clock, system_clock

_ATTEMPTS = 3
_ERROR_LIMIT = 64 * 1024
_TIMEOUT = httpx2.Timeout(60.0, connect=10.0)


@dataclass(frozen=True)
class Body:
    """Content to send, which every attempt reads from its beginning."""

    sha256: str
    size: int
    chunks: Callable[[], AsyncGenerator[bytes, None]]


@dataclass(frozen=True)
class Call:
    """One request to the bucket, or to an object in it."""

    method: str
    name: str = ""
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Body | None = None
    also: frozenset[int] = frozenset()  # statuses besides 2xx that the caller knows how to take


class Bucket:
    """A bucket addressed by path, at any endpoint."""

    def __init__(
        self,
        location: Location,
        keys: AccessKeys,
        *,
        clock: Clock = system_clock,
        backoff: float = 0.2,
        timeout: httpx2.Timeout = _TIMEOUT,
    ) -> None:
        self.location = location
        self._signer = Signer(keys, location.region)
        self._clock = clock
        self._backoff = backoff
        # Objects are compared by digest, so they must come as they were stored.
        headers = {"User-Agent": "kosmos", "Accept-Encoding": "identity"}
        self._client = httpx2.AsyncClient(headers=headers, timeout=timeout)

    @asynccontextmanager
    async def call(self, call: Call) -> AsyncIterator[httpx2.Response]:
        """The answer, its body not yet read; anything unexpected is raised as one of our errors."""
        response = await self._open(call)
        try:
            if not (response.is_success or response.status_code in call.also):
                code = parse_error_code(await _beginning(response))
                raise refusal(response.status_code, code, self.location)
            yield response
        except httpx2.RequestError as error:
            raise unreachable(error, self.location) from error
        finally:
            await response.aclose()

    async def fetch(self, call: Call) -> bytes:
        """The body of the answer, which must not be larger than a list can be."""
        body = bytearray()
        async with self.call(call) as response:
            async for chunk in response.aiter_raw():
                body += chunk
                if len(body) > LIMIT:
                    raise unintelligible("the answer is too large")
        return bytes(body)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _open(self, call: Call) -> httpx2.Response:
        attempt = 1
        while True:
            try:
                response = await self._client.send(self._request(call), stream=True)
            except httpx2.RequestError as error:
                if attempt == _ATTEMPTS or not _may_pass(error):
                    raise unreachable(error, self.location) from error
            else:
                status = response.status_code
                if attempt == _ATTEMPTS or status in call.also or not _is_passing(status):
                    return response
                await response.aclose()
            # Spread out, so that many workers do not come back at the same moment.
            await asyncio.sleep(self._backoff * 2**attempt * random.uniform(0.5, 1))  # noqa: S311
            attempt += 1

    def _request(self, call: Call) -> httpx2.Request:
        path = quote(f"/{self.location.bucket}/{call.name}".rstrip("/"), safe="/-_.~")
        query = "&".join(f"{_escape(name)}={_escape(call.query[name])}" for name in sorted(call.query))
        url = f"{self.location.endpoint}{path}" + (f"?{query}" if query else "")
        sent = dict(call.headers)
        if call.body is not None:
            sent["Content-Length"] = str(call.body.size)
        content = None if call.body is None else call.body.chunks()
        request = self._client.build_request(call.method, url, headers=sent, content=content)
        # What is signed is what the client will really send.
        request.headers.update(
            self._signer.headers(
                call.method,
                request.url.raw_path.decode(),
                signed={"host": request.headers["host"]},
                payload_sha256=EMPTY_SHA256 if call.body is None else call.body.sha256,
                at=self._clock(),
            )
        )
        return request


def _escape(text: str) -> str:
    return quote(text, safe="-_.~")


def _is_passing(status: int) -> bool:
    return status in {408, 409, 429} or (status >= 500 and status != 501)


def _may_pass(error: httpx2.RequestError) -> bool:
    """All our requests may be repeated; after a silence, though, the caller has waited long enough."""
    return isinstance(error, httpx2.ConnectTimeout) or not isinstance(error, httpx2.TimeoutException)


async def _beginning(response: httpx2.Response) -> bytes:
    body = bytearray()
    async for chunk in response.aiter_raw():
        body += chunk
        if len(body) >= _ERROR_LIMIT:
            break
    return bytes(body[:_ERROR_LIMIT])
