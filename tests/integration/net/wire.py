"""A server on loopback that says exactly what a test wants, and a network that ends at it."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol

import httpcore2

from kosmos.net.dialing import open_tcp

Handler = Callable[[str, dict[str, str]], Awaitable[bytes] | bytes]
PUBLIC = "93.184.216.34"


@dataclass
class Wire:
    """A fake internet: names resolve as told, the public address is a loopback port, others fail."""

    port: int
    names: dict[str, list[str]] = field(default_factory=dict)
    lookups: list[str] = field(default_factory=list)
    dialled: list[tuple[str, int]] = field(default_factory=list)

    async def resolve(self, host: str, port: int) -> list[str]:
        self.lookups.append(host)
        return self.names.get(host, [PUBLIC])

    async def dial(self, address: str, port: int, seconds: float | None) -> httpcore2.AsyncNetworkStream:
        self.dialled.append((address, port))
        assert address == PUBLIC, "a packet was about to go somewhere else"
        return await open_tcp("127.0.0.1", self.port, seconds)


@dataclass
class Server:
    """What was asked, head by head."""

    port: int
    heads: list[str] = field(default_factory=list)


class Serve(Protocol):
    """Starts servers."""

    async def __call__(self, handler: Handler, tls: ssl.SSLContext | None = None) -> Server: ...


def say(body: bytes = b"", status: int = 200, **headers: str) -> bytes:
    """A whole response, after which the connection closes."""
    fields = {"Content-Length": str(len(body)), "Connection": "close"}
    fields |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = [f"HTTP/1.1 {status} X", *(f"{name}: {value}" for name, value in fields.items() if value)]
    return "\r\n".join([*lines, "", ""]).encode() + body


@asynccontextmanager
async def serving(handler: Handler, tls: ssl.SSLContext | None) -> AsyncIterator[Server]:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := (await reader.readuntil(b"\r\n\r\n")).decode():
                server.heads.append(head)
                first, *rest = head.split("\r\n")
                fields = dict(line.lower().split(": ", 1) for line in rest if line)
                made = handler(first.split(" ")[1], fields)
                said = made if isinstance(made, bytes) else await made
                writer.write(said)
                await writer.drain()
                if b"Connection: close" in said:
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()

    listener = await asyncio.start_server(talk, "127.0.0.1", 0, ssl=tls)
    server = Server(listener.sockets[0].getsockname()[1])
    async with listener:
        yield server
