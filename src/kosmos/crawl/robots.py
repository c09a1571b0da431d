"""robots.txt as RFC 9309 reads it: groups by name, the longest rule wins, Allow wins a tie."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kosmos.crawl.urls import path_of

LIMIT = 500 * 1024
_RULES = 10_000
_LINE = re.compile(r"\r\n|\r|\n")
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_UNRESERVED = re.compile(r"[A-Za-z0-9\-._~]")
_TOKEN = re.compile(r"[a-z_-]+")


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern of paths that may or may not be fetched."""

    allow: bool
    pattern: str

    def fits(self, path: str) -> bool:
        """Whether a path begins with the pattern, in which `*` is anything and a last `$` the end."""
        closed = self.pattern.endswith("$")
        head, *parts = self.pattern.removesuffix("$").split("*")
        if not path.startswith(head):
            return False
        at = len(head)
        # The earliest place for each part is the best one: no going back, whatever the pattern.
        for number, part in enumerate(parts, 1):
            if closed and number == len(parts):
                return len(path) - len(part) >= at and path.endswith(part)
            found = path.find(part, at)
            if found < 0:
                return False
            at = found + len(part)
        return not closed or at == len(path)


@dataclass(frozen=True, slots=True)
class Robots:
    """What a host asks of us."""

    rules: tuple[Rule, ...] = ()
    delay: float | None = None
    sitemaps: tuple[str, ...] = ()

    def allows(self, url: str) -> bool:
        """Whether a canonical address may be fetched."""
        path = _normal(path_of(url))
        if path == "/robots.txt":
            return True
        fitting = [(len(rule.pattern.encode()), rule.allow) for rule in self.rules if rule.fits(path)]
        return max(fitting, default=(0, True))[1]


@dataclass(slots=True)
class _Group:
    agents: set[str]
    rules: list[Rule]
    delay: float | None = None


def parse_robots(content: bytes, agent: str) -> Robots:
    """Read a robots.txt as the agent of that name has to; what cannot be understood is passed over."""
    groups: list[_Group] = []
    sitemaps: list[str] = []
    naming = False  # whether the last line that counts named an agent
    for key, value in _fields(content):
        if key == "user-agent":
            if not naming:
                groups.append(_Group(set(), []))
            groups[-1].agents.add(_name(value))
            naming = True
        elif key == "sitemap":
            sitemaps.append(value)
        elif groups and key in {"allow", "disallow", "crawl-delay"}:
            naming = False
            _apply(groups[-1], key, value)
    return _chosen(groups, agent, sitemaps=tuple(dict.fromkeys(sitemaps))[:100])


def _chosen(groups: list[_Group], agent: str, *, sitemaps: tuple[str, ...]) -> Robots:
    """All groups that name the agent count as one; those for everybody count when none does."""
    mine = [group for group in groups if agent.lower() in group.agents]
    mine = mine or [group for group in groups if "*" in group.agents]
    rules = tuple(rule for group in mine for rule in group.rules)[:_RULES]
    delays = [group.delay for group in mine if group.delay is not None]
    return Robots(rules, max(delays, default=None), sitemaps)


def _apply(group: _Group, key: str, value: str) -> None:
    if key == "crawl-delay":
        if re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6})?", value):
            group.delay = float(value)
    elif value:  # an empty Disallow forbids nothing
        pattern = value if value.startswith(("/", "*", "$")) else f"/{value}"
        group.rules.append(Rule(key == "allow", _normal(re.sub(r"\*+", "*", pattern))))


def _fields(content: bytes) -> Iterator[tuple[str, str]]:
    text = content[:LIMIT].removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    for line in _LINE.split(text):
        key, colon, value = line.partition("#")[0].partition(":")
        if colon:
            yield key.strip().lower(), value.strip()


def _name(value: str) -> str:
    """The product name: `Kosmos/1.0 (x)` speaks to `kosmos`."""
    if value.startswith("*"):
        return "*"
    match = _TOKEN.match(value.lower())
    return match[0] if match else ""


def _normal(path: str) -> str:
    """One spelling for patterns and paths: unreserved characters plain, everything else escaped alike."""

    def one(match: re.Match[str]) -> str:
        mark = chr(int(match[1], 16))
        return mark if _UNRESERVED.fullmatch(mark) else match[0].upper()

    plain = _ESCAPE.sub(one, path)
    return "".join(
        mark if mark.isascii() else "".join(f"%{byte:02X}" for byte in mark.encode()) for mark in plain
    )
