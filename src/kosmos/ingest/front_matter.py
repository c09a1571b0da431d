"""The YAML block at the head of a Markdown file, read as data and nothing more."""

import datetime
from functools import lru_cache
from typing import Any

import yaml

MAX_CHARS = 20_000
MAX_DEPTH = 8
MAX_BITS = 1024
# What the YAML library lets out when a tag and its value do not fit, as in `!!int ""`.
_UNREADABLE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


class _PlainLoader(yaml.SafeLoader):
    """Safe YAML without aliases, by which a few lines could stand for gigabytes."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.events.AliasEvent):
            raise yaml.YAMLError("aliases are not read")
        return super().compose_node(parent, index)


def split_front_matter(text: str) -> tuple[dict[str, Any], int]:
    """The front matter as JSON-like values and the number of the first line after it.

    What looks like front matter but cannot be read is no error: it is text, and metadata is empty.
    """
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        return {}, 1
    for number, line in enumerate(lines[1:], start=2):
        if line.rstrip() in ("---", "..."):
            metadata = _read("\n".join(lines[1 : number - 1]))
            return ({}, 1) if metadata is None else (dict(metadata), number + 1)
    return {}, 1


@lru_cache(maxsize=256)  # what is converted now is soon chunked
def _read(text: str) -> dict[str, Any] | None:
    """The values, or None when this is no front matter: prose between two rules, say."""
    if len(text) > MAX_CHARS:
        return None
    try:
        values = yaml.load(text, Loader=_PlainLoader)  # noqa: S506  (a SafeLoader)
        plain = _plain({} if values is None else values, MAX_DEPTH)
    except (yaml.YAMLError, *_UNREADABLE):
        return None
    return plain if isinstance(plain, dict) else None


def _plain(value: Any, depth: int) -> Any:
    """The value with nothing in it that JSON does not know."""
    if depth == 0:
        raise ValueError("nested too deeply")
    if isinstance(value, dict):
        return {_storable(str(key)): _plain(item, depth - 1) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(item, depth - 1) for item in value]
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, str):
        return _storable(value)
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise ValueError("too large a number")
    if value is None or isinstance(value, int):
        return value
    if isinstance(value, float) and value == value and abs(value) != float("inf"):  # noqa: PLR0124
        return value
    return str(value)


def _storable(text: str) -> str:
    """Without what escapes can bring in and no database takes: U+0000 and halves of surrogate pairs."""
    return text.replace("\x00", "").encode("utf-16", "surrogatepass").decode("utf-16", "ignore")
