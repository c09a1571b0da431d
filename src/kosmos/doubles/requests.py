"""What a request to a model says, and what the double keeps of it."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Endpoint = Literal["chat", "embeddings", "rerank", "models"]
Body = dict[str, Any]

_SECRET_HEADERS = {"authorization", "proxy-authorization", "api-key", "x-api-key", "cookie"}


@dataclass(frozen=True, slots=True)
class Recorded:
    """A request as it arrived. Header names are in lower case; secret values are kept as fingerprints.

    `body` is the decoded JSON, the raw text where it was no JSON, and None where there was none.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


def fingerprint(secret: str) -> str:
    """The sha256 of a header's value, such as `Bearer sk-1`, under which it can be found again."""
    return hashlib.sha256(secret.encode()).hexdigest()


def safe_headers(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The headers without any secret."""
    lowered = ((name.lower(), value) for name, value in headers)
    return {name: fingerprint(value) if name in _SECRET_HEADERS else value for name, value in lowered}


def message_text(message: Mapping[str, Any]) -> str:
    """The text of one chat message, whether it is given whole or in parts."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(part.get("text", "")) for part in parts if isinstance(part, dict))


def last_user_text(body: Body) -> str:
    """What the user said last, or nothing."""
    users = [message for message in body.get("messages", []) if message.get("role") == "user"]
    return message_text(users[-1]) if users else ""


def subject(endpoint: Endpoint, body: Body) -> str:
    """The text that a scripted reply is matched with."""
    if endpoint == "chat":
        return last_user_text(body)
    asked = {"embeddings": body.get("input"), "rerank": body.get("query"), "models": None}[endpoint]
    return "\n".join(strings_in(asked))


def strings_in(value: Any) -> Iterator[str]:
    """Every string inside a JSON value, at any depth; keys do not count."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for child in value.values() if isinstance(value, dict) else value:
            yield from strings_in(child)
