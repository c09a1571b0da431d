"""The watch of the Kubernetes API: list once, follow from there, come back where it broke off."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx2

from kosmos.errors import EngineUnavailable, Unauthenticated

log = logging.getLogger(__name__)
RESOURCES = {
    "Event": "/api/v1/events",
    "Pod": "/api/v1/pods",
    "Node": "/api/v1/nodes",
    "Deployment": "/apis/apps/v1/deployments",
    "StatefulSet": "/apis/apps/v1/statefulsets",
    "DaemonSet": "/apis/apps/v1/daemonsets",
}
PAGE = 500
WATCH_SECONDS = 300
FIRST_WAIT, LONGEST_WAIT = 1.0, 30.0
MAX_LINE = 4 * 2**20
Change = tuple[str, Mapping[str, Any]]


class _Gone(Exception):
    """The place to go on from is forgotten: list again."""


@dataclass(slots=True)
class Watch:
    """One kind of objects. `version` is where to go on; `connected` says whether it is being heard now."""

    http: httpx2.AsyncClient
    kind: str
    path: str
    version: str | None = None
    connected: bool = False
    lists: int = 0
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    _wait: float = field(default=FIRST_WAIT)

    async def changes(self) -> AsyncIterator[Change]:
        """Changes as they come, for ever; breaks are waited out."""
        while True:
            try:
                if self.version is None:
                    async for change in self._list():
                        yield change
                async for change in self._follow():
                    yield change
            except _Gone:
                self.version = None
                continue
            except (httpx2.TransportError, EngineUnavailable, ValueError) as error:
                log.warning("a watch broke off", extra={"kind": self.kind, "error": str(error)[:200]})
            self.connected = False
            await self.sleep(self._wait)
            self._wait = min(LONGEST_WAIT, self._wait * 2)

    async def _list(self) -> AsyncIterator[Change]:
        """Everything there is, page by page, and where to go on from."""
        self.lists += 1
        more = ""
        while True:
            given = {"limit": str(PAGE), **({"continue": more} if more else {})}
            answer = await self.http.get(self.path, params=given)
            _check(answer)
            page = answer.json()
            for item in page.get("items") or []:
                yield "ADDED", {"kind": self.kind, **item}
            about = page.get("metadata") or {}
            more = about.get("continue") or ""
            if not more:
                self.version = str(about.get("resourceVersion") or "0")
                return

    async def _follow(self) -> AsyncIterator[Change]:
        given = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": self.version or "0",
            "timeoutSeconds": str(WATCH_SECONDS),
        }
        async with self.http.stream("GET", self.path, params=given, timeout=_PATIENT) as answer:
            _check(answer)
            self.connected, self._wait = True, FIRST_WAIT
            async for line in answer.aiter_lines():
                if change := self._take(line):
                    yield change

    def _take(self, line: str) -> Change | None:
        if not line.strip() or len(line) > MAX_LINE:
            return None
        found = json.loads(line)
        change, thing = str(found.get("type")), found.get("object") or {}
        if change == "ERROR":
            if thing.get("code") == 410:
                raise _Gone
            raise EngineUnavailable(str(thing.get("message"))[:200])
        version = (thing.get("metadata") or {}).get("resourceVersion")
        self.version = str(version) if version else self.version
        return None if change == "BOOKMARK" else (change, {"kind": self.kind, **thing})


_PATIENT = httpx2.Timeout(30, read=WATCH_SECONDS + 30)


def _check(answer: httpx2.Response) -> None:
    if answer.status_code == 410:
        raise _Gone
    if answer.status_code in (401, 403):
        raise Unauthenticated(
            f"The cluster refuses: {answer.status_code}.",
            remedy="Give a token of an account that may list and watch.",
        )
    if answer.status_code != 200:
        raise EngineUnavailable(f"The cluster answered {answer.status_code}.")
