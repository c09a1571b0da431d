"""Stand-ins for the search engines Tavily and Bocha on loopback, in the form of their real answers."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from kosmos.doubles.guest import HOST, GuestServer, listen
from kosmos.doubles.requests import Recorded, safe_headers


@dataclass(frozen=True, slots=True)
class WebPage:
    """A page that can be found."""

    title: str
    url: str
    text: str


class SearchServer:
    """The double, running inside `async with`. It finds the pages that share a word with the query."""

    def __init__(self, pages: Sequence[WebPage] = (), *, key: str = "key", status: int = 200) -> None:
        self.pages = list(pages)
        self.requests: list[Recorded] = []
        self._key = key
        self._status = status
        self._port = 0

    @property
    def host(self) -> str:
        """Host and port, as an operator allows them."""
        return f"{HOST}:{self._port}"

    def address(self, engine: str) -> str:
        """Where an engine answers."""
        path = {"tavily": "/search", "bocha": "/v1/web-search"}[engine]
        return f"http://{self.host}{path}"

    async def __aenter__(self) -> Self:
        listener = listen(0)
        self._port = listener.getsockname()[1]
        routes = [
            Route("/search", self._tavily, methods=["POST"]),
            Route("/v1/web-search", self._bocha, methods=["POST"]),
        ]
        self._http = GuestServer(Starlette(routes=routes))
        await self._http.start(listener)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.stop()

    async def _asked(self, request: Request) -> tuple[Mapping[str, Any], bool]:
        body = json.loads(await request.body())
        headers = safe_headers(request.headers.items())
        self.requests.append(Recorded(request.method, request.url.path, headers, body))
        return body, request.headers.get("authorization") == f"Bearer {self._key}"

    def _find(self, query: str, most: int) -> list[WebPage]:
        words = query.lower().split()
        found = [
            page for page in self.pages if any(word in f"{page.title} {page.text}".lower() for word in words)
        ]
        return found[:most]

    async def _tavily(self, request: Request) -> JSONResponse:
        body, known = await self._asked(request)
        if not known or self._status != 200:
            status = 401 if not known else self._status
            return JSONResponse({"detail": {"error": "Unauthorized: missing or invalid API key."}}, status)
        found = self._find(body["query"], body.get("max_results", 5))
        results = [
            {"title": page.title, "url": page.url, "content": page.text, "score": 0.9, "raw_content": None}
            for page in found
        ]
        return JSONResponse(
            {
                "query": body["query"],
                "follow_up_questions": None,
                "answer": found[0].text if found and body.get("include_answer") else None,
                "images": [],
                "results": results,
                "response_time": 1.09,
                "request_id": "123e4567-e89b-12d3-a456-426614174111",
            }
        )

    async def _bocha(self, request: Request) -> JSONResponse:
        body, known = await self._asked(request)
        if not known or self._status != 200:
            code = 401 if not known else self._status
            return JSONResponse({"code": str(code), "message": "Invalid API KEY", "log_id": "c66aac17"}, code)
        found = self._find(body["query"], body.get("count", 10))
        value = [
            {
                "id": f"https://api.bochaai.com/v1/#WebPages.{number}",
                "name": page.title,
                "url": page.url,
                "displayUrl": page.url,
                "snippet": page.text[:40],
                "summary": page.text if body.get("summary") else None,
                "siteName": "站点",
                "siteIcon": "",
                "datePublished": "2026-01-02T08:00:00+08:00",
                "dateLastCrawled": "2026-01-02T08:00:00Z",
                "cachedPageUrl": None,
                "language": None,
                "isFamilyFriendly": None,
                "isNavigational": None,
            }
            for number, page in enumerate(found)
        ]
        pages = {"webSearchUrl": "", "totalEstimatedMatches": len(value), "value": value}
        pages["someResultsRemoved"] = False
        data: dict[str, Any] = {
            "_type": "SearchResponse",
            "queryContext": {"originalQuery": body["query"]},
            "webPages": pages,
            "images": {"id": None, "value": []},
            "videos": None,
        }
        return JSONResponse({"code": 200, "log_id": "d71841ad0b37b5c5", "msg": None, "data": data})
