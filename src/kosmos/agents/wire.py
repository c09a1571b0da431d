"""Messages of a session in the words of the chat protocol."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kosmos.domain.sessions import Message, MessageRole, MessageType
from kosmos.domain.tokens import estimate_tokens

Wire = dict[str, Any]
OVERHEAD = 4  # tokens of a message beside its text
_SUMMARY = "Summary of our talk so far, made automatically:\n"
_LEFT_OUT = "(Left out: the context is full. Call the tool again if you need it.)"


def to_wire(message: Message) -> Wire:
    """One message as it is sent."""
    if message.type is MessageType.COMPRESSION:
        return {"role": "user", "content": _SUMMARY + message.content}
    if message.role is MessageRole.TOOL:
        identity = str(message.metadata.get("tool_call_id", ""))
        return {"role": "tool", "tool_call_id": identity, "content": message.content}
    calls = message.metadata.get("tool_calls")
    if message.role is MessageRole.ASSISTANT and calls:
        return {"role": "assistant", "content": message.content or None, "tool_calls": list(calls)}
    return {"role": message.role.value, "content": message.content}


def lay_out(messages: Iterable[Message]) -> list[Wire]:
    """Messages as they are sent; neighbours of one user become one, which strict servers insist on."""
    laid: list[Wire] = []
    for wire in map(to_wire, messages):
        if laid and wire["role"] == laid[-1]["role"] == "user":
            laid[-1] = {"role": "user", "content": f"{laid[-1]['content']}\n\n{wire['content']}"}
        else:
            laid.append(wire)
    return laid


def with_last_words(messages: Sequence[Wire], words: str) -> list[Wire]:
    """The messages with words that stand last, where models heed them most."""
    last = dict(messages[-1])
    last["content"] = f"{last.get('content') or ''}\n\n{words}".strip()
    return [*messages[:-1], last]


def tokens_of(wire: Mapping[str, Any]) -> int:
    """How many tokens a message takes, roughly."""
    calls = wire.get("tool_calls")
    extra = estimate_tokens(json.dumps(calls, ensure_ascii=False)) if calls else 0
    return OVERHEAD + estimate_tokens(str(wire.get("content") or "")) + extra


def fit(messages: Sequence[Wire], budget: int) -> list[Wire]:
    """The messages within a budget: results of tools are left out, oldest first, then whole rounds.

    The last result and the last question always stay.
    """
    fitted = list(messages)
    total = sum(map(tokens_of, fitted))
    results = [at for at, wire in enumerate(fitted) if wire["role"] == "tool"]
    for at in results[:-1]:
        if total <= budget:
            break
        shorter = {**fitted[at], "content": _LEFT_OUT}
        total -= tokens_of(fitted[at]) - tokens_of(shorter)
        fitted[at] = shorter
    return _without_oldest(fitted, budget) if total > budget else fitted


def _without_oldest(messages: list[Wire], budget: int) -> list[Wire]:
    """The messages without their oldest rounds; system prompt, summary and the last question stay."""
    first = 1 if messages and messages[0]["role"] == "system" else 0
    if len(messages) > first and str(messages[first]["content"]).startswith(_SUMMARY):
        first += 1
    while sum(map(tokens_of, messages)) > budget:
        starts = [at for at in range(first, len(messages)) if messages[at]["role"] == "user"]
        until = next((at for at in starts if at > first), None)
        if until is None:
            return messages
        messages = messages[:first] + messages[until:]
    return messages
