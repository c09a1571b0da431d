"""kubectl: which verb on which kind, and what it does."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from kosmos.risk.kubectl_words import (
    CHANGES,
    CHECKS,
    CRITICAL,
    DRY,
    GLOBAL,
    GLOBAL_RISKS,
    HIGH,
    MEDIUM,
    NESTED,
    OPTIONS,
    RAW_DANGERS,
    READS,
    RIGHTS,
    SECRET_KINDS,
    WHOLE_OUTPUTS,
)
from kosmos.risk.levels import Assessment, change, read
from kosmos.risk.words import Words, split_words

Assess = Callable[[Sequence[str]], Assessment]
_SURE_FLAGS = frozenset(
    {"--all", "--all-namespaces", "-A", "--force", "--now", "--overwrite", "--server-side"}
)
_NEVER_DRY = frozenset({("pause",), ("resume",), ("restart",), ("set-last-applied",), ("edit-last-applied",)})
_LOCAL = frozenset({"", "localhost", "127.0.0.1", "::1"})


def assess_kubectl(args: Sequence[str], inner: Assess) -> Assessment:
    """The risk of `kubectl ARGS`; `inner` judges the command that `exec` runs in a container."""
    front = split_words(args, GLOBAL, stop_at_operand=True)
    if front.unknown or front.separated:
        return change(f"has an option before its verb that is not understood: {(*front.unknown, '--')[0]}")
    if not front.operands:
        return read("prints help")
    verb = front.operands[0]
    words = split_words(front.rest, OPTIONS)
    found = _of_verb(verb, words, inner)
    if verb in NESTED:
        found = _nested(verb, front.rest, words)
    elif verb == "apply" and front.rest[:1] == ("view-last-applied",):
        found = read("reads what was applied last", MEDIUM)
    if found.mutates and verb in DRY and _tries_out(words, front.rest):
        found = read(f"only tries out: {found.reason}", MEDIUM)
    return _targeted(_with_globals(found, args), verb, front, words)


def _of_verb(verb: str, words: Words, inner: Assess) -> Assessment:
    if verb in CHANGES:
        return _change(verb, words, inner)
    if verb in READS:
        return _read(verb, words)
    if verb in CHECKS:
        return _check(verb, words)
    return change(f"{verb} is no verb that is known; it may be a plugin")


def _nested(verb: str, rest: Sequence[str], words: Words) -> Assessment:
    front = split_words(rest, GLOBAL, stop_at_operand=True)
    if not rest:
        return read("prints help")
    below = front.operands[0] if front.operands else ""
    # An option that is not global may take the next word for its value, and the verb is another one then.
    if below not in NESTED[verb] or front.unknown:
        return change(f"{verb} {below or rest[0]} is not understood")
    if (verb, below) == ("config", "view") and words.has("--raw") and not words.falsely("--raw"):
        return change("prints the keys of the kubeconfig")
    level, reason = NESTED[verb][below]
    return read(reason, level) if level < HIGH else change(reason, level)


def _change(verb: str, words: Words, inner: Assess) -> Assessment:
    level, reason = CHANGES[verb]
    found = change(reason, level)
    kind = _kind_of(words.operands)[0]
    if verb == "exec" and (words.rest or len(words.operands) > 1):
        command = words.rest or words.operands[1:]
        return found.at_least(inner(command).level, f"{reason}: {inner(command).reason}")
    if verb == "create" and kind in RIGHTS:
        return found.at_least(CRITICAL, "gives rights")
    if verb == "create" and kind == "token":
        return found.at_least(HIGH, "makes credentials")
    if verb in {"apply", "replace"} and words.has("--force", "--prune"):
        return found.at_least(CRITICAL, "deletes resources while it changes others")
    return found


def _tries_out(words: Words, rest: Sequence[str]) -> bool:
    """Whether this is a dry run for sure: the option before `--dry-run` must not take it for its value."""
    if words.last("--dry-run") not in {"", "client", "server"} or words.operands[:1] in _NEVER_DRY:
        return False
    rest = rest[: rest.index("--")] if "--" in rest else rest
    at = max(at for at, word in enumerate(rest) if word.partition("=")[0] == "--dry-run")
    before = rest[at - 1] if at else ""
    return not before.startswith("-") or "=" in before or before in _SURE_FLAGS


def _read(verb: str, words: Words) -> Assessment:
    found = read(READS[verb])
    if words.has("--raw"):
        path = (words.last("--raw") or "").lower()
        danger = any(mark in path for mark in RAW_DANGERS)
        return (
            change("asks the API for a path that may act or show secrets")
            if danger
            else read("asks the API for a path", MEDIUM)
        )
    if words.unknown:
        found = found.at_least(MEDIUM, f"has an option that is not understood: {words.unknown[0]}")
    if verb == "cluster-info" and words.operands:
        return (
            change("writes files") if words.has("--output-directory") else read("dumps the cluster", MEDIUM)
        )
    if verb in {"get", "describe", "wait"}:
        return _secrets(verb, found, words)
    return found


def _secrets(verb: str, found: Assessment, words: Words) -> Assessment:
    form = words.last("-o", "--output") or ("x" if words.has("--template") else "")
    shows = verb == "get" and form != "" and not form.startswith(WHOLE_OUTPUTS)
    if shows and "file=" in form:
        found = found.at_least(MEDIUM, "reads a file of this machine as its template")
    if words.has("-f", "--filename", "-k", "--kustomize"):
        found = found.at_least(MEDIUM, "takes what it reads from a file or an address")
    if not any(kind in SECRET_KINDS for kind in _kinds(words.operands + words.rest)):
        return found
    if shows:
        return found.at_least(HIGH, "shows secrets")
    return found.at_least(MEDIUM, "reads which secrets there are")


def _check(verb: str, words: Words) -> Assessment:
    found = read(CHECKS[verb], MEDIUM)
    if verb == "port-forward" and not set((words.last("--address") or "").split(",")) <= _LOCAL:
        return change("opens a way to a pod for other machines")
    if verb == "kustomize":
        runs = any(
            name.startswith(("--enable", "--helm", "--load", "--network", "--mount"))
            for name, _ in words.given
        )
        writes = words.has("-o", "--output")
        return change("runs programs or writes files while it builds") if runs or writes else found
    if words.unknown:
        return change(f"has an option that is not understood: {words.unknown[0]}")
    return found


def _with_globals(found: Assessment, args: Sequence[str]) -> Assessment:
    for word in args:
        if word == "--":
            break
        # Every word counts, the values of other options too: tables of options go stale.
        name = word.partition("=")[0] if word.startswith("--") else word[:2]
        if name in GLOBAL_RISKS:
            level, reason = GLOBAL_RISKS[name]
            found = found.at_least(level, reason, mutates=level >= HIGH)
    return found


def _targeted(found: Assessment, verb: str, front: Words, words: Words) -> Assessment:
    kind, name = _kind_of(words.operands[1:] if verb in NESTED else words.operands)
    every = Words(given=(*front.given, *words.given))
    return replace(
        found,
        verb=f"{verb} {words.operands[0]}" if verb in NESTED and words.operands else verb,
        kind=kind,
        name=name,
        namespace="*" if every.has("-A", "--all-namespaces") else every.last("-n", "--namespace") or None,
        context=every.last("--context") or None,
    )


def _kinds(operands: Sequence[str]) -> list[str]:
    """Every word that may be a kind: `a,b`, `a/name`, `a.v1.group`."""
    found = []
    for word in operands:
        found += [part.partition("/")[0].partition(".")[0].strip().lower() for part in word.split(",")]
    return found


def _kind_of(operands: Sequence[str]) -> tuple[str | None, str | None]:
    if not operands:
        return None, None
    kind, slash, name = operands[0].partition("/")
    if slash:
        return kind.partition(".")[0].lower() or None, name or None
    return kind.partition(".")[0].lower() or None, operands[1] if len(operands) > 1 else None
