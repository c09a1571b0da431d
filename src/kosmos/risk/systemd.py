"""systemctl, journalctl and service: units and their logs."""

from collections.abc import Sequence
from dataclasses import replace

from kosmos.risk.levels import Assessment, RiskLevel, change, read
from kosmos.risk.words import Options, abbreviates, split_words

_MEDIUM, _HIGH, _CRITICAL = RiskLevel.MEDIUM, RiskLevel.HIGH, RiskLevel.CRITICAL
_OPTIONS = Options(
    valued=frozenset({"-t", "--type", "--state", "-p", "--property", "-P", "-H", "--host", "-M", "--machine"})
    | {"-n", "--lines", "-o", "--output", "--root", "--image", "-s", "--signal", "--job-mode"},
    bare=frozenset({"-a", "--all", "-l", "--full", "--no-pager", "--no-legend", "--user", "--system", "-q"})
    | {
        "--quiet",
        "--value",
        "-r",
        "--recursive",
        "--reverse",
        "--failed",
        "--now",
        "-f",
        "--force",
        "--plain",
    },
)
_READS = frozenset(
    {
        "cat",
        "get-default",
        "help",
        "is-active",
        "is-enabled",
        "is-failed",
        "is-system-running",
        "show",
        "status",
    }
    | {"list-automounts", "list-dependencies", "list-jobs", "list-machines", "list-paths", "list-sockets"}
    | {"list-timers", "list-unit-files", "list-units", "show-environment", "whoami"}
)
_ENDS = frozenset(
    {
        "clean",
        "emergency",
        "exit",
        "halt",
        "hibernate",
        "hybrid-sleep",
        "isolate",
        "kexec",
        "kill",
        "poweroff",
    }
    | {"reboot", "rescue", "reset-failed", "revert", "soft-reboot", "suspend", "switch-root"}
)
_JOURNAL_CHANGES: tuple[str, ...] = (
    "--flush",
    "--relinquish-var",
    "--rotate",
    "--setup-keys",
    "--smart-relinquish-var",
    "--sync",
)
_JOURNAL_CHANGES += ("--update-catalog", "--vacuum-files", "--vacuum-size", "--vacuum-time", "--cursor-file")


def assess_systemctl(args: Sequence[str]) -> Assessment:
    """The risk of `systemctl ARGS`."""
    words = split_words(args, _OPTIONS)
    operands = (*words.operands, *words.rest)
    verb = operands[0] if operands else "list-units"
    found = _of_verb(verb)
    if words.unknown and found.level < _HIGH:
        found = change(f"has an option that is not understood: {words.unknown[0]}")
    if words.has("-H", "--host", "-M", "--machine", "--root", "--image"):
        found = found.at_least(_HIGH, "speaks to another machine", mutates=True)
    return replace(found, verb=verb, kind="unit", name=operands[1] if len(operands) > 1 else None)


def _of_verb(verb: str) -> Assessment:
    if verb in _READS:
        return read("reads the state of units")
    if verb in _ENDS:
        return change("ends processes, data or the machine's work", _CRITICAL)
    return change(f"{verb} changes units or is not understood")


def assess_service(args: Sequence[str]) -> Assessment:
    """The risk of `service NAME VERB`."""
    if list(args[1:]) == ["status"] or list(args) == ["--status-all"]:
        return replace(read("reads the state of a service"), verb="status")
    return change("changes a service or is not understood")


def assess_journalctl(args: Sequence[str]) -> Assessment:
    """The risk of `journalctl ARGS`."""
    if any(abbreviates(word, _JOURNAL_CHANGES) for word in args):
        return change("deletes or moves logs", _CRITICAL)
    return replace(read("reads logs"), verb="read", kind="log")
