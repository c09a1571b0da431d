"""What surrounds every request: an id, a log line, a limit on the body, a last net for errors."""

import json
import logging
import re
import time
import uuid

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kosmos.telemetry import measures, traces

log = logging.getLogger("kosmos.api")
_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_KEY = "kosmos.request_id"
_MOST = "kosmos.max_body"
_WHO = "kosmos.caller"
_STREAM = b"text/event-stream"
METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
NOWHERE = "none"  # the route of what no route fits


def request_id(scope: Scope) -> str:
    """The id of a request, as it stands in its answer and in the log."""
    return str(scope.get(_KEY, "-"))


def widen_body(scope: Scope, most: int) -> None:
    """Let the body of this request have so many bytes; for routes that do not keep it in memory."""
    scope[_MOST][0] = most


def note_caller(scope: Scope, user_id: str, token_id: str) -> None:
    """Say in the log line of a request who made it."""
    scope[_WHO] = {"user_id": user_id, "token_id": token_id}


def route_of(scope: Scope) -> str:
    """The template of the route that serves a request: never what somebody wrote."""
    # The route of an included router does not know the prefix it was included with; its context does.
    whole = scope.get("fastapi", {}).get("effective_route_context")
    return str(getattr(whole or scope.get("route"), "path", NOWHERE))


class _Seen:
    """What is known of a request so far."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._began = time.perf_counter()
        self._streams = ""
        self.status = 0

    def answer(self, message: Message) -> None:
        """Its answer begins."""
        self.status = message["status"]
        if any(name == b"content-type" and value.startswith(_STREAM) for name, value in message["headers"]):
            self._streams = route_of(self._scope)
            measures.STREAMS.add(self._streams)
            measures.STREAMS_OPEN.add(self._streams)

    def end(self) -> None:
        """It is over: one log line, and what is counted."""
        scope, seconds = self._scope, time.perf_counter() - self._began
        route, method = route_of(scope), _method(scope)
        measures.HTTP_REQUESTS.add(method, route, str(self.status))
        if self._streams:
            measures.STREAMS_OPEN.add(self._streams, by=-1)
        else:
            measures.HTTP_SECONDS.observe(seconds, method, route)
        extra = {"request_id": request_id(scope), "method": scope["method"], "path": scope["path"]}
        extra |= {"route": route, **scope.get(_WHO, {})}
        extra |= {"status": self.status, "ms": round(seconds * 1000, 1)}
        log.info("request", extra=extra)


def _method(scope: Scope) -> str:
    """The method, where it is one that everybody knows."""
    return scope["method"] if scope["method"] in METHODS else NOWHERE


class RequestShell:
    """Gives each request an id (a well-formed X-Request-ID is kept) and writes one log line about it."""

    def __init__(self, app: ASGIApp, max_body: int) -> None:
        self._app = app
        self._max_body = max_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = dict(scope["headers"]).get(b"x-request-id", b"")
        scope[_KEY] = given.decode() if _ID.fullmatch(given) else uuid.uuid4().hex[:12]
        seen = _Seen(scope)

        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                seen.answer(message)
                message["headers"] = [*message["headers"], (b"x-request-id", request_id(scope).encode())]
            await send(message)

        try:
            scope[_MOST] = [self._max_body]
            with traces.span("request", method=_method(scope), request_id=request_id(scope)) as made:
                await self._app(scope, _limited(receive, scope[_MOST]), noted)
                traces.add(made, route=route_of(scope), status=seen.status)
        except Exception:
            log.exception("request broke", extra={"request_id": request_id(scope)})
            if seen.status == 0:
                await _send_500(noted, request_id(scope))
        finally:
            seen.end()


def _limited(receive: Receive, limit: list[int]) -> Receive:
    """The same body, until it is longer than allowed: counted as it comes, whatever its header says."""
    seen = 0

    async def counted() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > limit[0]:
            raise HTTPException(413, f"The request body is larger than {limit[0]:,} bytes")
        return message

    return counted


async def _send_500(send: Send, identity: str) -> None:
    body = json.dumps(
        {
            "type": "about:blank",
            "title": "InternalError",
            "status": 500,
            "detail": "Something unexpected happened; the log has the details under this request id.",
            "request_id": identity,
        }
    ).encode()
    headers = [(b"content-type", b"application/problem+json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 500, "headers": headers})
    await send({"type": "http.response.body", "body": body})
