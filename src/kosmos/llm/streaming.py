"""One streamed question to a chat model: pieces as they come, then the whole turn with its cost."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx2

from kosmos.domain.credentials import Credential
from kosmos.domain.jobs import Spent
from kosmos.domain.tokens import estimate_tokens
from kosmos.errors import ProviderRejected, ProviderUnavailable
from kosmos.llm.chat import OWN_OPTIONS, Call, Message, cost_of
from kosmos.llm.client import client_for
from kosmos.llm.thoughts import Piece, Text, ThinkSplitter, Thought
from kosmos.telemetry import measures, traces

if TYPE_CHECKING:
    import openai

_REASONING = ("reasoning_content", "reasoning")  # what servers call it
MAX_CALLS = 64
MAX_CHARS = 2_000_000  # of one turn: more is a model that has lost its way


@dataclass(frozen=True, slots=True)
class Model:
    """A model that may be asked. `transport` is the way there, where it must be a guarded one."""

    credential: Credential
    key: str | None = field(default=None, repr=False)
    transport: httpx2.AsyncBaseTransport | None = None


@dataclass(frozen=True, slots=True)
class Inquiry:
    """What a model is asked. `tool_choice` is `auto`, `required` or `none`."""

    messages: Sequence[Message]
    tools: Sequence[Mapping[str, Any]] = ()
    tool_choice: str = "auto"
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StreamedCall:
    """A call of a tool, with the id that its result must name."""

    id: str
    call: Call


@dataclass(frozen=True, slots=True)
class Turn:
    """Everything a model said in one go. `estimated` says that nobody but us counted the tokens."""

    text: str
    thoughts: str
    calls: tuple[StreamedCall, ...]
    finish: str
    spent: Spent
    model: str
    estimated: bool = False


async def stream_once(
    model: Model, inquiry: Inquiry, *, seconds: float
) -> AsyncGenerator[Piece | Turn, None]:
    """Ask once, without any second try. The last item is the Turn; `seconds` limits each silence."""
    kind = model.credential.type.value
    seen = traces.begin("model call", type=kind, streamed=True)
    try:
        with measures.timed(measures.MODEL_SECONDS, kind):
            async with aclosing(_streamed(model, inquiry, seconds)) as pieces:
                async for piece in pieces:
                    if isinstance(piece, Turn):
                        measures.count_model_call(kind, piece.spent)
                    yield piece
    finally:
        traces.end(seen)


async def _streamed(model: Model, inquiry: Inquiry, seconds: float) -> AsyncGenerator[Piece | Turn, None]:
    gathered = _Gathered()
    credential = model.credential
    async with (
        client_for(credential, model.key, seconds, transport=model.transport) as client,
        _opened(client, _request(credential, inquiry)) as lines,
    ):
        async for data in _in_time(lines, seconds):
            for piece in gathered.take(_chunk(data, credential)):
                yield piece
            if gathered.size > MAX_CHARS or len(gathered.calls) > MAX_CALLS:
                raise _endless(credential)
    for piece in gathered.end(credential):
        yield piece
    yield gathered.turn(credential, inquiry)


def _request(credential: Credential, inquiry: Inquiry) -> dict[str, Any]:
    given = {name: value for name, value in credential.options.items() if name not in OWN_OPTIONS}
    request: dict[str, Any] = {
        **given,
        **inquiry.options,
        "model": credential.model,
        "messages": list(inquiry.messages),
        "stream": True,
    }
    if credential.options.get("stream_usage", True):
        request["stream_options"] = {"include_usage": True}
    if inquiry.tools and inquiry.tool_choice != "none":
        request |= {"tools": list(inquiry.tools), "tool_choice": inquiry.tool_choice}
    return request


@asynccontextmanager
async def _opened(client: "openai.AsyncOpenAI", request: dict[str, Any]) -> AsyncIterator[AsyncIterator[str]]:
    """The lines of an answer as they come.

    The request goes out as it is and the lines come in as they are: the client library would look at every
    value of a long talk, and make objects of every piece, which costs ten times what all the rest does.
    """
    import openai

    stream = await client.post(
        "/chat/completions", body=request, cast_to=object, stream=True, stream_cls=openai.AsyncStream[Any]
    )
    try:
        yield stream.response.aiter_lines()
    finally:
        await stream.close()


async def _in_time(lines: AsyncIterator[str], seconds: float) -> AsyncIterator[str]:
    """The data in the lines until they say that they are done.

    TimeoutError when a line is too long in coming; comments that keep a connection alive count as lines.
    """
    while True:
        async with asyncio.timeout(seconds):
            line = await anext(lines, None)
        data = None if line is None else line.removeprefix("data:").strip()
        if line is None or data == "[DONE]":
            return
        if data and line.startswith("data:"):
            yield data


def _chunk(data: str, credential: Credential) -> Mapping[str, Any]:
    try:
        chunk = json.loads(data)
    except (ValueError, RecursionError):
        chunk = None
    if not isinstance(chunk, dict) or "error" in chunk:
        raise _unreadable(credential)
    return chunk


def _unreadable(credential: Credential) -> ProviderUnavailable:
    return ProviderUnavailable(
        f"{credential.name} ({credential.model}) broke off in the middle of its answer.",
        remedy=f"Check it with: kosmos credentials test {credential.name}",
    )


def _endless(credential: Credential) -> ProviderRejected:
    return ProviderRejected(
        f"{credential.name} ({credential.model}) does not come to an end.",
        remedy="Limit its answers with the option max_tokens.",
    )


@dataclass(slots=True)
class _Gathered:
    """What has come of a turn so far."""

    said: list[str] = field(default_factory=list)
    thought: list[str] = field(default_factory=list)
    calls: dict[int, dict[str, str]] = field(default_factory=dict)
    finish: str = ""
    usage: Mapping[str, Any] | None = None
    splitter: ThinkSplitter = field(default_factory=ThinkSplitter)
    size: int = 0

    def take(self, chunk: Mapping[str, Any]) -> Iterator[Piece]:
        """Note a chunk, and tell what it says."""
        if isinstance(usage := chunk.get("usage"), dict):
            self.usage = usage
        choices = chunk.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            return
        delta = choices[0].get("delta")
        if isinstance(delta, dict):
            yield from self._speak(delta)
            self._call(delta.get("tool_calls"))
        if isinstance(finish := choices[0].get("finish_reason"), str):
            self.finish = finish

    def _speak(self, delta: Mapping[str, Any]) -> Iterator[Piece]:
        reasoning = next((delta[name] for name in _REASONING if isinstance(delta.get(name), str)), "")
        if reasoning:
            yield from self._note([Thought(reasoning)])
        if isinstance(content := delta.get("content"), str) and content:
            yield from self._note(self.splitter.feed(content))

    def _note(self, pieces: Iterator[Piece] | list[Piece]) -> Iterator[Piece]:
        for piece in pieces:
            if isinstance(piece, Thought):
                self.thought.append(piece.text)
            elif isinstance(piece, Text):
                self.said.append(piece.text)
            else:
                self.thought += self.said
                self.said = []
            self.size += len(getattr(piece, "text", ""))
            yield piece

    def _call(self, parts: Any) -> None:
        """Calls come in parts, told apart by their index; some servers leave it out."""
        for place, part in enumerate(parts if isinstance(parts, list) else []):
            if not isinstance(part, dict):
                continue
            index = part.get("index")
            known = self.calls.setdefault(
                index if isinstance(index, int) else place, {"id": "", "name": "", "arguments": ""}
            )
            function = part.get("function")
            values = {**(function if isinstance(function, dict) else {}), "id": part.get("id")}
            if isinstance(values.get("id"), str) and values["id"]:
                known["id"] = values["id"]
            for name in ("name", "arguments"):
                if isinstance(values.get(name), str):
                    known[name] += values[name]
                    self.size += len(values[name])

    def end(self, credential: Credential) -> Iterator[Piece]:
        """What was held back; ProviderUnavailable when the answer did not come to its end."""
        yield from self._note(self.splitter.end())
        if not self.finish:
            raise _unreadable(credential)

    def turn(self, credential: Credential, inquiry: Inquiry) -> Turn:
        """The whole."""
        calls = tuple(
            StreamedCall(part["id"] or f"call_{index}", _parsed(part["name"], part["arguments"]))
            for index, part in sorted(self.calls.items())
        )
        text, thoughts = "".join(self.said).strip(), "".join(self.thought).strip()
        spent = spent_of(credential, self.usage)
        estimated = spent is None
        if spent is None:
            prompt = sum(estimate_tokens(json.dumps(item, ensure_ascii=False)) for item in inquiry.messages)
            written = "".join([text, thoughts, *(part["arguments"] for part in self.calls.values())])
            output = estimate_tokens(written)
            spent = Spent(prompt, 0, output, cost_of(credential, prompt, output) or 0.0)
        return Turn(text, thoughts, calls, self.finish, spent, credential.model, estimated)


def spent_of(credential: Credential, usage: Mapping[str, Any] | None) -> Spent | None:
    """By the provider's own count; None when it did not count."""
    if usage is None:
        return None
    prompt, output = usage.get("prompt_tokens"), usage.get("completion_tokens")
    if not isinstance(prompt, int) or not isinstance(output, int):
        return None
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else 0
    cached = cached if isinstance(cached, int) else 0
    return Spent(prompt, cached, output, cost_of(credential, prompt, output, cached) or 0.0)


def _parsed(name: str, text: str) -> Call:
    try:
        arguments = json.loads(text or "{}")
    except (ValueError, RecursionError):
        arguments = None
    return Call(name, arguments if isinstance(arguments, dict) else None, text)
