"""File tools as commands: what changes a file is approved by the same digest as a command."""

import hashlib
from collections.abc import Mapping

from kosmos.errors import InvalidInput

READING = frozenset({"read_file", "list_files", "search_files", "system_info"})
_CHANGING: Mapping[str, tuple[str, ...]] = {
    "write_file": ("path", "content"),
    "move_file": ("source", "target"),
    "delete_file": ("path",),
}


def file_argv(tool: str, arguments: Mapping[str, str]) -> tuple[str, ...]:
    """The call of a tool that changes files as an argv; contents appear as their sha256."""
    names = _CHANGING.get(tool)
    if names is None or any(not isinstance(arguments.get(name), str) for name in names):
        raise InvalidInput(f"{tool} with these arguments is no change of a file.")
    return (tool, *(_shown(name, arguments[name]) for name in names))


def _shown(name: str, value: str) -> str:
    if name != "content":
        return value
    return "sha256:" + hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()
