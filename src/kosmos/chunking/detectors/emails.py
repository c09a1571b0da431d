"""E-mail addresses: from each @ to the left and to the right."""

import re
from collections.abc import Iterator

from kosmos.chunking.detectors.scan import Scan, Span
from kosmos.domain.redactions import RedactionKind

_LOCAL = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._%+-"
_DOMAIN = re.compile(r"@((?:[A-Za-z0-9-]{1,63}+\.){1,8}[A-Za-z]{2,24})(?![A-Za-z0-9_@])")
# What follows the name of a package, a unit or a picture: no mail goes there.
_VERSION = re.compile(r"[vV]?[0-9]+\.[0-9]")
_NOT_TOP = frozenset(
    [
        *("service", "socket", "timer", "mount", "target", "slice", "scope", "device", "swap"),
        *("png", "jpg", "jpeg", "gif", "svg", "webp", "ico", "css", "js", "json", "yaml", "yml"),
    ]
)
_MAX_LOCAL = 64
_MAX_URL = 200


def find_emails(scan: Scan) -> Iterator[Span]:
    """Addresses of people, not of repositories, packages or servers."""
    for match in _DOMAIN.finditer(scan.text):
        at, domain = match.start(), match.group(1)
        left = scan.text[max(at - _MAX_LOCAL, 0) : at]
        local = left[len(left.rstrip(_LOCAL)) :].lstrip(".-%")
        start = at - len(local)
        if local and _is_address(local, domain) and not _in_url(scan.text, start):
            yield Span(start, match.end(), RedactionKind.EMAIL, "e-mail address")


def _is_address(local: str, domain: str) -> bool:
    labels = domain.lower().split(".")
    if local.lower() == "git" or local.endswith(".") or ".." in local:
        return False
    if _VERSION.match(domain) or labels[-1] in _NOT_TOP or labels[-2:] == ["cluster", "local"]:
        return False
    return not any(label.startswith("-") or label.endswith("-") for label in labels)


def _in_url(text: str, start: int) -> bool:
    """Whether the name before the @ logs in to the server of a URL."""
    before = text[max(start - _MAX_URL, 0) : start]
    word = before[max(before.rfind(" "), before.rfind("\n")) + 1 :]
    scheme, _, login = word.rpartition("://")
    return bool(scheme) and not any(sign in login for sign in "/?#")
