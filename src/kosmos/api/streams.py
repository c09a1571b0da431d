"""Answers that are streams of server-sent events."""

from collections.abc import AsyncIterator, Mapping

from fastapi.responses import StreamingResponse

from kosmos.app import App


def stream(
    app: App, lines: AsyncIterator[str], headers: Mapping[str, str] | None = None
) -> StreamingResponse:
    """The answer with these lines until the server leaves. Proxies are asked not to gather them."""
    sent = {"Cache-Control": "no-store", "X-Accel-Buffering": "no", **(headers or {})}
    whole = app.streams.until_leaving(lines)
    return StreamingResponse(whole, media_type="text/event-stream", headers=sent)
