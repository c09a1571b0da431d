"""The script of the model double: which reply answers which request."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from kosmos.doubles.replies import DEFAULT_REPLY, Anywhere, Reply, ToolCall
from kosmos.doubles.requests import Body, Endpoint, subject
from kosmos.errors import InvalidInput

DIMENSION = 384

Decide = Callable[[Body], Reply]


class Script:
    """Hands out replies: the first unused one that matches, else the default.

    A callable in place of the list decides every chat request itself.
    """

    def __init__(self, source: Sequence[Reply] | Decide = (), *, default: Reply = DEFAULT_REPLY) -> None:
        self._decide = source if callable(source) else None
        self._waiting = [] if callable(source) else list(source)
        self._default = default

    @property
    def unused(self) -> tuple[Reply, ...]:
        """The replies that have not been given yet; repeated ones do not count."""
        return tuple(reply for reply in self._waiting if not reply.repeat)

    def choose(self, endpoint: Endpoint, body: Body) -> Reply:
        """The reply to a request. It never waits, so two requests at once cannot get the same reply."""
        if endpoint == "chat" and self._decide is not None:
            return self._decide(body)
        for position, reply in enumerate(self._waiting):
            if reply.endpoint == endpoint and _matches(reply, body):
                return reply if reply.repeat else self._waiting.pop(position)
        return self._default if endpoint == "chat" else Reply(endpoint=endpoint)


def _matches(reply: Reply, body: Body) -> bool:
    if reply.when is None:
        return True
    if isinstance(reply.when, str):
        return reply.when in subject(reply.endpoint, body)
    return bool(reply.when(body))


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptFile:
    """What a script file says."""

    __pydantic_config__ = Reply.__pydantic_config__

    replies: tuple[Reply, ...] = ()
    default: Reply = DEFAULT_REPLY
    dimension: int = DIMENSION

    def __post_init__(self) -> None:
        if self.dimension < 1:
            raise ValueError(f"dimension {self.dimension} is not positive")
        if self.default.endpoint != "chat":
            raise ValueError("the default reply is for chat only")


_FIELDS = {kind: [field.name for field in fields(kind)] for kind in (ScriptFile, Reply, ToolCall, Anywhere)}
_KNOWN = {name for names in _FIELDS.values() for name in names}
_REMEDY = (
    f"Correct it there. A script is an object with {', '.join(_FIELDS[ScriptFile])}; "
    f"a reply may have {', '.join(_FIELDS[Reply])}; "
    f'a tool call has {", ".join(_FIELDS[ToolCall])}; `when` is a text or {{"anywhere": text}}.'
)


def load_script(path: Path) -> ScriptFile:
    """The script in a JSON file, or InvalidInput that names the place of the mistake."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidInput(
            f"The script {path} cannot be read: {error.strerror}.", remedy="Give the path of a JSON file."
        ) from error
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"The script {path} is not UTF-8: {error.reason} at byte {error.start}.",
            remedy="Save the file in UTF-8.",
        ) from error
    try:
        json.loads(text)
        return TypeAdapter(ScriptFile).validate_json(text, strict=True)
    except json.JSONDecodeError as error:
        raise InvalidInput(
            f"The script {path} is not JSON: {error.msg} at line {error.lineno}, column {error.colno}.",
            remedy="Correct the JSON at that place.",
        ) from error
    except ValidationError as error:
        first = error.errors()[0]
        message = first["msg"].removeprefix("Value error, ")
        place = _place(first["loc"], misspelt=first["type"] == "unexpected_keyword_argument")
        raise InvalidInput(f"The script {path} is wrong at {place}: {message}.", remedy=_REMEDY) from error


def _place(steps: tuple[int | str, ...], *, misspelt: bool) -> str:
    """Where in the file: `replies[2].status`, without the names Pydantic gives to branches of a union."""
    place = ""
    for step in steps:
        if isinstance(step, int):
            place += f"[{step}]"
        elif step in _KNOWN or misspelt:
            place += f".{step}" if place else step
    return place or "the top"
