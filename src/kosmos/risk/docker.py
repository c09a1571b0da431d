"""docker and programs that speak like it: containers, images, volumes."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

from kosmos.risk.levels import Assessment, RiskLevel, change, read
from kosmos.risk.words import Options, split_words

_MEDIUM, _HIGH, _CRITICAL = RiskLevel.MEDIUM, RiskLevel.HIGH, RiskLevel.CRITICAL
_GLOBAL = Options(
    valued=frozenset(
        {"--config", "--context", "-c", "--host", "-H", "--log-level", "-l", "--namespace", "-n"}
    )
    | {"--tlscacert", "--tlscert", "--tlskey"},
    bare=frozenset({"--debug", "-D", "--tls", "--tlsverify", "--version", "-v", "--help", "-h"}),
)
_ELSEWHERE = frozenset({"--config", "--host", "-H"})
_GROUPS = frozenset(
    {"builder", "buildx", "checkpoint", "compose", "config", "container", "context", "image", "manifest"}
    | {"network", "node", "plugin", "pod", "secret", "service", "stack", "swarm", "system", "trust", "volume"}
)
_READS = frozenset(
    {
        "df",
        "diff",
        "events",
        "history",
        "images",
        "info",
        "list",
        "logs",
        "ls",
        "port",
        "ps",
        "search",
        "show",
    }
    | {"stats", "tasks", "top", "version"}
)
_DELETES = frozenset({"down", "kill", "leave", "prune", "remove", "rm", "rmi"})
_OPENING = (
    "--privileged --device --cap-add --security-opt --pid=host --userns=host --ipc=host -v/: -v=/: "
    "--volume=/: --network=host --net=host --uts=host"
)
_OPEN = tuple(_OPENING.split(" "))
_PAIRS = frozenset({"-v", "--volume", "--pid", "--userns", "--ipc", "--network", "--net", "--uts", "--mount"})


def assess_docker(args: Sequence[str], inner: Callable[[Sequence[str]], Assessment]) -> Assessment:
    """The risk of `docker ARGS`; `inner` judges the command that `exec` runs in a container."""
    front = split_words(args, _GLOBAL, stop_at_operand=True)
    if front.unknown or front.separated:
        return change("has an option before its verb that is not understood")
    if not front.operands:
        return read("prints help")
    verb, rest = front.operands[0], front.rest
    found = _below(verb, rest, inner) if verb in _GROUPS else _of_verb(verb, rest, inner)
    if front.has(*_ELSEWHERE):
        found = found.at_least(_HIGH, "speaks to another host or uses other settings", mutates=True)
    name = next((word for word in rest if not word.startswith("-")), None)
    return replace(
        found, verb=verb, kind="container", name=name, context=front.last("--context", "-c") or None
    )


def _below(group: str, rest: Sequence[str], inner: Callable[[Sequence[str]], Assessment]) -> Assessment:
    if not rest:
        return read("prints help")
    if rest[0].startswith("-"):
        return change(f"{group} with an option before its verb is not understood")
    if group in {"builder", "buildx", "manifest", "trust"} and rest[0] not in {
        "du",
        "inspect",
        "ls",
        "version",
    }:
        return change(f"{group} {rest[0]} changes something or is not understood")
    if group == "secret" and any(word.startswith("--show") for word in rest):
        return change("shows secrets")
    if (group, rest[0]) == ("compose", "config"):
        return read("prints the settings with their values", _MEDIUM)
    return _of_verb(rest[0], rest[1:], inner)


def _of_verb(verb: str, rest: Sequence[str], inner: Callable[[Sequence[str]], Assessment]) -> Assessment:
    if verb in _DELETES:
        return change("removes or ends containers, images or data", _CRITICAL)
    if verb == "inspect":
        return read("reads everything about a thing, its environment too", _MEDIUM)
    if verb in _READS:
        return read("reads the state of containers and images")
    if verb in {"run", "create"} and _opens_host(rest):
        return change("starts a container that may reach the host", _CRITICAL)
    found = change(f"{verb} changes something or is not understood")
    if verb == "exec":
        commands = [rest[at:] for at in range(1, len(rest)) if not rest[at].startswith("-")]
        worst = max((inner(command) for command in commands[:4]), key=lambda one: one.level, default=found)
        return found.at_least(worst.level, worst.reason)
    return found


def _opens_host(rest: Sequence[str]) -> bool:
    joined = [f"{a}={b}" for a, b in pairwise(rest) if a in _PAIRS]
    words = [*rest, *joined]
    return any(word.startswith(_OPEN) or "docker.sock" in word or "source=/," in word for word in words)
