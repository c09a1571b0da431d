"""The YAML block at the head of a Markdown file, read as data and nothing more."""

import datetime
from typing import Any

import yaml

MAX_CHARS = 20_000
MAX_DEPTH = 8


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
            return _read("\n".join(lines[1 : number - 1])), number + 1
    return {}, 1


def _read(text: str) -> dict[str, Any]:
    if len(text) > MAX_CHARS:
        return {}
    try:
        values = yaml.load(text, Loader=_PlainLoader)  # noqa: S506  (a SafeLoader)
        plain = _plain(values, MAX_DEPTH)
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}
    return plain if isinstance(plain, dict) else {}


def _plain(value: Any, depth: int) -> Any:
    """The value with nothing in it that JSON does not know."""
    if depth == 0:
        raise ValueError("nested too deeply")
    if isinstance(value, dict):
        return {str(key): _plain(item, depth - 1) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(item, depth - 1) for item in value]
    if isinstance(value, datetime.date):
        return value.isoformat()
    if value is None or isinstance(value, str | int | bool):
        return value
    if isinstance(value, float) and value == value and abs(value) != float("inf"):  # noqa: PLR0124
        return value
    return str(value)
