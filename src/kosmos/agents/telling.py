"""How a run tells what it does: payloads of events, and the messages that stay."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from kosmos.agents.executing import Result
from kosmos.agents.sources import Sources, reference
from kosmos.agents.thinking import SEARCH
from kosmos.agents.wire import tokens_of
from kosmos.domain.events import Event, EventType
from kosmos.domain.jobs import Spent
from kosmos.domain.sessions import Message, MessageRole, MessageType
from kosmos.llm.chat import Call
from kosmos.llm.streaming import StreamedCall


def usage_of(spent: Spent, *, estimated: bool = False) -> dict[str, Any]:
    """What was spent, as every surface tells it."""
    return {
        "prompt_tokens": spent.prompt_tokens,
        "cached_tokens": spent.cached_tokens,
        "output_tokens": spent.output_tokens,
        "total_tokens": spent.prompt_tokens + spent.output_tokens,
        "cost": spent.cost,
        "estimated": estimated,
    }


def node(name: str, step: int, **more: Any) -> Event:
    """A node has done its part."""
    return Event(EventType.NODE_COMPLETE, {"node": name, "step": step, **more})


def own_search(question: str) -> StreamedCall:
    """The call that a model should have made."""
    arguments = {"query": question[:2000]}
    return StreamedCall("first", Call(SEARCH, arguments, json.dumps(arguments, ensure_ascii=False)))


def called(item: StreamedCall) -> dict[str, Any]:
    """A call as it is told."""
    shown = item.call.arguments if item.call.arguments is not None else item.call.text[:2000]
    return {"id": item.id, "name": item.call.name[:200], "arguments": shown}


def told_of(result: Result, sources: Sources) -> dict[str, Any]:
    """A result as it is told: where it was found, not the text itself."""
    found = [reference(number, sources.seen[number]) for number in result.numbers]
    told: dict[str, Any] = {"id": result.call.id, "name": result.call.call.name[:200], "ok": result.ok}
    told |= {"sources": found, "seconds": round(result.seconds, 3)}
    return told if result.ok else {**told, "error": result.text}


def arguments_of(call: Call) -> str:
    """The arguments as JSON, whatever the model wrote: servers refuse a talk with anything else in it."""
    return json.dumps(call.arguments if call.arguments is not None else {}, ensure_ascii=False)


def message(role: MessageRole, kind: MessageType, content: str, metadata: Mapping[str, Any]) -> Message:
    """A new message with its size."""
    tokens = tokens_of({"content": content, "tool_calls": metadata.get("tool_calls")})
    return Message(role, kind, content, metadata, token_count=tokens)


def exchange(
    said: str, calls: Sequence[StreamedCall], results: Sequence[Result], sources: Sources
) -> list[Message]:
    """Calls and their results as they stand in the talk."""
    wire = [
        {
            "id": item.id,
            "type": "function",
            "function": {"name": item.call.name, "arguments": arguments_of(item.call)},
        }
        for item in calls
    ]
    made = [message(MessageRole.ASSISTANT, MessageType.ASSISTANT, said, {"tool_calls": wire})]
    for result in results:
        found = [reference(number, sources.seen[number]) for number in result.numbers]
        about = {"tool_call_id": result.call.id, "tool": result.call.call.name, "ok": result.ok}
        about |= {"sources": found}
        made.append(message(MessageRole.TOOL, MessageType.TOOL, result.text, about))
    return made
