"""Programs that run other programs: what they run is found and judged."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kosmos.risk.levels import Assessment, RiskLevel, change, read
from kosmos.risk.words import Options, split_words

_LOW, _MEDIUM, _HIGH = RiskLevel.LOW, RiskLevel.MEDIUM, RiskLevel.HIGH
SHELLS = frozenset(
    {"ash", "bash", "csh", "dash", "fish", "ksh", "mksh", "pwsh", "rbash", "sh", "tcsh", "zsh"}
)
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=.*", re.DOTALL)
_HARMLESS = frozenset({"LANG", "LANGUAGE", "TZ", "TERM", "COLUMNS", "LINES", "NO_COLOR", "LC_ALL"})


@dataclass(frozen=True, slots=True)
class Wrapped:
    """What a wrapper runs: an argv or a line of shell, and how dangerous the wrapper is itself."""

    argv: tuple[str, ...] = ()
    line: str | None = None
    floor: RiskLevel = RiskLevel.LOW
    reason: str = ""
    alone: Assessment | None = None  # the wrapper without a command


@dataclass(frozen=True, slots=True)
class Wrapper:
    """How to find the command behind a wrapper's own options and operands."""

    valued: str = ""  # options with a value
    bare: str = ""  # options without one
    operands: int = 0  # words of its own before the command
    floor: RiskLevel = RiskLevel.LOW
    reason: str = ""


_ROOT = "runs with the rights of somebody else"
_ELSEWHERE = "runs somewhere else"
WRAPPERS: dict[str, Wrapper] = {
    "builtin": Wrapper(),
    "busybox": Wrapper(),
    "chroot": Wrapper("--userspec --groups", "--skip-chdir", 1, _HIGH, _ELSEWHERE),
    "chrt": Wrapper("-T -P -D", "-a -b -f -i -m -o -r -d -v", 1, _MEDIUM, "changes priorities"),
    "command": Wrapper("", "-p"),
    "doas": Wrapper("-u -C", "-n -s", 0, _HIGH, _ROOT),
    "env": Wrapper("-u --unset -C --chdir", "-i - --ignore-environment -0 --null -v --debug"),
    "exec": Wrapper("-a", "-c -l"),
    "flock": Wrapper("-w --wait --timeout -E", "-s -x -n -u -e", 1, _HIGH, "writes a lock file"),
    "gdb": Wrapper("", "", 0, _HIGH, "controls another process"),
    "ionice": Wrapper("-c --class -n --classdata", "-t --ignore"),
    "nice": Wrapper("-n --adjustment"),
    "nohup": Wrapper("", "", 0, _HIGH, "goes on after its time is over"),
    "parallel": Wrapper("-j", "", 0, _HIGH, "runs commands that are made up on the way"),
    "pkexec": Wrapper("--user", "", 0, _HIGH, _ROOT),
    "proxychains": Wrapper("-f", "-q", 0, _HIGH, _ELSEWHERE),
    "runuser": Wrapper("-u -g -G", "-l -", 0, _HIGH, _ROOT),
    "setsid": Wrapper("", "-c -f -w", 0, _HIGH, "goes on after its time is over"),
    "stdbuf": Wrapper("-i -o -e --input --output --error"),
    "strace": Wrapper("-e -o -p -s", "-f -c", 0, _HIGH, "controls another process"),
    "su": Wrapper("", "", 0, _HIGH, _ROOT),
    "sudo": Wrapper(
        "-u -g -h -p -C -r -t -T -U -D -R --user --group", "-n -E -H -S -k -b -i -s", 0, _HIGH, _ROOT
    ),
    "systemd-run": Wrapper(
        "-p --property -u --unit", "-t --pipe --wait --user --scope", 0, _HIGH, _ELSEWHERE
    ),
    "taskset": Wrapper("", "-a -c", 1),
    "time": Wrapper("-f --format", "-p -v"),
    "timeout": Wrapper("-k --kill-after -s --signal", "--foreground --preserve-status -v --verbose", 1),
    "toybox": Wrapper(),
    "watch": Wrapper(
        "-n --interval", "-d -t -b -e -g -c -x --differences --no-title --color --exec -p --precise"
    ),
    "xargs": Wrapper(
        "-I -n -P -d -L -s -a -E --max-args --max-procs --delimiter --arg-file --replace",
        "-r -0 -t -p --null --no-run-if-empty --verbose",
        0,
        _HIGH,
        "gets arguments that nobody has seen",
    ),
}


def unwrap(name: str, args: Sequence[str]) -> Wrapped:
    """What stands behind the wrapper."""
    wrapper = WRAPPERS[name]
    options = Options(frozenset(wrapper.valued.split()), frozenset(wrapper.bare.split()))
    words = split_words(args, options, stop_at_operand=True)
    floor, reason = wrapper.floor, wrapper.reason
    strange = [option for option, _ in words.given if option not in {*options.valued, *options.bare}]
    if strange:
        floor, reason = _HIGH, f"{name} has an option that is not understood: {strange[0]}"
    rest = (*words.operands, *words.rest)
    if name == "watch" and not words.has("-x", "--exec"):
        return Wrapped(line=" ".join(rest), floor=floor, reason=reason)
    raised, rest = assigned(rest) if name in {"env", "sudo", "doas"} else (_LOW, rest)
    if raised > floor:
        floor, reason = raised, "sets variables that may change what runs"
    rest = rest[1:] if rest[:1] == ("--",) else rest
    return Wrapped(tuple(rest[wrapper.operands :]), None, floor, reason, _alone(name))


def assigned(words: Sequence[str]) -> tuple[RiskLevel, tuple[str, ...]]:
    """How dangerous the leading `NAME=value` words are, and what follows them."""
    level, at = _LOW, 0
    while at < len(words) and _ASSIGNMENT.fullmatch(words[at]):
        name = words[at].partition("=")[0].rstrip("+")
        if name == "KUBECONFIG":
            level = max(level, _MEDIUM)
        elif name not in _HARMLESS:
            level = _HIGH
        at += 1
    return level, tuple(words[at:])


def _alone(name: str) -> Assessment:
    return (
        read("prints the environment", _MEDIUM)
        if name == "env"
        else change(f"{name} runs nothing that is known")
    )
