"""Scripted replies: what the model double says, and how it misbehaves."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ConfigDict

from kosmos.doubles.requests import Body, Endpoint, strings_in

# Script files are checked against these very dataclasses; a misspelt field must not pass in silence.
_CLOSED = ConfigDict(extra="forbid")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool. `arguments` as a string is sent as it is, so that broken JSON can be sent too."""

    __pydantic_config__ = _CLOSED

    name: str
    arguments: dict[str, Any] | str
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Anywhere:
    """Holds for a request that contains the text in any of its strings, not only in the last user message."""

    __pydantic_config__ = _CLOSED

    anywhere: str

    def __call__(self, body: Body) -> bool:
        return any(self.anywhere in text for text in strings_in(body))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One reply of the script. On endpoints other than chat it can only delay, fail or spoil the answer."""

    __pydantic_config__ = _CLOSED

    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    finish_reason: str | None = None  # None: `tool_calls` where there are any, else `stop`
    usage: Mapping[str, Any] | None = None  # laid over the estimate
    status: int = 200
    retry_after: float | None = None  # seconds, for the Retry-After header
    delay: float = 0  # seconds before the answer begins
    pace: float = 0  # seconds before each chunk of a stream
    hang: bool = False  # no answer; with truncate_after, the stream stalls there instead of breaking off
    malformed: str | None = None  # sent as the body, or as the one event of a stream, in place of JSON
    truncate_after: int | None = None  # chunks of a stream before the connection breaks
    vectors: int | None = None  # embeddings: how many come, in place of one for each text
    dimension: int | None = None  # embeddings: how long they are, whatever was asked for
    not_a_number: bool = False  # embeddings: the first number of each is none
    when: str | Anywhere | Callable[[Body], bool] | None = None  # a string: part of the last user message
    repeat: bool = False  # is never used up
    endpoint: Endpoint = "chat"

    def __post_init__(self) -> None:
        if self.status != 200 and not 400 <= self.status <= 599:
            raise ValueError(f"status {self.status} is neither 200 nor an error from 400 to 599")
        for name in ("retry_after", "delay", "pace", "truncate_after", "vectors", "dimension"):
            if (getattr(self, name) or 0) < 0:
                raise ValueError(f"{name} is negative")
        if self.endpoint != "chat" and (self.content or self.tool_calls or self.reasoning):
            raise ValueError(f"a reply for {self.endpoint} cannot have content, tool_calls or reasoning")
        spoils = self.vectors is not None or self.dimension is not None or self.not_a_number
        if spoils and self.endpoint != "embeddings":
            raise ValueError("vectors, dimension and not_a_number are for embeddings only")


DEFAULT_REPLY = Reply(content="This is the scripted reply of the model double.", repeat=True)
