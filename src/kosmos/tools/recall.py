"""The recall tool: asks a knowledge base for chunks, this one or any server that speaks the same API."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kosmos.errors import ProviderError, ProviderRejected, ProviderUnavailable
from kosmos.tools.contract import Passage
from kosmos.tools.web_search import Post

RECALL_TOOL_CACHE_SIZE = 100
MAX_CHARS = 8000  # of one chunk


@dataclass(frozen=True, slots=True)
class Recollection:
    """A chunk and how alike it is to the question, from 0 to 1."""

    passage: Passage
    similarity: float


Recaller = Callable[["RecallTool", str], Awaitable[Sequence[Recollection]]]


@dataclass(frozen=True, slots=True)
class RecallTool:
    """Looks up documents, records, standards: whatever stands in the knowledge base.

    `ask` does it; without an `api_url` that is this very instance. `doc_ids` empty means all documents
    of the indices, which are spaces here.
    """

    ask: Recaller
    api_url: str | None = None
    index_names: tuple[str, ...] = ()
    doc_ids: tuple[str, ...] = ()
    top_n: int = 10
    similarity_threshold: float = 0.2
    vector_similarity_weight: float = 0.3
    use_rerank: bool = False
    api_key: str | None = field(default=None, repr=False)

    async def __call__(self, question: str) -> Sequence[Recollection]:
        """The chunks that are like enough, the likest first."""
        return await self.ask(self, question)

    @property
    def body(self) -> dict[str, Any]:
        """The parameters as the API takes them."""
        return {
            "index_names": list(self.index_names),
            "doc_ids": list(self.doc_ids),
            "top_n": self.top_n,
            "similarity_threshold": self.similarity_threshold,
            "vector_similarity_weight": self.vector_similarity_weight,
            "use_rerank": self.use_rerank,
        }


class RecallToolCache:
    """Tools for single documents, made from one for all; the one used longest ago goes first."""

    def __init__(self, tool: RecallTool, size: int = RECALL_TOOL_CACHE_SIZE) -> None:
        self._tool, self._size = tool, size
        self._kept: OrderedDict[str, RecallTool] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, document_id: str) -> RecallTool:
        """The tool for one document."""
        found = self._kept.pop(document_id, None) or replace(self._tool, doc_ids=(document_id,))
        self._kept[document_id] = found
        while len(self._kept) > self._size:
            self._kept.popitem(last=False)
        return found


def recall_over_http(post: Post) -> Recaller:
    """A recaller that asks the server at the tool's `api_url`."""

    async def ask(tool: RecallTool, question: str) -> Sequence[Recollection]:
        headers = {"Authorization": f"Bearer {tool.api_key}"} if tool.api_key else {}
        status, answer = await post(str(tool.api_url), headers, {"question": question, **tool.body})
        if status != 200:
            raise _refused(status)
        try:
            return _read(answer, str(tool.api_url))
        except (KeyError, TypeError, AttributeError, ValueError):
            raise ProviderUnavailable("The recall server gave an answer that cannot be read.") from None

    return ask


def _read(answer: Mapping[str, Any], api_url: str) -> list[Recollection]:
    """It says inside a good answer whether it is one."""
    if int(answer.get("code", 0)) != 0:
        raise ProviderRejected(f"The recall server refused: {str(answer.get('message'))[:200]}")
    return [_recollection(chunk, api_url) for chunk in answer["data"]["chunks"]]


def _recollection(chunk: Mapping[str, Any], api_url: str) -> Recollection:
    positions = chunk.get("positions") or [[0, 0, 0, 0, 0]]
    page, _, _, start, end = (int(value) for value in positions[0])
    name = str(chunk.get("document_keyword") or chunk.get("docnm_kwd") or chunk["document_id"])
    passage = Passage(
        text=str(chunk["content"])[:MAX_CHARS],
        source=name[:500],
        document_id=str(chunk["document_id"]),
        start_line=start,
        end_line=end,
        page=page or None,
        chunk_id=str(chunk["id"]),
        url=f"{api_url}#{chunk['id']}",
    )
    return Recollection(passage, float(chunk["similarity"]))


def _refused(status: int) -> ProviderError:
    if status in (401, 403):
        return ProviderRejected("The recall server refused the key.", remedy="Give a valid recall_api_key.")
    if status == 429 or status >= 500:
        return ProviderUnavailable(f"The recall server failed with HTTP {status}.", remedy="Try again later.")
    return ProviderRejected(f"The recall server refused the request with HTTP {status}.")
