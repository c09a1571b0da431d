"""A double of the watch API of Kubernetes on loopback: lists, streams changes, breaks off, forgets."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any, Self

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from kosmos.doubles.guest import HOST, GuestServer, listen

PODS, EVENTS = "/api/v1/pods", "/api/v1/events"
_END = "end"


class ClusterServer:
    """The double, running inside `async with`. `asked` are the queries, oldest first."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.objects: dict[str, list[dict[str, Any]]] = {}
        self.forgets = False  # answers 410 to the next watch
        self.status = 200
        self._version = 1
        self._streams: dict[str, list[asyncio.Queue[str]]] = {}
        self._port = 0

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://{HOST}:{self._port}"

    async def __aenter__(self) -> Self:
        listener = listen(0)
        self._port = listener.getsockname()[1]
        self._http = GuestServer(Starlette(routes=[Route("/{path:path}", self._answer)]))
        await self._http.start(listener)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.break_off()
        await self._http.stop()

    def tell(self, path: str, change: str, thing: dict[str, Any]) -> None:
        """A change, for everybody who watches."""
        self._version += 1
        about = {**(thing.get("metadata") or {}), "resourceVersion": str(self._version)}
        line = json.dumps({"type": change, "object": {**thing, "metadata": about}})
        for queue in self._streams.get(path, []):
            queue.put_nowait(line)

    def break_off(self) -> None:
        """End all watches."""
        for queues in self._streams.values():
            for queue in queues:
                queue.put_nowait(_END)

    def watching(self, path: str) -> int:
        """How many watch a path now."""
        return len(self._streams.get(path, []))

    async def _answer(self, request: Request) -> Response:
        path, query = request.url.path, dict(request.query_params)
        self.asked.append((path, query))
        if self.status != 200:
            return JSONResponse({"kind": "Status"}, self.status)
        if query.get("watch") != "true":
            items = self.objects.get(path, [])
            return JSONResponse({"metadata": {"resourceVersion": str(self._version)}, "items": items})
        if self.forgets:
            self.forgets = False
            return JSONResponse({"kind": "Status", "code": 410}, 410)
        return StreamingResponse(self._stream(path), media_type="application/json")

    async def _stream(self, path: str) -> AsyncIterator[str]:
        queue: asyncio.Queue[str] = asyncio.Queue()
        self._streams.setdefault(path, []).append(queue)
        try:
            while (line := await queue.get()) != _END:
                yield line + "\n"
        finally:
            self._streams[path].remove(queue)
