"""Recorded investigations: calls get what was recorded for the same verb, kind, name, namespace."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kosmos.eval.ops_cluster import Command, read_command, singular

Mock = Mapping[str, Any]
_LOGS = ("fetch_pod_logs", "kubectl_logs", "kubectl_logs_all_containers")
_BEFORE = ("kubectl_previous_logs", "kubectl_previous_logs_all_containers", "fetch_pod_logs")
_GETS = ("kubectl_get_by_name", "kubectl_get_by_kind_in_namespace", "kubectl_get_by_kind_in_cluster")


@dataclass(slots=True)
class Recording:
    """The mocks of one investigation; what was asked for in vain is counted."""

    mocks: Sequence[Mock]
    found: int = 0
    missed: list[str] = field(default_factory=list)

    def kubectl(self, argv: Sequence[str]) -> tuple[str, bool]:
        """The recorded output of a kubectl command."""
        command = read_command(argv)
        for mock in self.mocks:
            if _answers(mock, command):
                return self._take(mock)
        self.missed.append("kubectl " + " ".join(argv))
        return "error: this command was not recorded; other commands may be", False

    def other(self, tool: str, arguments: Mapping[str, Any]) -> tuple[str, bool]:
        """The recorded output of any other tool; arguments that were recorded must be the same."""
        for mock in self.mocks:
            wanted = mock["match"] or {}
            same = all(str(arguments.get(key)) == str(value) for key, value in wanted.items() if value != "*")
            if mock["tool"] == tool and same:
                return self._take(mock)
        self.missed.append(f"{tool} {json.dumps(dict(arguments), ensure_ascii=False)}")
        return "error: this call was not recorded; other arguments may be", False

    @property
    def others(self) -> list[str]:
        """The recorded tools that are no kubectl, with the names of their arguments."""
        known = {*_LOGS, *_BEFORE, *_GETS, "kubectl_describe", "kubectl_find_resource", "kubectl_events"}
        known |= {"kubectl_top_pods"}
        rest = {str(m["tool"]): sorted(m["match"] or {}) for m in self.mocks if m["tool"] not in known}
        return [f"{name}({', '.join(names)})" for name, names in sorted(rest.items())]

    def _take(self, mock: Mock) -> tuple[str, bool]:
        self.found += 1
        return str(mock["output"] or mock["error"] or ""), mock["status"] != "error"


def _answers(mock: Mock, command: Command) -> bool:
    tool, match = str(mock["tool"]), mock["match"] or {}
    if command.verb == "logs":
        tools = _BEFORE if command.previous else _LOGS
        previous = "--previous" in str(mock["output"]) or "previous" in tool
        fits = tool in tools and (not command.previous or previous)
        return fits and _same(match, command, name="pod_name")
    if command.verb == "describe":
        return tool == "kubectl_describe" and _same(match, command)
    if command.verb == "get" and command.kind == "event":
        return tool == "kubectl_events"
    if command.verb == "get":
        return _get(mock, match, command)
    return command.verb == "top" and tool == "kubectl_top_pods"


def _get(mock: Mock, match: Mapping[str, Any], command: Command) -> bool:
    tool = str(mock["tool"])
    if tool == "kubectl_find_resource":  # it looked everywhere: what it found may be in the wanted namespace
        kinds = singular(str(match.get("kind", ""))) in (command.kind, "*")
        there = command.everywhere or (command.namespace or "default") in str(mock["output"])
        return kinds and not command.name and there
    if tool not in _GETS or ("name" in match) != bool(command.name):
        return False
    return _same(match, command)


def _same(match: Mapping[str, Any], command: Command, *, name: str = "name") -> bool:
    kind = match.get("kind")
    space = str(match.get("namespace", ""))
    return (
        (kind is None or singular(str(kind)) == command.kind)
        and (name not in match or str(match[name]) == command.name)
        and (not space or command.everywhere or space == (command.namespace or "default"))
    )
