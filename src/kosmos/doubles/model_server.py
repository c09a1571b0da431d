"""A scripted model provider on loopback that speaks the OpenAI protocol over real HTTP."""

import asyncio
import itertools
import json
import signal
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from kosmos.doubles import answers, chat, encoders
from kosmos.doubles.guest import HOST, GuestServer, listen
from kosmos.doubles.replies import DEFAULT_REPLY, Anywhere, Reply, ToolCall
from kosmos.doubles.requests import Body, Endpoint, Recorded, fingerprint, safe_headers
from kosmos.doubles.script import DIMENSION, Decide, Script, load_script
from kosmos.doubles.wire import Gauge, Patience, failure
from kosmos.errors import InvalidInput

__all__ = ["Anywhere", "ModelServer", "Recorded", "Reply", "ToolCall", "fingerprint", "serve_forever"]

KEPT_REQUESTS = 10_000  # a double left running must not fill the memory

_ROUTES: tuple[tuple[str, str, Endpoint], ...] = (
    ("POST", "/v1/chat/completions", "chat"),
    ("POST", "/v1/embeddings", "embeddings"),
    ("POST", "/v1/rerank", "rerank"),
    ("GET", "/v1/models", "models"),
)


class ModelServer:
    """The double, running inside `async with`. `requests` holds what was asked, oldest first."""

    def __init__(
        self,
        script: Sequence[Reply] | Decide = (),
        *,
        default: Reply = DEFAULT_REPLY,
        dimension: int = DIMENSION,
        models: Sequence[str] = ("scripted",),
        port: int = 0,
    ) -> None:
        self.script = Script(script, default=default)
        self.requests: list[Recorded] = []
        self._dimension = dimension
        self._models = models
        self._port = port
        self._gauge = Gauge()
        self._numbers = itertools.count(1)

    @property
    def base_url(self) -> str:
        """What an OpenAI client takes as its base URL."""
        return f"http://{HOST}:{self._port}/v1"

    @property
    def active(self) -> int:
        """How many requests are being answered now."""
        return self._gauge.active

    @property
    def peak(self) -> int:
        """The most requests that were ever being answered at once."""
        return self._gauge.peak

    async def until_active(self, count: int, *, within: float = 5) -> None:
        """Return once exactly so many requests are being answered; TimeoutError if that does not happen."""
        async with asyncio.timeout(within):
            await self._gauge.reach(count)

    async def __aenter__(self) -> Self:
        listener = listen(self._port)
        self._port = listener.getsockname()[1]
        self._patience = Patience()
        self._http = GuestServer(_counted(self._build_app(), self._gauge))
        await self._http.start(listener)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._patience.end()
        await self._http.stop()

    def _build_app(self) -> Starlette:
        routes = [
            Route(path, partial(self._answer, endpoint=endpoint), methods=[method])
            for method, path, endpoint in _ROUTES
        ]
        return Starlette(routes=routes, exception_handlers={404: self._unknown, 405: self._unknown})

    async def _unknown(self, request: Request, _: Exception) -> Response:
        await self._record(request)
        return failure(404, f"There is no {request.method} {request.url.path} here.")

    async def _answer(self, request: Request, endpoint: Endpoint) -> Response:
        number = next(self._numbers)
        try:
            body = _as_object(await self._record(request), endpoint)
            usual = self._usual(endpoint, body, number)
        except InvalidInput as error:
            return failure(400, error.message)
        except ClientDisconnect:
            return Response()
        reply = self.script.choose(endpoint, body)
        if not await self._patience.wait(request.receive, reply.delay):
            return failure(503, "The server stopped before the scripted delay was over.")
        if reply.hang and reply.truncate_after is None:
            await self._patience.wait(request.receive, answers.HANG_SECONDS)
            return failure(504, "The script lets this request hang.")
        if reply.status != 200:
            return answers.refuse(reply)
        if endpoint == "embeddings":
            usual = encoders.spoil(usual, body, reply)
        if endpoint != "chat":
            return answers.whole(reply, usual, self._patience)
        if body.get("stream"):
            return answers.stream(reply, chat.chunks(reply, body, number), self._patience)
        return answers.whole(reply, chat.completion(reply, body, number), self._patience)

    async def _record(self, request: Request) -> Any:
        raw = await request.body()
        try:
            body = json.loads(raw) if raw else None
        except ValueError:
            body = raw.decode(errors="replace")
        headers = safe_headers(request.headers.items())
        self.requests.append(Recorded(request.method, request.url.path, headers, body))
        del self.requests[:-KEPT_REQUESTS]
        return body

    def _usual(self, endpoint: Endpoint, body: Body, number: int) -> dict[str, Any]:
        """The answer that needs no script; a request that deserves none must not use up a reply."""
        if endpoint == "embeddings":
            return encoders.embeddings(body, self._dimension)
        if endpoint == "rerank":
            return encoders.rerank(body, number)
        if endpoint == "chat":
            chat.check_chat(body)
        entry = {"object": "model", "created": 0, "owned_by": "kosmos"}
        return {"object": "list", "data": [{"id": name, **entry} for name in self._models]}


async def serve_forever(
    script_file: Path, port: int, *, on_ready: Callable[[str], None] | None = None
) -> None:
    """Serve the script in a JSON file until SIGTERM or cancellation; `on_ready` is told the base URL."""
    script = load_script(script_file)
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    async with ModelServer(
        script.replies, default=script.default, dimension=script.dimension, port=port
    ) as server:
        loop.add_signal_handler(signal.SIGTERM, stopped.set)
        try:
            if on_ready:
                on_ready(server.base_url)
            await stopped.wait()
        finally:
            loop.remove_signal_handler(signal.SIGTERM)


def _counted(app: ASGIApp, gauge: Gauge) -> ASGIApp:
    async def counted(scope: Scope, receive: Receive, send: Send) -> None:
        with gauge:
            await app(scope, receive, send)

    return counted


def _as_object(body: Any, endpoint: Endpoint) -> Body:
    if body is None and endpoint == "models":
        return {}
    if not isinstance(body, dict):
        raise InvalidInput("the body must be a JSON object")
    return body
