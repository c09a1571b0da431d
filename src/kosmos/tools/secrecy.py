"""Secrets in what tools say: hidden before a model, a log, an event or a checkpoint gets to see them."""

import re
from collections.abc import Mapping
from typing import Any

from kosmos.chunking.redaction import hide_identifiers
from kosmos.domain.redactions import RedactionKind

MARK = "⟦secret⟧"
_KINDS = frozenset({RedactionKind.PRIVATE_KEY, RedactionKind.TOKEN, RedactionKind.PASSWORD})
# A Secret of Kubernetes as YAML: everything below `data:` and `stringData:` at any depth.
_BLOCK = re.compile(r"^([ \t-]*)(?:data|stringData):[ \t]*$", re.MULTILINE)
_SECRET = re.compile(r"""\bkind["']?:[ \t]*["']?Secret\b""")
_JSON_DATA = re.compile(r'("(?:data|stringData)"\s*:\s*)\{([^{}]*)\}')
_JSON_VALUE = re.compile(r'(:\s*)"(?:[^"\\]|\\.)*"')
# What a kubeconfig and the environment of a pod hold, whatever the value looks like.
_WORDS = "PASSWORD|PASSWD|SECRET|TOKEN|API_?KEY|PRIVATE_KEY|ACCESS_KEY"
_NAMED = re.compile(
    r"((?:client-key-data|client-certificate-data|id-token|refresh-token|access-token|token|password|passwd"
    rf"|[A-Z0-9_]*(?:{_WORDS})[A-Z0-9_]*)"
    r"""["']?[ \t]*[:=][ \t]*)(?:"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[^\s"',}<\[{]\S*)"""
)
_ENV_PAIR = re.compile(
    rf"""(\bname["']?:[ \t]*["']?[A-Za-z0-9_.-]*(?:{_WORDS})[A-Za-z0-9_.-]*["']?,?\s+"""
    r"""["']?value["']?:[ \t]*)(?:"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[^\s,}]+)""",
    re.IGNORECASE,
)


def hide_secrets(text: str) -> str:
    """The text without passwords, keys, tokens and the contents of Kubernetes Secrets."""
    if _SECRET.search(text):
        text = _JSON_DATA.sub(_hide_json, _hide_blocks(text))
    text = _ENV_PAIR.sub(rf"\1{MARK}", text)
    text = _NAMED.sub(_hide_named, text)
    return hide_identifiers(text, _KINDS)


def hide_in(value: Any) -> Any:
    """The same for every text inside of a value."""
    if isinstance(value, str):
        return hide_secrets(value)
    if isinstance(value, Mapping):
        return {key: _hide_field(str(key), item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [hide_in(item) for item in value]
    return value


def _hide_field(name: str, value: Any) -> Any:
    """A field by its name and its value: `password: hunter2` shows its secret in no other way."""
    if isinstance(value, str) and value and hide_secrets(f'"{name}": "{value}"').endswith(f"{MARK}"):
        return MARK
    return hide_in(value)


def _hide_named(match: re.Match[str]) -> str:
    value = match.group()[len(match[1]) :].strip("\"'")
    keep = not value or value in ("null", "true", "false", "<none>", "valueFrom:") or value.startswith("$(")
    return match.group() if keep else f"{match[1]}{MARK}"


def _hide_json(match: re.Match[str]) -> str:
    hidden = _JSON_VALUE.sub(lambda found: f'{found[1]}"{MARK}"', match[2])
    return f"{match[1]}{{{hidden}}}"


def _hide_blocks(text: str) -> str:
    """YAML whose data blocks have names and no values."""
    lines = text.split("\n")
    inside: int | None = None
    for at, line in enumerate(lines):
        depth = len(line) - len(line.lstrip(" \t-"))
        if inside is not None and line.strip() and depth > inside:
            name, colon, _ = line.partition(":")
            plain = colon and " " not in name.strip()
            lines[at] = f"{name}: {MARK}" if plain else f"{line[:depth]}{MARK}"
        elif line.strip():
            inside = depth if _BLOCK.fullmatch(line) else None
    return "\n".join(lines)
