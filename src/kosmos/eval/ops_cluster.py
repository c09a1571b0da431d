"""A kubectl over manifests: enough of `get` and `describe` to look at objects; nothing changes any."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

_SHORT = {
    "po": "pod",
    "svc": "service",
    "deploy": "deployment",
    "ing": "ingress",
    "ns": "namespace",
    "cm": "configmap",
    "sts": "statefulset",
    "ds": "daemonset",
    "no": "node",
    "pvc": "persistentvolumeclaim",
    "sa": "serviceaccount",
}
_TAKES_VALUE = frozenset(
    {"-n", "--namespace", "-o", "--output", "-l", "--selector", "--context", "--tail", "-c"}
)
Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Command:
    """What a kubectl command is about."""

    verb: str = ""
    kind: str = ""
    name: str = ""
    namespace: str = ""
    everywhere: bool = False
    output: str = ""
    previous: bool = False


def read_command(argv: Sequence[str]) -> Command:
    """The words of a command behind `kubectl`."""
    words, options = _split(argv)
    verb = words[0] if words else ""
    rest = words[1:]
    kind, slash, name = (rest[0] if rest else "").partition("/")
    if not slash:
        name = rest[1] if len(rest) > 1 else ""
    if verb == "logs":
        kind, name = ("pod", kind) if not slash else (kind, name)
    return Command(
        verb,
        singular(kind),
        name,
        options.get("-n") or options.get("--namespace", ""),
        "-A" in options or "--all-namespaces" in options,
        options.get("-o") or options.get("--output", ""),
        "--previous" in options or "-p" in options,
    )


def _split(argv: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    words, options, at = list[str](), dict[str, str](), 0
    while at < len(argv):
        word = argv[at]
        if word.startswith("-") and "=" in word:
            name, _, options[name] = word.partition("=")
            options[name] = word.partition("=")[2]
        elif word in _TAKES_VALUE and at + 1 < len(argv):
            options[word] = argv[at + 1]
            at += 1
        elif word.startswith("-n") and len(word) > 2 and not word.startswith("--"):
            options["-n"] = word[2:]
        elif word.startswith("-o") and len(word) > 2 and not word.startswith("--"):
            options["-o"] = word[2:]
        elif word.startswith("-"):
            options[word] = ""
        else:
            words.append(word)
        at += 1
    return words, options


def singular(kind: str) -> str:
    """One spelling for all that kubectl takes."""
    plain = kind.lower().split(".", 1)[0]
    plain = _SHORT.get(plain, plain)
    for ending, shorter in (("sses", "ss"), ("ies", "y"), ("s", "")):
        if plain.endswith(ending) and not plain.endswith("ss"):
            return plain.removesuffix(ending) + shorter
    return plain


class FakeCluster:
    """Objects out of YAML files."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.objects: list[Object] = [
            one
            for text in texts
            for one in yaml.safe_load_all(text)
            if isinstance(one, dict) and one.get("kind")
        ]

    def run(self, argv: Sequence[str]) -> tuple[str, bool]:
        """What the command prints, and whether it worked."""
        command = read_command(argv)
        if command.verb not in ("get", "describe"):
            return f"error: {command.verb or 'nothing'} is not supported here; use get or describe", False
        found = [one for one in self.objects if _fits(one, command)]
        if command.name and not found:
            return f'Error from server (NotFound): {command.kind} "{command.name}" not found', False
        if not found:
            return f"No resources found in {command.namespace or 'default'} namespace.", True
        return _printed(found, command), True


def _fits(thing: Object, command: Command) -> bool:
    about = thing.get("metadata") or {}
    same_kind = command.kind in ("all", "*") or singular(str(thing["kind"])) == command.kind
    same_name = not command.name or about.get("name") == command.name
    space = about.get("namespace", "")
    wanted = command.namespace or "default"
    return same_kind and same_name and (command.everywhere or not space or space == wanted)


def _printed(found: Sequence[Object], command: Command) -> str:
    if command.output.startswith("json"):
        return json.dumps({"kind": "List", "items": list(found)} if not command.name else found[0], indent=1)
    if command.output == "yaml" or command.verb == "describe":
        return "---\n".join(yaml.safe_dump(dict(one), sort_keys=False) for one in found)
    if command.output == "name":
        return "\n".join(f"{singular(str(one['kind']))}/{one['metadata'].get('name')}" for one in found)
    rows = [f"{one['metadata'].get('namespace', '')}  {one['metadata'].get('name')}" for one in found]
    return "\n".join(["NAMESPACE  NAME", *rows])
