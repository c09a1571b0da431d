"""A reply as an HTTP answer: whole, streamed, failed, malformed or broken off."""

from collections.abc import Iterable
from typing import Any

from starlette.responses import Response

from kosmos.doubles.replies import Reply
from kosmos.doubles.wire import DONE, Manner, Parts, Patience, as_event, as_json, failure

HANG_SECONDS = 60.0

_JSON = "application/json"
_EVENTS = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"}


def refuse(reply: Reply) -> Response:
    """The error that the reply scripts; its content is the message."""
    headers = {} if reply.retry_after is None else {"retry-after": f"{reply.retry_after:g}"}
    if reply.malformed is not None:
        return Response(reply.malformed, reply.status, headers, _JSON)
    return failure(reply.status, reply.content or f"Scripted error {reply.status}.", headers=headers)


def whole(reply: Reply, value: Any, patience: Patience) -> Response:
    """The answer in one piece. Broken off, it ends in the middle of what its length promises."""
    body = as_json(value) if reply.malformed is None else reply.malformed.encode()
    if reply.truncate_after is None:
        return Response(body, media_type=_JSON)
    headers = {"content-type": _JSON, "content-length": str(len(body))}
    return Parts([body[: len(body) // 2]], patience, manner=_broken(reply), headers=headers)


def stream(reply: Reply, chunks: Iterable[Any], patience: Patience) -> Response:
    """The answer as server-sent events."""
    if reply.malformed is None:
        events = [as_event(as_json(chunk).decode()) for chunk in chunks]
    else:
        events = [as_event(reply.malformed)]
    if reply.truncate_after is None:
        return Parts([*events, DONE], patience, manner=Manner(pace=reply.pace), headers=_EVENTS)
    return Parts(events[: reply.truncate_after], patience, manner=_broken(reply), headers=_EVENTS)


def _broken(reply: Reply) -> Manner:
    return Manner(pace=reply.pace, stall=HANG_SECONDS if reply.hang else 0, cut=True)
