"""The guarded way to the network, in the shape that any httpx2 client takes."""

import ssl
from collections.abc import AsyncIterable, AsyncIterator, Iterator
from contextlib import contextmanager
from functools import cache

import httpcore2
import httpx2

from kosmos.net.dialing import Dial, PinnedBackend, open_tcp
from kosmos.net.guard import Guard
from kosmos.net.policy import Policy
from kosmos.net.resolving import Resolver, system_resolver

_CONNECTIONS = 100
_IDLE_SECONDS = 15.0


class GuardedTransport(httpx2.AsyncBaseTransport):
    """Checks every request, redirected ones too, and connects only to checked addresses."""

    def __init__(self, guard: Guard, *, dial: Dial = open_tcp, trusted: ssl.SSLContext | None = None) -> None:
        self.guard = guard
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=trusted or _trusted(),
            max_connections=_CONNECTIONS,
            keepalive_expiry=_IDLE_SECONDS,
            network_backend=PinnedBackend(guard, dial),
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request; FetchRefused before anything is sent where the policy forbids it."""
        self.guard.target(request.url)
        if not isinstance(request.stream, httpx2.AsyncByteStream):
            raise TypeError("only asynchronous requests can be sent")
        url = request.url
        wanted = httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
        with _named_errors():
            answer = await self._pool.handle_async_request(
                httpcore2.Request(
                    request.method,
                    wanted,
                    headers=request.headers.raw,
                    content=request.stream,
                    extensions=request.extensions,
                )
            )
        return httpx2.Response(
            answer.status, headers=answer.headers, stream=_Body(answer), extensions=answer.extensions
        )

    async def aclose(self) -> None:
        """Close all connections."""
        await self._pool.aclose()


def guarded_transport(
    policy: Policy, *, resolver: Resolver = system_resolver, dial: Dial = open_tcp
) -> GuardedTransport:
    """A transport for clients that are not ours, such as those of model providers."""
    return GuardedTransport(Guard(policy, resolver), dial=dial)


class _Body(httpx2.AsyncByteStream):
    def __init__(self, answer: httpcore2.Response) -> None:
        self._answer = answer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        stream = self._answer.stream
        if not isinstance(stream, AsyncIterable):
            raise TypeError("the answer cannot be read piece by piece")
        with _named_errors():
            async for part in stream:
                yield part

    async def aclose(self) -> None:
        await self._answer.aclose()


@contextmanager
def _named_errors() -> Iterator[None]:
    """The client library names errors of its lower half like its own."""
    try:
        yield
    except (
        httpcore2.TimeoutException,
        httpcore2.NetworkError,
        httpcore2.ProtocolError,
        httpcore2.ProxyError,
        httpcore2.UnsupportedProtocol,
    ) as error:
        kind = getattr(httpx2, type(error).__name__, httpx2.TransportError)
        raise kind(str(error)) from error


@cache
def _trusted() -> ssl.SSLContext:
    """The certificates to trust, read once: reading them stops the event loop for some 50 ms."""
    return httpx2.create_ssl_context()
