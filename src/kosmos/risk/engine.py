"""The engine: from an exact argv to a level and a reason."""

import re
from collections.abc import Sequence
from dataclasses import replace

from kosmos.risk.docker import assess_docker
from kosmos.risk.helm import assess_helm
from kosmos.risk.kubectl import assess_kubectl
from kosmos.risk.levels import Assessment, RiskLevel, change, read
from kosmos.risk.programs import assess_program
from kosmos.risk.shell import split_line
from kosmos.risk.systemd import assess_journalctl, assess_service, assess_systemctl
from kosmos.risk.wrappers import SHELLS, WRAPPERS, Wrapped, assigned, unwrap

MAX_DEPTH = 6
_KUBECTL = frozenset({"kubectl", "k", "oc", "kubecolor"})
_DOCKER = frozenset({"docker", "podman", "nerdctl"})
_BUNDLED = frozenset({"k3s", "k0s", "microk8s", "minikube", "rke2"})
_SYSTEM = ("/usr/", "/bin/", "/sbin/", "/opt/", "/snap/")
_SHELLISH = re.compile(r"\d*>.*|&>.*|<{1,3}|\|{1,2}|\|&|&{1,2}|;+|[^;]+;|.*\$\(.*|`.*`", re.DOTALL)
_ODD = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def assess(argv: Sequence[str]) -> Assessment:
    """What the command does, how dangerous that is, and why. What is not understood is HIGH."""
    return _assess(tuple(argv), 0)


def assess_line(text: str) -> Assessment:
    """The same for a line of shell: as dangerous as its most dangerous part."""
    return _assess_line(text, 0)


def _assess(argv: Sequence[str], depth: int) -> Assessment:
    if not argv or not argv[0].strip():
        return change("names no program")
    if depth > MAX_DEPTH:
        return change("is wrapped too deeply to be understood")
    name = _program_name(argv[0])
    found = replace(_dispatch(name, argv[1:], depth), program=name)
    if "/" in argv[0] and not _is_system_path(argv[0]):
        found = found.at_least(RiskLevel.HIGH, "runs a program that is not one of the system", mutates=True)
    if any(_ODD.search(word) for word in argv):
        found = found.at_least(RiskLevel.HIGH, "has control characters in it", mutates=True)
    if name not in SHELLS and any(_SHELLISH.fullmatch(word) for word in argv[1:]):
        found = found.at_least(RiskLevel.HIGH, "is meant for a shell", mutates=True)
    return found


def _dispatch(name: str, args: Sequence[str], depth: int) -> Assessment:
    def inner(argv: Sequence[str]) -> Assessment:
        return _assess(argv, depth + 1)

    if name in _KUBECTL:
        return assess_kubectl(args, inner)
    if name in _BUNDLED:
        return _bundled(name, args, depth)
    if name in _DOCKER:
        return assess_docker(args, inner)
    if name in WRAPPERS:
        return _wrapped(unwrap(name, args), depth)
    if name in SHELLS:
        return _shell(args, depth)
    plain = {"helm": assess_helm, "systemctl": assess_systemctl, "service": assess_service}
    judge = plain.get(name) or (assess_journalctl if name == "journalctl" else None)
    return judge(args) if judge else assess_program(name, args)


def _bundled(name: str, args: Sequence[str], depth: int) -> Assessment:
    if args[:1] != ("kubectl",):
        return change(f"{name} changes something or is not understood")
    return _assess(("kubectl", *args[2 if args[1:2] == ("--",) else 1 :]), depth + 1)


def _wrapped(found: Wrapped, depth: int) -> Assessment:
    if found.line is not None:
        inside = _assess_line(found.line, depth + 1)
    elif found.argv:
        inside = _assess(found.argv, depth + 1)
    else:
        inside = found.alone or change("runs nothing that could be understood")
    return inside.at_least(found.floor, found.reason, mutates=found.floor >= RiskLevel.HIGH)


def _shell(args: Sequence[str], depth: int) -> Assessment:
    """A shell is never below HIGH: what it runs is no argv that anybody could check."""
    found = change("runs a shell")
    at = next((at for at, word in enumerate(args) if re.fullmatch(r"-[a-zA-Z]*c[a-zA-Z]*", word)), None)
    texts = [word for word in args[at + 1 :] if not word.startswith("-")] if at is not None else []
    if not texts:
        return found
    inside = _assess_line(texts[0], depth + 1)
    return inside.at_least(RiskLevel.HIGH, f"runs a shell: {inside.reason}", mutates=True)


def _assess_line(text: str, depth: int) -> Assessment:
    line = split_line(text)
    if depth > MAX_DEPTH or not line.commands:
        return change("holds no command that could be understood")
    parts = [_command(words, depth) for words in line.commands]
    found = max(parts, key=lambda part: part.level)
    found = replace(found, mutates=any(part.mutates for part in parts))
    if line.writes:
        found = found.at_least(RiskLevel.HIGH, "writes into a file", mutates=True)
    if line.opaque:
        found = found.at_least(RiskLevel.HIGH, "holds expansions that only a shell can resolve", mutates=True)
    if line.compound or line.reads:
        found = found.at_least(RiskLevel.MEDIUM, "puts several commands or files together")
    return found


def _command(words: Sequence[str], depth: int) -> Assessment:
    floor, rest = assigned(words)
    inside = _assess(tuple(rest), depth + 1) if rest else read("sets variables", RiskLevel.MEDIUM)
    return inside.at_least(floor, "sets variables that may change what runs", mutates=floor >= RiskLevel.HIGH)


def _program_name(word: str) -> str:
    return word.rstrip("/").rpartition("/")[2].lower().removesuffix(".exe")


def _is_system_path(path: str) -> bool:
    return path.startswith(_SYSTEM) and ".." not in path.split("/")
