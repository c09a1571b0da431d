"""The operator's policy: what runs by default, and the file that changes it."""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from kosmos.errors import ConfigError
from kosmos.sandbox.commands import Rule
from kosmos.sandbox.limits import Limits

_PLACES = ("/usr/bin", "/bin", "/usr/local/bin")
_SETS = ("flags", "options", "refused")


@dataclass(frozen=True, slots=True)
class Policy:
    """What may be done in a workspace."""

    commands: Mapping[str, Rule]
    limits: Limits = field(default_factory=Limits)
    approve_writes: bool = True  # whether file tools that change something need an approval


def _reader(name: str, flags: str = "", options: str = "", operands: int = 64) -> tuple[str, Rule]:
    path = next((f"{place}/{name}" for place in _PLACES if Path(f"{place}/{name}").exists()), "")
    return name, Rule(path, frozenset(flags.split()), frozenset(options.split()), operands)


_READERS = (
    ("cat", "-n -b -s -A"),
    ("date", "-u --utc", "", 0),
    ("df", "-h -k -T -i"),
    ("diff", "-u -r -q -N -w -b -i", "-U"),
    ("du", "-h -k -s -a -c", "-d --max-depth"),
    ("file", "-b -i"),
    ("grep", "-n -i -v -r -l -c -w -x -F -E -o -H -h -s", "-A -B -C -m -e --include --exclude"),
    ("head", "-q -v", "-n -c"),
    ("id", "-u -g -n", "", 0),
    ("ls", "-l -a -A -h -t -r -R -1 -S -d -i"),
    ("md5sum", ""),
    ("nl", "", "-b"),
    ("ps", "-e -f -a -u -x", "-o", 0),
    ("pwd", "", "", 0),
    ("sha256sum", ""),
    ("sort", "-n -r -u -f -h -V", "-k -t"),
    ("stat", "", "-c"),
    ("tail", "-q -v", "-n -c"),
    ("uname", "-a -r -m -s", "", 0),
    ("uniq", "-c -d -u -i", "", 1),
    ("wc", "-l -w -c -m"),
)
_ELSEWHERE = (
    "--as --as-group --as-uid --cache-dir --certificate-authority --client-certificate --client-key "
    "--insecure-skip-tls-verify --kubeconfig --kuberc --log-file --log-dir --password --profile "
    "--profile-output --proxy-url --server -s --tls-server-name --token --username --user --cluster"
)
_KUBECTL_REFUSED = frozenset(_ELSEWHERE.split(" "))


def default_policy(*, environment: Mapping[str, str] | None = None) -> Policy:
    """Reading programs of the system, and kubectl where it is installed."""
    found = dict(_reader(*entry) for entry in _READERS)
    commands = {name: rule for name, rule in found.items() if rule.path}
    path = next((f"{place}/kubectl" for place in _PLACES if Path(f"{place}/kubectl").exists()), None)
    if path:
        commands["kubectl"] = _kubectl(path, os.environ if environment is None else environment)
    return Policy(commands)


def _kubectl(path: str, environment: Mapping[str, str]) -> Rule:
    config = environment.get("KUBECONFIG") or f"{environment.get('HOME', '/root')}/.kube/config"
    there = Path(config).is_file()
    return Rule(
        path,
        open=True,
        refused=_KUBECTL_REFUSED,
        network=True,
        read=(config,) if there else (),
        environment={"KUBECONFIG": config if there else os.devnull},
    )


def load_policy(file: Path) -> Policy:
    """The policy of a TOML file: `[commands.NAME]` tables, `[limits]`, `approve_writes`, `defaults`."""
    try:
        data = tomllib.loads(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"The policy in {file} cannot be read: {error}.") from None
    known = {"commands", "limits", "approve_writes", "defaults"}
    _no_others(data, known, file)
    base = default_policy() if data.get("defaults", True) else Policy({})
    commands = dict(base.commands)
    for name, table in data.get("commands", {}).items():
        commands[name] = _rule(name, table, file)
    limits = _limits(data.get("limits", {}), file)
    return replace(
        base, commands=commands, limits=limits, approve_writes=bool(data.get("approve_writes", True))
    )


def _rule(name: str, table: Any, file: Path) -> Rule:
    if not isinstance(table, dict) or not str(table.get("path", "")).startswith("/"):
        raise ConfigError(f"{file}: commands.{name} needs the full `path` of its program.")
    _no_others(table, {one.name for one in fields(Rule)}, file)
    made = dict(table)
    for key in _SETS:
        if key in made:
            made[key] = frozenset(_texts(made[key], f"commands.{name}.{key}", file))
    if "read" in made:
        made["read"] = tuple(_texts(made["read"], f"commands.{name}.read", file))
    return Rule(**made)


def _limits(table: Mapping[str, Any], file: Path) -> Limits:
    _no_others(table, {one.name for one in fields(Limits)}, file)
    if any(isinstance(value, bool) or not isinstance(value, int | float) for value in table.values()):
        raise ConfigError(f"{file}: limits are numbers.")
    return Limits(**table)


def _texts(value: Any, where: str, file: Path) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ConfigError(f"{file}: {where} must be a list of texts.")
    return value


def _no_others(table: Mapping[str, Any], known: set[str], file: Path) -> None:
    others = sorted(set(table) - known)
    if others:
        raise ConfigError(
            f"{file}: {others[0]} is not known here.", remedy=f"Known: {', '.join(sorted(known))}."
        )
