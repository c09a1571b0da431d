"""Chat completions in the words of the protocol, whole and in chunks."""

import json
from collections.abc import Iterator
from typing import Any

from kosmos.doubles.replies import Reply, ToolCall
from kosmos.doubles.requests import Body, message_text
from kosmos.errors import InvalidInput


def check_chat(body: Body) -> None:
    """InvalidInput for a request that a real server would refuse."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise InvalidInput("messages must be a list that is not empty")
    if not all(isinstance(message, dict) and message.get("role") for message in messages):
        raise InvalidInput("each message must be an object with a role")


def estimate_tokens(*texts: str) -> int:
    """A rough count of tokens: one for four characters, and never none."""
    return max(1, sum(map(len, texts)) // 4)


def completion(reply: Reply, body: Body, number: int) -> dict[str, Any]:
    """The whole answer as one object."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.content}
    if reply.reasoning:
        message["reasoning_content"] = reply.reasoning
    if reply.tool_calls:
        message["content"] = reply.content or None
        message["tool_calls"] = [
            _call(call, number, index, _arguments(call)) for index, call in enumerate(reply.tool_calls)
        ]
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish_reason(reply)}
    return {**_frame(body, number, "chat.completion"), "choices": [choice], "usage": _usage(reply, body)}


def chunks(reply: Reply, body: Body, number: int) -> Iterator[dict[str, Any]]:
    """The same answer as the chunks of a stream."""
    frame = _frame(body, number, "chat.completion.chunk")
    with_usage = bool((body.get("stream_options") or {}).get("include_usage"))
    if with_usage:
        frame["usage"] = None
    for delta in _deltas(reply, number):
        yield {**frame, "choices": [_choice(delta, None)]}
    yield {**frame, "choices": [_choice({}, _finish_reason(reply))]}
    if with_usage:
        yield {**frame, "choices": [], "usage": _usage(reply, body)}


def _deltas(reply: Reply, number: int) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": ""}
    for piece in _pieces(reply.reasoning):
        yield {"reasoning_content": piece}
    for piece in _pieces(reply.content):
        yield {"content": piece}
    for index, call in enumerate(reply.tool_calls):
        yield {"tool_calls": [{"index": index, **_call(call, number, index, "")}]}
        for piece in _pieces(_arguments(call)):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _pieces(text: str) -> list[str]:
    """The text in pieces of eight characters, or in about a hundred longer ones."""
    size = max(8, len(text) // 100)
    return [text[start : start + size] for start in range(0, len(text), size)]


def _frame(body: Body, number: int, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{number}", "object": kind, "created": 0, "model": body.get("model", "")}


def _choice(delta: dict[str, Any], finish_reason: str | None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}


def _call(call: ToolCall, number: int, index: int, arguments: str) -> dict[str, Any]:
    function = {"name": call.name, "arguments": arguments}
    return {"id": call.id or f"call_{number}_{index}", "type": "function", "function": function}


def _arguments(call: ToolCall) -> str:
    if isinstance(call.arguments, str):
        return call.arguments
    return json.dumps(call.arguments, ensure_ascii=False)


def _finish_reason(reply: Reply) -> str:
    return reply.finish_reason or ("tool_calls" if reply.tool_calls else "stop")


def _usage(reply: Reply, body: Body) -> dict[str, Any]:
    usage = {
        "prompt_tokens": estimate_tokens(*map(message_text, body["messages"])),
        "completion_tokens": estimate_tokens(
            reply.content, reply.reasoning, *map(_arguments, reply.tool_calls)
        ),
        **(reply.usage or {}),
    }
    return {"total_tokens": usage["prompt_tokens"] + usage["completion_tokens"], **usage}
