"""What surrounds every request: an id, a log line, a limit on the body, a last net for errors."""

import json
import logging
import re
import time
import uuid

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

log = logging.getLogger("kosmos.api")
_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_KEY = "kosmos.request_id"
_MOST = "kosmos.max_body"


def request_id(scope: Scope) -> str:
    """The id of a request, as it stands in its answer and in the log."""
    return str(scope.get(_KEY, "-"))


def widen_body(scope: Scope, most: int) -> None:
    """Let the body of this request have so many bytes; for routes that do not keep it in memory."""
    scope[_MOST][0] = most


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
        started, status = time.perf_counter(), [0]

        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                status[0] = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", request_id(scope).encode())]
            await send(message)

        try:
            scope[_MOST] = [self._max_body]
            await self._app(scope, _limited(receive, scope[_MOST]), noted)
        except Exception:
            log.exception("request broke", extra={"request_id": request_id(scope)})
            if status[0] == 0:
                await _send_500(noted, request_id(scope))
        finally:
            extra = {"request_id": request_id(scope), "method": scope["method"], "path": scope["path"]}
            extra |= {"status": status[0], "ms": round((time.perf_counter() - started) * 1000, 1)}
            log.info("request", extra=extra)


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
