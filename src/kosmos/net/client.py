"""Fetching: one address in, its content out, within limits; redirects are decided one by one."""

import asyncio
import hashlib
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx2

from kosmos.errors import FetchFailed
from kosmos.net.decoding import ACCEPTED, Decoder, too_large
from kosmos.net.dialing import Dial, open_tcp
from kosmos.net.guard import Guard, Target, shown
from kosmos.net.policy import Limits, Policy
from kosmos.net.redirects import check_step, headers_after, location_of
from kosmos.net.resolving import Resolver, system_resolver
from kosmos.net.transport import GuardedTransport

Sink = Callable[[bytes], Coroutine[Any, Any, None]]


@dataclass(frozen=True, slots=True)
class Validators:
    """What an earlier answer said about its version, to ask whether it still holds."""

    etag: str | None = None
    last_modified: str | None = None

    @property
    def headers(self) -> dict[str, str]:
        """The condition as request headers."""
        pairs = {"If-None-Match": self.etag, "If-Modified-Since": self.last_modified}
        return {name: value for name, value in pairs.items() if value}


@dataclass(frozen=True, slots=True)
class Fetched:
    """An answer. `url` is where it came from, `redirects` what led there; `read` whether it has a body."""

    url: str
    status: int
    headers: Mapping[str, str]
    content: bytes = b""
    size: int = 0
    wire_size: int = 0
    sha256: str = ""
    redirects: tuple[str, ...] = ()
    read: bool = True

    @property
    def media_type(self) -> str:
        """The declared type without parameters, in lower case."""
        return self.headers.get("content-type", "").split(";")[0].strip().lower()

    @property
    def location(self) -> str | None:
        """Where a redirect that was not followed leads."""
        return location_of(self.status, self.headers, self.url)

    @property
    def validators(self) -> Validators:
        """What to ask with next time."""
        return Validators(self.headers.get("etag"), self.headers.get("last-modified"))


@dataclass(frozen=True, slots=True)
class Request:
    """What to ask for, and which answers to read.

    With `types` only bodies of those media types (or of prefixes such as `text/`) are read; without
    `follow` a redirect is an answer like any other.
    """

    url: str
    headers: Mapping[str, str]
    follow: bool = True
    types: tuple[str, ...] | None = None
    method: str = "GET"
    body: bytes | None = None


class Fetcher:
    """The client of every fetch. One for the whole process: it keeps connections open between requests."""

    def __init__(
        self,
        policy: Policy | None = None,
        *,
        resolver: Resolver = system_resolver,
        dial: Dial = open_tcp,
        trusted: ssl.SSLContext | None = None,
    ) -> None:
        self.policy = policy or Policy()
        self._guard = Guard(self.policy, resolver)
        self._transport = GuardedTransport(self._guard, dial=dial, trusted=trusted)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        await self._transport.aclose()

    async def fetch(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        conditional: Validators | None = None,
        follow: bool = True,
        types: tuple[str, ...] | None = None,
    ) -> Fetched:
        """Read an answer into memory, whatever its status; FetchRefused or FetchFailed when there is none."""
        asked = {**(headers or {}), **(conditional.headers if conditional else {})}
        body = bytearray()

        async def collect(piece: bytes) -> None:
            body.extend(piece)

        fetched = await self._run(Request(url, asked, follow, types), collect)
        return replace(fetched, content=bytes(body))

    async def post(self, url: str, body: bytes, *, headers: Mapping[str, str] | None = None) -> Fetched:
        """Send a body and read the answer; where it leads elsewhere is not followed."""
        answer = bytearray()

        async def collect(piece: bytes) -> None:
            answer.extend(piece)

        request = Request(url, headers or {}, follow=False, method="POST", body=body)
        return replace(await self._run(request, collect), content=bytes(answer))

    async def download(self, url: str, path: Path, *, headers: Mapping[str, str] | None = None) -> Fetched:
        """Read an answer into a new file; nothing is left of it when the fetch fails."""
        file = await asyncio.to_thread(path.open, "xb")

        async def write(piece: bytes) -> None:
            await asyncio.to_thread(file.write, piece)

        try:
            return await self._run(Request(url, headers or {}), write)
        except BaseException:
            await asyncio.shield(asyncio.to_thread(path.unlink, missing_ok=True))
            raise
        finally:
            await asyncio.to_thread(file.close)

    async def _run(self, request: Request, sink: Sink) -> Fetched:
        limits = self.policy.limits
        try:
            async with asyncio.timeout(limits.seconds):
                return await self._walk(request, sink)
        except TimeoutError:
            raise FetchFailed(
                f"{shown(request.url)} took longer than {limits.seconds:g} s.",
                retryable=True,
                remedy="Try again later, or raise the time limit.",
            ) from None

    async def _walk(self, request: Request, sink: Sink) -> Fetched:
        target = self._guard.target(request.url)
        headers: Mapping[str, str] = {**_polite(self.policy), **request.headers}
        passed: list[str] = []
        while True:
            async with self._answer(target, headers, request) as response:
                place = _place(response, target) if request.follow else None
                if place is None:
                    fetched = await _read(response, request, sink=sink, limits=self.policy.limits)
                    return replace(fetched, url=_text(target), redirects=tuple(passed))
            passed.append(_text(target))
            if len(passed) > self.policy.limits.redirects:
                raise FetchFailed(f"{shown(request.url)} redirects too often.", remedy="Name its target.")
            following = self._guard.target(place)
            check_step(target, following, downgrades=self.policy.downgrades)
            headers, target = headers_after(headers, target, following), following

    @asynccontextmanager
    async def _answer(
        self, target: Target, headers: Mapping[str, str], asked: Request
    ) -> AsyncIterator[httpx2.Response]:
        limits = self.policy.limits
        timeouts = httpx2.Timeout(limits.seconds, connect=limits.connect_seconds).as_dict()
        request = httpx2.Request(
            asked.method, target.url, headers=headers, content=asked.body, extensions={"timeout": timeouts}
        )
        try:
            response = await self._transport.handle_async_request(request)
            try:
                _check_headers(response, limits)
                yield response
            finally:
                await response.aclose()
        except (httpx2.HTTPError, ssl.SSLError) as error:
            raise _named(error, target) from error


