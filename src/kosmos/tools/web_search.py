"""Searching the web through Tavily or Bocha. What they answer is data of strangers like any document."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field

from kosmos.errors import ProviderError, ProviderRejected, ProviderUnavailable
from kosmos.tools.contract import Passage, Tool, ToolOutput, make_tool

MAX_RESULTS = 5
MAX_CHARS = 4000  # of one result

# Sends JSON to an address and gives back the status and the decoded answer (None when it was no JSON).
Post = Callable[[str, Mapping[str, str], Mapping[str, Any]], Awaitable[tuple[int, Any]]]


class SearchEngine(StrEnum):
    """Who searches the web."""

    TAVILY = "tavily"
    BOCHA = "bocha"


ADDRESSES = {
    SearchEngine.TAVILY: "https://api.tavily.com/search",
    SearchEngine.BOCHA: "https://api.bochaai.com/v1/web-search",
}


@dataclass(frozen=True, slots=True)
class WebSearch:
    """An engine with its key; `address` stands in for the engine's own."""

    engine: SearchEngine
    api_key: str = field(repr=False)
    max_results: int = MAX_RESULTS
    address: str | None = None


def web_search_tool(config: WebSearch, post: Post) -> Tool:
    """`web_search`."""

    async def web_search(
        query: Annotated[str, Field(min_length=1, max_length=400, description="What to look for.")],
    ) -> ToolOutput:
        """Search the web: for what is new or public and cannot stand in the documents."""
        found = await search_web(config, query, post)
        return ToolOutput("" if found else "Nothing was found. Try other words.", tuple(found))

    return make_tool(web_search)


async def search_web(config: WebSearch, query: str, post: Post) -> list[Passage]:
    """What the engine finds, best first."""
    headers = {"Authorization": f"Bearer {config.api_key}"}
    address = config.address or ADDRESSES[config.engine]
    status, answer = await post(address, headers, _body(config, query))
    if status != 200:
        raise _refused(config.engine, status)
    read = _read_tavily if config.engine is SearchEngine.TAVILY else _read_bocha
    try:
        return read(answer)[: config.max_results]
    except (KeyError, TypeError, AttributeError, ValueError):
        raise ProviderUnavailable(f"{config.engine} gave an answer that cannot be read.") from None


def _body(config: WebSearch, query: str) -> dict[str, Any]:
    if config.engine is SearchEngine.TAVILY:
        return {
            "query": query,
            "max_results": config.max_results,
            "search_depth": "basic",
            "include_answer": True,
        }
    return {"query": query, "count": config.max_results, "summary": True, "freshness": "noLimit"}


def _read_tavily(answer: Any) -> list[Passage]:
    found = [_passage(item["url"], item.get("title"), item.get("content")) for item in answer["results"]]
    return [item for item in found if item.text]


def _read_bocha(answer: Any) -> list[Passage]:
    """It says inside a good answer whether it is one."""
    if int(answer.get("code", 200)) != 200:
        raise _refused(SearchEngine.BOCHA, int(answer["code"]))
    pages = (answer["data"].get("webPages") or {}).get("value") or []
    found = [
        _passage(item["url"], item.get("name"), item.get("summary") or item.get("snippet")) for item in pages
    ]
    return [item for item in found if item.text]


def _passage(url: str, title: str | None, text: str | None) -> Passage:
    return Passage(text=(text or "").strip()[:MAX_CHARS], source=str(url), title=title or "", url=str(url))


def _refused(engine: SearchEngine, status: int) -> ProviderError:
    if status in (401, 403):
        return ProviderRejected(f"{engine} refused the key.", remedy="Give a valid search_engine_api_key.")
    if status == 429 or status >= 500:
        return ProviderUnavailable(f"{engine} failed with HTTP {status}.", remedy="Try again later.")
    return ProviderRejected(f"{engine} refused the request with HTTP {status}.")
