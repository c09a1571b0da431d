"""Which servers and tools a person has looked at. What has changed since is not trusted any more."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kosmos.tools.mcp_config import Entry, hash_of


@dataclass(frozen=True, slots=True)
class Trusted:
    """What was trusted: the entry of a server and each of its tools, by hash."""

    entry: str
    tools: Mapping[str, str]


class TrustFile:
    """A file that only its owner can write."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> dict[str, Trusted]:
        """Everything that is trusted; nothing where the file is missing or damaged."""
        try:
            whole = json.loads(self._path.read_text(encoding="utf-8"))
            return {
                str(name): Trusted(str(item["entry"]), {str(k): str(v) for k, v in item["tools"].items()})
                for name, item in whole.items()
            }
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return {}

    def write(self, name: str, trusted: Trusted) -> None:
        """Trust a server as it is now."""
        known = {**self.read(), name: trusted}
        text = json.dumps(
            {key: {"entry": item.entry, "tools": dict(item.tools)} for key, item in known.items()}, indent=1
        )
        self._path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self._path.with_suffix(".new")
        with os.fdopen(os.open(fresh, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w") as file:
            file.write(text)
        fresh.replace(self._path)


def definition_hash(tool: Mapping[str, Any]) -> str:
    """A tool as its server defines it: name, description, parameters, annotations."""
    return hash_of({key: tool.get(key) for key in ("name", "description", "inputSchema", "annotations")})


def entry_trusted(entry: Entry, known: Mapping[str, Trusted]) -> bool:
    """Whether a server is still the one that was trusted."""
    found = known.get(entry.name)
    return found is not None and found.entry == entry.hash


def changed_tools(
    entry: Entry, tools: Sequence[Mapping[str, Any]], known: Mapping[str, Trusted]
) -> dict[str, str]:
    """The tools that are not trusted, and why: `new`, `changed`, or `server` for all of them."""
    if not entry_trusted(entry, known):
        return {str(tool["name"]): "server" for tool in tools}
    before = known[entry.name].tools
    found = {}
    for tool in tools:
        name = str(tool["name"])
        if before.get(name) != definition_hash(tool):
            found[name] = "changed" if name in before else "new"
    return found