def _polite(policy: Policy) -> dict[str, str]:
    return {"User-Agent": policy.user_agent, "Accept": "*/*", "Accept-Encoding": ACCEPTED}


def _text(target: Target) -> str:
    return str(target.url.copy_with(fragment=None))


def _place(response: httpx2.Response, target: Target) -> str | None:
    return location_of(response.status_code, response.headers, str(target.url))


def _check_headers(response: httpx2.Response, limits: Limits) -> None:
    if sum(len(name) + len(value) + 4 for name, value in response.headers.raw) > limits.header_bytes:
        raise FetchFailed("The headers of the answer are too large.")


async def _read(response: httpx2.Response, request: Request, *, sink: Sink, limits: Limits) -> Fetched:
    """Pass the body on piece by piece, counting what comes in and what comes out."""
    fetched = Fetched(request.url, response.status_code, dict(response.headers))
    if not _wanted(fetched, request.types):
        return replace(fetched, read=False)
    declared = response.headers.get("content-length", "")
    if declared.isascii() and declared.isdigit() and int(declared[:20]) > limits.wire_bytes:
        raise too_large(limits.wire_bytes)
    decoder = Decoder(response.headers.get("content-encoding", ""), limits.content_bytes)
    digest, wire = hashlib.sha256(), 0
    async for data in response.aiter_raw():
        wire += len(data)
        if wire > limits.wire_bytes:
            raise too_large(limits.wire_bytes)
        for piece in decoder.feed(data):
            digest.update(piece)
            await sink(piece)
    decoder.finish()
    return replace(fetched, size=decoder.size, wire_size=wire, sha256=digest.hexdigest())


def _wanted(fetched: Fetched, types: tuple[str, ...] | None) -> bool:
    if types is None or not fetched.media_type:
        return True
    return any(
        fetched.media_type == kind or (kind.endswith("/") and fetched.media_type.startswith(kind))
        for kind in types
    )


def _named(error: Exception, target: Target) -> FetchFailed:
    where = shown(target.url)
    if _certificate(error):
        return FetchFailed(
            f"The certificate of {target.host} is not trusted.",
            remedy="Check the address; a private authority can be named with SSL_CERT_FILE.",
        )
    if isinstance(error, httpx2.TimeoutException):
        return FetchFailed(f"{where} did not answer in time.", retryable=True)
    if isinstance(error, httpx2.LocalProtocolError):
        return FetchFailed(f"{where} cannot be asked like that.", remedy="Check the request headers.")
    if isinstance(error, httpx2.ConnectError):
        return FetchFailed(f"{where} cannot be reached.", retryable=True, remedy="Check that it is up.")
    return FetchFailed(f"{where} broke off, or does not speak HTTP.", retryable=True)


def _certificate(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return True
        error = error.__cause__ or error.__context__
    return False
