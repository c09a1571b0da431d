"""`mcp_config.json`: which MCP servers there are, how they are started or reached, what they may do."""

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kosmos.errors import ConfigError

MAX_FILE = 2**20
_NAME = re.compile(r"[A-Za-z0-9_-]{1,32}")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_KNOWN = frozenset(
    {"command", "args", "env", "cwd", "url", "headers", "type", "workspace_root", "timeout", "disabled"}
    | {"allow_local", "commands", "risk"}
)
_LEVELS = frozenset({"LOW", "MEDIUM", "HIGH", "CRITICAL"})
# What our own OS server offers: which tools only read, and which one takes a command.
_OS_READS = ("read_file", "list_files", "search_files", "system_info")


@dataclass(frozen=True, slots=True)
class Entry:
    """One server. `commands` names the argument that holds an argv, by tool; `risk` is the operator's word.

    `hash` is that of the whole entry as it is written: another command under the same name is another server.
    """

    name: str
    hash: str
    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: Path | None = None
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    workspace_root: Path | None = None
    seconds: float = 60.0
    allow_local: bool = False
    commands: Mapping[str, str] = field(default_factory=dict)
    risk: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_os_server(self) -> bool:
        """Whether it is our own OS server, which takes signed approvals."""
        words = [Path(self.command or "").name, *self.args]
        return "os-mcp" in words and ("kosmos" in words or words[0].startswith("python"))


def load_entries(path: Path, environ: Mapping[str, str] | None = None) -> tuple[list[Entry], list[str]]:
    """The servers of a file that are switched on, and warnings; none where there is no file."""
    try:
        text = path.read_text(encoding="utf-8") if path.stat().st_size <= MAX_FILE else ""
    except FileNotFoundError:
        return [], []
    except (OSError, UnicodeDecodeError) as error:
        raise _wrong(path, f"it cannot be read: {error}") from None
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _wrong(path, f"it is not JSON: {error}") from None
    return parse_entries(whole, path, os.environ if environ is None else environ)


def parse_entries(whole: Any, path: Path, environ: Mapping[str, str]) -> tuple[list[Entry], list[str]]:
    """The servers of a parsed file."""
    servers = whole.get("mcpServers", whole.get("servers")) if isinstance(whole, dict) else None
    if not isinstance(servers, dict):
        raise _wrong(path, "it has neither mcpServers nor servers")
    entries, warnings = list[Entry](), list[str]()
    for name, given in servers.items():
        if not _NAME.fullmatch(str(name)) or "__" in name:
            raise _wrong(path, f"{name!r} is no name of a server: letters, digits, - and _ (not two)")
        if not isinstance(given, dict):
            raise _wrong(path, f"{name} is not an object")
        unknown = sorted(set(given) - _KNOWN)
        warnings += [f"{name}: {key} is not known and was ignored" for key in unknown]
        if given.get("disabled") is not True:
            entries.append(_entry(name, given, path, environ))
    return entries, warnings


def _entry(name: str, given: dict[str, Any], path: Path, environ: Mapping[str, str]) -> Entry:
    command, url = given.get("command"), given.get("url")
    if isinstance(command, str) == isinstance(url, str):
        raise _wrong(path, f"{name} needs either command or url")
    if given.get("type") == "sse":
        raise _wrong(path, f"{name} uses sse, which is deprecated; use streamable HTTP (type: http)")
    root = _folder(given.get("workspace_root"), path)
    made = Entry(
        name=name,
        hash=hash_of(given),
        command=command,
        args=tuple(_texts(given.get("args", []), f"{name}.args", path)),
        env=_expanded(given.get("env", {}), f"{name}.env", path, environ),
        cwd=_folder(given.get("cwd"), path) or root,
        url=url,
        headers=_expanded(given.get("headers", {}), f"{name}.headers", path, environ),
        workspace_root=root,
        seconds=_seconds(given.get("timeout", 60), name, path),
        allow_local=given.get("allow_local") is True,
        commands=_named(given.get("commands", {}), f"{name}.commands", path),
        risk=_levels(given.get("risk", {}), name, path),
    )
    return _with_os_defaults(made) if made.is_os_server else made


def _with_os_defaults(entry: Entry) -> Entry:
    from dataclasses import replace

    risk = {**dict.fromkeys(_OS_READS, "LOW"), **entry.risk}
    return replace(entry, risk=risk, commands={"run_command": "argv", **entry.commands})


def hash_of(value: Any) -> str:
    """One value, one hash, however it is written."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _expanded(given: Any, what: str, path: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """`${VAR}` and `${VAR:-default}` filled in; a variable that is not there is an error."""
    found = _named(given, what, path)

    def value(match: re.Match[str]) -> str:
        known = environ.get(match[1], match[2])
        if known is None:
            raise _wrong(path, f"{what} needs the environment variable {match[1]}, which is not set")
        return known

    return {key: _VARIABLE.sub(value, text) for key, text in found.items()}


def _named(given: Any, what: str, path: Path) -> dict[str, str]:
    if not isinstance(given, dict) or not all(isinstance(item, str) for item in given.values()):
        raise _wrong(path, f"{what} is not an object of texts")
    return {str(key): item for key, item in given.items()}


def _levels(given: Any, name: str, path: Path) -> dict[str, str]:
    found = {key: item.upper() for key, item in _named(given, f"{name}.risk", path).items()}
    if not set(found.values()) <= _LEVELS:
        raise _wrong(path, f"{name}.risk knows LOW, MEDIUM, HIGH and CRITICAL")
    return found


def _texts(given: Any, what: str, path: Path) -> Sequence[str]:
    if not isinstance(given, list) or not all(isinstance(item, str) for item in given):
        raise _wrong(path, f"{what} is not a list of texts")
    return given


def _seconds(given: Any, name: str, path: Path) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given <= 3600:
        raise _wrong(path, f"{name}.timeout is not a number of seconds up to 3600")
    return float(given)


def _folder(given: Any, path: Path) -> Path | None:
    """A folder, relative to that of the file."""
    if given is None:
        return None
    if not isinstance(given, str) or not given:
        raise _wrong(path, "cwd and workspace_root are paths")
    try:
        return (path.parent / Path(given).expanduser()).resolve()
    except (OSError, ValueError, RuntimeError):  # a home of nobody, a character that no path has
        raise _wrong(path, f"{given[:80]!r} is no path") from None


def _wrong(path: Path, why: str) -> ConfigError:
    return ConfigError(
        f"{path} cannot be used: {why}.", remedy="Correct it there; docs/how-to/mcp.md tells how."
    )
