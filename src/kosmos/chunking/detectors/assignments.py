"""Passwords and keys by the word before them: `password: …`, `api_key=…`, 密码：…"""

import re
from collections.abc import Iterator

from kosmos.chunking.detectors.entropy import looks_like_password, looks_random
from kosmos.chunking.detectors.scan import Scan, Span, any_of, may_hold
from kosmos.domain.redactions import RedactionKind

_PASSWORDS = ("password", "passwd", "passphrase", "passcode", "pwd", "密码", "密碼", "口令")
_KEYS = (
    "secret",
    "token",
    "api_key",
    "api-key",
    "apikey",
    "api key",
    "access_key",
    "access key",
    "accesskey",
)
_MORE_KEYS = ("accountkey", "credential", "密钥", "秘钥", "金鑰", "令牌", "凭证", "授权码")
_ANY = any_of([*_PASSWORDS, *_KEYS, *_MORE_KEYS])
_AFTER = re.compile(
    r"(?:[ _-]?(?:access|shared|encryption|signing|api))?(?:[ _-]?(?:key|token|hash|value|code))?"
    r"[\"'`*_)\]]{0,3} {0,3}(?P<sign>:=|=>|->|[:=]|是|为|為|(?<= )is |(?<= )was | )[ \t]{0,4}[*_]{0,2}"
    r"(?:\"(?P<double>[^\"\n]{1,200})\"|'(?P<single>[^'\n]{1,200})'|`(?P<tick>[^`\n]{1,200})`|(?P<bare>(?!--)[!-~]{1,300}))",
    re.IGNORECASE,
)
_TRAILING = ".,;:!?\"'`*_|"


def find_assigned(scan: Scan) -> Iterator[Span]:
    """Values after a word that announces a secret, where they look like one."""
    if not may_hold(scan.lower, _ANY):
        return
    for word in _PASSWORDS:
        yield from _find_after(scan, word, RedactionKind.PASSWORD)
    for word in (*_KEYS, *_MORE_KEYS):
        yield from _find_after(scan, word, RedactionKind.TOKEN)


def _find_after(scan: Scan, word: str, kind: RedactionKind) -> Iterator[Span]:
    secret = looks_like_password if kind is RedactionKind.PASSWORD else looks_random
    at = scan.lower.find(word)
    while at >= 0:
        reached = at + len(word)
        match = _AFTER.match(scan.text, reached)
        if match and (match["sign"] != " " or not word.isascii() or _is_option(scan, at)):
            start, end = _value(match)
            if secret(scan.text[start:end]):
                yield Span(start, end, kind, f"value named {word}")
                reached = end
        at = scan.lower.find(word, reached)


def _is_option(scan: Scan, at: int) -> bool:
    """Whether the word is an option of a command, whose value follows after a space."""
    return scan.before(at, 40).rpartition(" ")[2].startswith("--")


def _value(match: re.Match[str]) -> tuple[int, int]:
    for quoted in ("double", "single", "tick"):
        if match[quoted] is not None:
            return match.span(quoted)
    value = match["bare"]
    if match["sign"] == "=":
        value = re.split(r"[&;,]", value, maxsplit=1)[0]
    value = value.rstrip(_TRAILING)
    while value.endswith((")", "]", "}")) and not any(sign in value for sign in "([{"):
        value = value[:-1].rstrip(_TRAILING)
    return match.start("bare"), match.start("bare") + len(value)
