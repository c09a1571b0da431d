"""How an answer goes over the wire: in parts, at a pace, and sometimes not to its end."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

DONE = b"data: [DONE]\n\n"

_ERROR_TYPES = {400: "invalid_request_error", 401: "authentication_error", 429: "rate_limit_exceeded"}


class Gauge:
    """Counts what is under way at once, and the most there ever was."""

    def __init__(self) -> None:
        self.active = 0
        self.peak = 0
        self._changed = asyncio.Event()

    def __enter__(self) -> None:
        self.active += 1
        self.peak = max(self.peak, self.active)
        self._changed.set()

    def __exit__(self, *_: object) -> None:
        self.active -= 1
        self._changed.set()

    async def reach(self, active: int) -> None:
        """Return once so many are under way."""
        while self.active != active:
            self._changed.clear()
            await self._changed.wait()


class Patience:
    """Waits for time to pass, but no longer than the client stays and the server runs."""

    def __init__(self) -> None:
        self._over = asyncio.Event()

    def end(self) -> None:
        """Stop all waiting, now and later."""
        self._over.set()

    async def wait(self, receive: Receive, seconds: float) -> bool:
        """Whether the time has passed undisturbed. Even no time at all gives other requests a turn."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return True
        signs = {asyncio.create_task(_client_leaves(receive)), asyncio.create_task(self._over.wait())}
        try:
            seen, _ = await asyncio.wait(signs, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for sign in signs:
                sign.cancel()
            await asyncio.gather(*signs, return_exceptions=True)
        return not seen


async def _client_leaves(receive: Receive) -> bool:
    while (await receive())["type"] != "http.disconnect":
        pass
    return True


@dataclass(frozen=True, slots=True)
class Manner:
    """How the parts of an answer are sent."""

    pace: float = 0  # seconds before each part
    stall: float = 0  # seconds of silence after the last part
    cut: bool = False  # the connection breaks where the answer should end


class Parts(Response):
    """An answer that is sent in parts."""

    def __init__(
        self, parts: Sequence[bytes], patience: Patience, *, manner: Manner, headers: Mapping[str, str]
    ) -> None:
        # Without a body, Starlette does not compute a length: a broken answer promises more than it sends.
        self.status_code = 200
        self.background = None
        self.init_headers(headers)
        self._parts = parts
        self._patience = patience
        self._manner = manner

    async def __call__(self, _: Scope, receive: Receive, send: Send) -> None:
        """Send the parts; returning without the last message makes uvicorn close the connection."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        for part in self._parts:
            if not await self._patience.wait(receive, self._manner.pace):
                return
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await self._patience.wait(receive, self._manner.stall)
        if not self._manner.cut:
            await send({"type": "http.response.body", "body": b"", "more_body": False})


def as_event(data: str) -> bytes:
    """One server-sent event."""
    return "".join(f"data: {line}\n" for line in data.split("\n")).encode() + b"\n"


def as_json(value: Any) -> bytes:
    """A JSON document; all but ASCII is escaped, so that even broken text can be sent."""
    return json.dumps(value).encode()


def failure(status: int, message: str, *, headers: Mapping[str, str] | None = None) -> Response:
    """An error in the shape that OpenAI gives it."""
    kind = _ERROR_TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")
    error = {"message": message, "type": kind, "param": None, "code": None}
    return Response(as_json({"error": error}), status, headers, "application/json")
