"""Retrieval and rerank: passages for the queries of a plan, each once, the best first."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kosmos.agents.react.kit import Kit
from kosmos.agents.react.state import AgentState, notes_of
from kosmos.agents.sources import heading_of, reference
from kosmos.domain.events import Event, EventType
from kosmos.tools.contract import Passage

if TYPE_CHECKING:
    from langchain_core.documents import Document

MOST_QUERIES = 4


async def retrieve(state: AgentState, kit: Kit) -> dict[str, Any]:
    """What the documents say. Coming back without a new plan, it looks deeper and in the problem's words."""
    notes, plan, analysis = notes_of(state), state.get("plan"), state.get("analysis")
    queries = [query for query in (plan.search_queries if plan else None) or [] if query.strip()]
    again = notes.get("revisits", 0)
    if again and analysis is not None:
        queries = [analysis.technical_summary, *queries]
    found: list[Passage] = []
    for query in list(dict.fromkeys(queries))[:MOST_QUERIES]:
        told = {"id": "retrieval", "name": "search", "arguments": {"query": query}}
        kit.tell(Event(EventType.TOOL_CALL, told))
        passages = await kit.retrieve(query, kit.limits.depth * (1 + again)) if kit.retrieve else ()
        found += [passage for passage in passages if all(passage.place != known.place for known in found)]
    notes["revisits"] = again + 1
    attempts = state.get("retrieval_attempts", 0) + 1
    documents = [_document(passage, kit) for passage in found]
    return {
        "retrieved_docs": documents,
        "retrieval_attempts": attempts,
        "tool_output": None,
        "metadata": notes,
    }


async def rerank(state: AgentState, kit: Kit) -> dict[str, Any]:
    """The best of what was found, behind what judgements relied on before."""
    notes, analysis, seen = notes_of(state), state.get("analysis"), kit.sources.seen
    numbers = [int(item.metadata["number"]) for item in state.get("retrieved_docs") or []]
    passages: Sequence[Passage] = [seen[number] for number in numbers if number in seen]
    if kit.rerank is not None and len(passages) > 1:
        query = analysis.technical_summary if analysis else notes.get("question", "")
        passages = await kit.rerank(query, passages)
    best = [kit.sources.number(passage) for passage in passages[: kit.limits.passages]]
    kept = [number for number in notes.get("relied", []) if number in seen and number not in best]
    fresh = {str(number): dict(reference(number, seen[number])) for number in [*kept, *best]}
    notes["references"] = {**notes.get("references", {}), **fresh}
    told = [reference(number, seen[number]) for number in best]
    payload = {"id": "retrieval", "name": "search", "ok": True, "sources": told, "seconds": 0.0}
    kit.tell(Event(EventType.TOOL_RESULT, payload))
    return {"retrieved_docs": [_document(seen[number], kit) for number in [*kept, *best]], "metadata": notes}


def _document(passage: Passage, kit: Kit) -> "Document":
    """A passage as the state holds it, under its number."""
    from langchain_core.documents import Document

    about = {"number": kit.sources.number(passage), "place": heading_of(passage), "source": passage.source}
    return Document(page_content=passage.text, metadata=about)
