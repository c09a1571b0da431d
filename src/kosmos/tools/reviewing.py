"""What a call would do, before it is made: its risk, and the digest that an approval is bound to.

The model may judge a call to be more dangerous than it looks here, never less; nor may a server that
offers the tool.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kosmos.risk import assess, digest
from kosmos.tools.contract import Tool

LEVELS = ("LOW", "MEDIUM", "HIGH", "CRITICAL")
ARGV = "argv"  # label: which argument holds a command
PROGRAM = "program"  # label: what stands before that argument
RISK = "risk"  # label: what the operator says of a tool that runs no command
FLOOR = "floor"  # label: what the server says of it, which only counts upwards
CONTEXT, NAMESPACE = "context", "namespace"  # labels: where commands go that name nothing themselves


@dataclass(frozen=True, slots=True)
class Review:
    """What a call would do. `argv` is None for a tool that runs no command."""

    level: str
    reason: str
    digest: str
    mutates: bool
    argv: tuple[str, ...] | None = None
    context: str = ""
    namespace: str = ""

    @property
    def needs_approval(self) -> bool:
        """Whether a person must say yes to exactly this."""
        return self.mutates or rank(self.level) >= rank("HIGH")


def rank(level: str) -> int:
    """Higher means more; what is no level is the highest."""
    return LEVELS.index(level) if level in LEVELS else len(LEVELS) - 1


def graver(*levels: str | None) -> str:
    """The gravest of some levels."""
    return max((level for level in levels if level), key=rank, default="LOW")


def review_call(tool: Tool, arguments: Mapping[str, Any], judged: str | None = None) -> Review:
    """The review of a call with checked arguments."""
    name = tool.labels.get(ARGV)
    if name is not None:
        return _review_command(tool, arguments, str(name), judged)
    own = tool.labels.get(RISK) or ("LOW" if tool.read_only else "HIGH")
    level = graver(str(own), tool.labels.get(FLOOR), judged)
    mutates = not tool.read_only and rank(level) >= rank("HIGH")
    reason = "It only reads." if tool.read_only else f"{tool.name} is a tool of risk {level}."
    return Review(level, reason, call_digest(tool, arguments), mutates)


def _review_command(tool: Tool, arguments: Mapping[str, Any], name: str, judged: str | None) -> Review:
    given = arguments.get(name)
    parts = [str(part) for part in given] if isinstance(given, list | tuple) else [str(given or "")]
    argv = (*tool.labels.get(PROGRAM, ()), *parts)
    found = assess(argv)
    context = found.context or str(tool.labels.get(CONTEXT, ""))
    namespace = found.namespace or str(tool.labels.get(NAMESPACE, ""))
    command = digest(argv, context or None, namespace or None)
    bound = hashlib.sha256(f"{call_digest(tool, arguments)} {command}".encode()).hexdigest()
    level = graver(found.level.name, tool.labels.get(FLOOR), judged)
    return Review(level, found.reason, bound, bool(found.mutates), argv, context, namespace)


def call_digest(tool: Tool, arguments: Mapping[str, Any]) -> str:
    """One tool as it is defined now, with exactly these arguments."""
    told = [tool.name, str(tool.labels.get("hash", "")), _plain(arguments)]
    return hashlib.sha256(json.dumps(told, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def _plain(value: Any) -> Any:
    """Arguments as JSON would hold them."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_plain(item) for item in value]
    return value if isinstance(value, str | int | float | bool | type(None)) else repr(value)


def rehearsal(argv: Sequence[str]) -> tuple[str, ...] | None:
    """A command that shows what this one would change, and itself changes nothing; None if there is none."""
    if not argv or "--" in argv or argv[0].rsplit("/", 1)[-1] != "kubectl":
        return None
    verb = (assess(argv).verb or "").split(" ", 1)[0]
    if verb not in argv or any(word.startswith("--dry-run") for word in argv):
        return None
    at = list(argv).index(verb)
    if verb == "apply" and not {"set-last-applied", "edit-last-applied"} & set(argv):
        tried: tuple[str, ...] = (*argv[:at], "diff", *argv[at + 1 :])
    elif verb in _REHEARSED:
        tried = (*argv, "--dry-run=server")
    else:
        return None
    found = assess(tried)
    return tried if not found.mutates and rank(found.level.name) < rank("HIGH") else None


_REHEARSED = frozenset(
    {
        *("annotate", "autoscale", "cordon", "create", "delete", "drain", "expose", "label"),
        *("patch", "replace", "run", "scale", "set", "taint", "uncordon"),
    }
)
