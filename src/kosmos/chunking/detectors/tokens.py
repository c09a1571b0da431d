"""Keys and tokens that show what they are: prefixes of their issuers, JWT, PEM, logins in URLs."""

import re
from collections.abc import Iterator

from kosmos.chunking.detectors.entropy import is_mixed, is_placeholder, looks_random
from kosmos.chunking.detectors.scan import Scan, Span, any_of, may_hold
from kosmos.domain.redactions import RedactionKind

_END = r"(?![0-9A-Za-z_])"
# A literal beginning, which is cheap to look for, what follows it, and whose it is.
_ISSUED = tuple(
    (beginning, re.compile(rest + _END), reason)
    for beginning, rest, reason in (
        ("AKIA", r"[0-9A-Z]{16}", "AWS access key"),
        ("ASIA", r"[0-9A-Z]{16}", "AWS access key"),
        ("LTAI", r"[0-9A-Za-z]{12,26}", "Alibaba Cloud access key"),
        ("AKID", r"[0-9A-Za-z]{13,40}", "Tencent Cloud secret id"),
        ("ghp_", r"[0-9A-Za-z]{36,255}", "GitHub token"),
        ("gho_", r"[0-9A-Za-z]{36,255}", "GitHub token"),
        ("ghu_", r"[0-9A-Za-z]{36,255}", "GitHub token"),
        ("ghs_", r"[0-9A-Za-z]{36,255}", "GitHub token"),
        ("ghr_", r"[0-9A-Za-z]{36,255}", "GitHub token"),
        ("github_pat_", r"[0-9A-Za-z_]{22,255}", "GitHub token"),
        ("glpat-", r"[0-9A-Za-z_-]{20,255}", "GitLab token"),
        ("xox", r"[abeoprs]-[0-9A-Za-z-]{10,255}", "Slack token"),
        ("hooks.slack.com/services/", r"[0-9A-Za-z/]{20,100}", "Slack webhook"),
        ("AIza", r"[0-9A-Za-z_-]{35}", "Google API key"),
        ("GOCSPX-", r"[0-9A-Za-z_-]{20,60}", "Google client secret"),
        ("ya29.", r"[0-9A-Za-z_-]{20,1000}", "Google access token"),
        ("sk_live_", r"[0-9A-Za-z]{16,255}", "Stripe key"),
        ("rk_live_", r"[0-9A-Za-z]{16,255}", "Stripe key"),
        ("sk_test_", r"[0-9A-Za-z]{16,255}", "Stripe key"),
        ("SG.", r"[0-9A-Za-z_-]{16,32}\.[0-9A-Za-z_-]{32,64}", "SendGrid key"),
        ("npm_", r"[0-9A-Za-z]{36}", "npm token"),
        ("pypi-", r"[0-9A-Za-z_-]{50,255}", "PyPI token"),
        ("hf_", r"[0-9A-Za-z]{30,60}", "Hugging Face token"),
        ("dop_v1_", r"[0-9a-f]{64}", "DigitalOcean token"),
        ("AGE-SECRET-KEY-1", r"[0-9A-Z]{58}", "age secret key"),
        (
            "eyJ",
            r"[0-9A-Za-z_-]{8,8000}+\.eyJ[0-9A-Za-z_-]{8,8000}+\.[0-9A-Za-z_-]{8,2000}+",
            "JSON web token",
        ),
    )
)
_BEGINNINGS = any_of([*(beginning for beginning, _, _ in _ISSUED), "sk-"])
_SCHEMES = ("bearer", "authorization: basic", "authorization: token")
_ANY_SCHEME = any_of(_SCHEMES)
_WORD = re.compile(r"[0-9A-Za-z_-]")
_SK = re.compile(r"[0-9A-Za-z_-]{20,255}+")
_BOT = re.compile(r"(?<![0-9A-Za-z_])[0-9]{8,10}:AA[0-9A-Za-z_-]{33}" + _END)
_PEM = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_PEM_END = re.compile(r"-----END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
# Lines of base64, before them perhaps lines like `DEK-Info: AES-256-CBC`.
_PEM_BODY = re.compile(
    r"\n?(?:[ \t>|]*+[A-Za-z-]{1,20}+: [^\n]{1,100}+\n{1,2}+){0,4}+"
    r"(?:[ \t>|]*+[0-9A-Za-z+/=\\]{1,200}+(?:\n|\Z|(?=[\"'`]))){0,200}+"
)
_PEM_MAX = 20_000
_BASE64 = re.compile(r"[0-9A-Za-z+/]{16,80}+")
_LOGIN = re.compile(r"://([^\s:/@\"'<>`]{0,128}+):([^\s/@\"'<>`]{1,256}+)@(?=[\w\[$])")
_HEADER = re.compile(r" {1,3}([0-9A-Za-z._~+/-]{12,4000}+=*+)")


def find_tokens(scan: Scan) -> Iterator[Span]:
    """Everything that opens a door by itself."""
    yield from _find_private_keys(scan)
    if may_hold(scan.text, _BEGINNINGS):
        yield from _find_issued(scan)
    if ":AA" in scan.text:
        for match in _BOT.finditer(scan.text):
            yield Span(match.start(), match.end(), RedactionKind.TOKEN, "Telegram bot token")
    yield from _find_logins(scan)


def _find_issued(scan: Scan) -> Iterator[Span]:
    for beginning, rest, reason in _ISSUED:
        for start, match in _find_begun(scan.text, beginning, rest):
            yield Span(start, match.end(), RedactionKind.TOKEN, reason)
    for start, match in _find_begun(scan.text, "sk-", _SK):
        if is_mixed(match.group()) and not is_placeholder(match.group()):
            yield Span(start, match.end(), RedactionKind.TOKEN, "API key")


def _find_begun(text: str, beginning: str, rest: re.Pattern[str]) -> Iterator[tuple[int, re.Match[str]]]:
    """Places where a word begins so and goes on so."""
    at = text.find(beginning)
    while at >= 0:
        inside = _WORD.match(text, at - 1) if at else None
        match = None if inside else rest.match(text, at + len(beginning))
        if match:
            yield at, match
        at = text.find(beginning, match.end() if match else at + len(beginning))


def _find_logins(scan: Scan) -> Iterator[Span]:
    for match in _LOGIN.finditer(scan.text):
        if not is_placeholder(match[2]):
            yield Span(match.start(2), match.end(2), RedactionKind.PASSWORD, "password in a URL")
    for scheme in _SCHEMES if may_hold(scan.lower, _ANY_SCHEME) else ():
        for _, match in _find_begun(scan.lower, scheme, _HEADER):
            start, end = match.span(1)
            if looks_random(scan.text[start:end]):
                yield Span(start, end, RedactionKind.TOKEN, "token of an HTTP header")


def _find_private_keys(scan: Scan) -> Iterator[Span]:
    for match in _PEM.finditer(scan.text):
        end = _key_end(scan.text, match.end())
        runs = [run.group() for run in _BASE64.finditer(scan.text, match.end(), end)]
        # A long word of the prose between two marks is no key.
        if any(run not in (run.lower(), run.capitalize()) for run in runs):
            yield Span(match.start(), end, RedactionKind.PRIVATE_KEY, "private key")


def _key_end(text: str, start: int) -> int:
    """Where the key is closed, or else where its body breaks off."""
    closing = _PEM_END.search(text, start, start + _PEM_MAX)
    if closing and not _PEM.search(text, start, closing.start()):
        return closing.end()
    body = _PEM_BODY.match(text, start)
    return start + len(body.group().rstrip()) if body else start
