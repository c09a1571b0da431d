"""helm: releases, charts and repositories."""

from collections.abc import Sequence
from dataclasses import replace

from kosmos.risk.levels import Assessment, RiskLevel, change, read
from kosmos.risk.words import Options, split_words

_MEDIUM, _HIGH, _CRITICAL = RiskLevel.MEDIUM, RiskLevel.HIGH, RiskLevel.CRITICAL
_GLOBAL = Options(
    valued=frozenset(
        {"--namespace", "-n", "--kube-context", "--kubeconfig", "--kube-apiserver", "--kube-token"}
    )
    | {"--kube-as-user", "--kube-as-group", "--kube-ca-file", "--kube-tls-server-name", "--registry-config"}
    | {"--repository-cache", "--repository-config", "--burst-limit", "--qps", "--content-cache"},
    bare=frozenset({"--debug", "--kube-insecure-skip-tls-verify", "-h", "--help"}),
)
_OPTIONS = Options(
    valued=frozenset(_GLOBAL.valued)
    | {"-f", "--values", "--set", "--set-string", "--set-file", "--set-json", "--version", "-o", "--output"}
    | {"--repo", "--timeout", "--max", "--filter", "-l", "--selector", "--revision", "--post-renderer"}
    | {"--output-dir", "--api-versions", "--kube-version", "-s", "--show-only", "--name-template"},
    bare=frozenset(_GLOBAL.bare)
    | {"--dry-run", "-A", "--all-namespaces", "-a", "--all", "--wait", "--atomic"},
)
_READS = {
    "completion": "prints a script",
    "env": "prints its environment",
    "help": "prints help",
    "history": "reads revisions",
    "hist": "reads revisions",
    "list": "lists releases",
    "ls": "lists releases",
    "search": "searches charts",
    "status": "reads a release",
    "version": "reads the version",
}
_CHECKS = {
    "get": "reads a release with its values",
    "inspect": "reads a chart",
    "lint": "checks a chart",
    "show": "reads a chart",
    "template": "builds manifests",
    "verify": "checks a signature",
}
_DELETES = frozenset({"del", "delete", "un", "uninstall"})
_DRY = frozenset({"install", "rollback", "uninstall", "upgrade"})
_LISTS = frozenset(
    {("dependency", "list"), ("plugin", "list"), ("repo", "list"), ("dep", "ls"), ("repo", "ls")}
)
_ELSEWHERE = frozenset(
    {"--kube-apiserver", "--kube-token", "--kubeconfig", "--kube-as-user", "--kube-as-group"}
)


def assess_helm(args: Sequence[str]) -> Assessment:
    """The risk of `helm ARGS`."""
    front = split_words(args, _GLOBAL, stop_at_operand=True)
    if front.unknown or front.separated:
        return change("has an option before its verb that is not understood")
    if not front.operands:
        return read("prints help")
    verb, words = front.operands[0], split_words(front.rest, _OPTIONS)
    found = _of_verb(verb, front.rest)
    if any(word.partition("=")[0] in {"--post-renderer", "--output-dir", "-O"} for word in front.rest):
        found = found.at_least(_HIGH, "runs a program or writes files", mutates=True)
    elif found.mutates and verb in _DRY and _tries_out(front.rest):
        found = read(f"only tries out: {found.reason}", _MEDIUM)
    given = (*front.given, *words.given)
    if any(word.partition("=")[0] in _ELSEWHERE for word in args):
        found = found.at_least(_HIGH, "uses another cluster or other credentials", mutates=True)
    last = dict(given)
    return replace(
        found,
        verb=verb,
        kind="release",
        name=words.operands[0] if words.operands else None,
        namespace=last.get("--namespace") or last.get("-n"),
        context=last.get("--kube-context"),
    )


def _of_verb(verb: str, rest: Sequence[str]) -> Assessment:
    if verb in _DELETES:
        return change("removes a release", _CRITICAL)
    if (verb, *rest[:1]) in _LISTS:
        return read("lists")
    if verb in _READS:
        return read(_READS[verb])
    if verb in _CHECKS:
        return read(_CHECKS[verb], _MEDIUM)
    if verb in {"install", "upgrade", "rollback"}:
        return change("changes a release")
    return change(f"{verb} changes something or is not understood; it may be a plugin")


def _tries_out(rest: Sequence[str]) -> bool:
    """Whether the last `--dry-run` surely is one, and not the value of the option before it."""
    places = [at for at, word in enumerate(rest) if word.partition("=")[0] == "--dry-run"]
    if not places or "--" in rest:
        return False
    value = rest[places[-1]].partition("=")[2]
    before = rest[places[-1] - 1] if places[-1] else ""
    sure = not before.startswith("-") or "=" in before or before in {"--install", "--debug", "--wait", "-i"}
    return sure and value in {"", "client", "server", "true"}
