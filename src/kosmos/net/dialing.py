"""Connections to checked addresses only: the name is resolved here, once, and never again."""

from base64 import b64encode
from collections.abc import Awaitable, Callable, Iterable

import httpcore2
import httpx2

from kosmos.errors import ConfigError
from kosmos.net.guard import Guard

Dial = Callable[[str, int, float | None], Awaitable[httpcore2.AsyncNetworkStream]]

_MOST_ADDRESSES = 4
_MOST_HEAD = 16 * 1024


async def open_tcp(address: str, port: int, seconds: float | None) -> httpcore2.AsyncNetworkStream:
    """Connect to one address."""
    return await httpcore2.AnyIOBackend().connect_tcp(address, port, timeout=seconds)


class PinnedBackend(httpcore2.AsyncNetworkBackend):
    """Resolves, checks and connects in one step, so that no second lookup can give another answer.

    The pool above keeps connections by name, and TLS checks the certificate by name; only the socket knows
    the address. Rewriting the URL to the address instead would let two names share one TLS connection.
    """

    def __init__(self, guard: Guard, dial: Dial = open_tcp) -> None:
        self._guard = guard
        proxy = guard.policy.proxy
        self._dial = _through(httpx2.URL(proxy), dial) if proxy else dial

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109
        local_address: str | None = None,  # noqa: ARG002
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,  # noqa: ARG002
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to the first checked address that answers."""
        addresses = await self._guard.addresses(host, port)
        failure: Exception | None = None
        for address in addresses[:_MOST_ADDRESSES]:
            try:
                return await self._dial(str(address), port, timeout)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = failure or error
        raise failure or httpcore2.ConnectError("no address")


def _through(proxy: httpx2.URL, dial: Dial) -> Dial:
    """Dial by way of a proxy, which is told the checked address and not the name."""
    if proxy.scheme != "http" or not proxy.host:
        raise ConfigError("The proxy address cannot be used.", remedy="Write it like http://host:port.")

    async def tunnelled(address: str, port: int, seconds: float | None) -> httpcore2.AsyncNetworkStream:
        stream = await dial(proxy.host, proxy.port or 80, seconds)
        try:
            await _ask(stream, _connect_head(proxy, address, port), seconds)
        except BaseException:
            await stream.aclose()
            raise
        return stream

    return tunnelled


def _connect_head(proxy: httpx2.URL, address: str, port: int) -> bytes:
    place = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
    lines = [f"CONNECT {place} HTTP/1.1", f"Host: {place}"]
    if proxy.userinfo:
        pair = f"{proxy.username}:{proxy.password}".encode()
        lines.append(f"Proxy-Authorization: Basic {b64encode(pair).decode()}")
    return "\r\n".join([*lines, "", ""]).encode()


async def _ask(stream: httpcore2.AsyncNetworkStream, head: bytes, seconds: float | None) -> None:
    await stream.write(head, timeout=seconds)
    answer = b""
    while b"\r\n\r\n" not in answer:
        part = await stream.read(4096, timeout=seconds)
        answer += part
        if not part or len(answer) > _MOST_HEAD:
            raise httpcore2.ProxyError("the proxy does not answer like one")
    status = answer.split(b"\r\n", 1)[0].split(b" ")
    if len(status) < 2 or status[1] != b"200":
        raise httpcore2.ProxyError("the proxy refused the connection")
