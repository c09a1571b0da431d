"""One spelling for each address, so that a page is fetched once."""

import re
from urllib.parse import urljoin

import httpx2

MAX_LENGTH = 2000
TRACKING = (
    "utm_source",
    "utm_medium",
    "utm_campaign",
    "utm_term",
    "utm_content",
    "gclid",
    "fbclid",
    "msclkid",
    "mc_cid",
    "mc_eid",
    "spm",
)

_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_INVISIBLE = re.compile(r"[\t\r\n]")
_RUN = re.compile(r"[0-9]+")


def canonical_url(
    text: str, base: str | None = None, *, drop: tuple[str, ...] = TRACKING, index: tuple[str, ...] = ()
) -> str | None:
    """The canonical form of an address found in a page; None when it is none that could be fetched.

    `drop` names query parameters without meaning, `index` file names that stand for their folder.
    """
    text = _INVISIBLE.sub("", text.strip())
    if len(text) > MAX_LENGTH or "\\" in text:
        return None
    try:
        url = httpx2.URL(urljoin(base, text) if base else text)
    except (httpx2.InvalidURL, ValueError):
        return None
    host = url.raw_host.decode("ascii").rstrip(".").lower()
    if url.scheme not in {"http", "https"} or not host or url.userinfo:
        return None
    place = f"[{host}]" if ":" in host else host
    port = f":{url.port}" if url.port else ""
    made = f"{url.scheme}://{place}{port}{_path(url, index)}{_query(url, drop)}"
    return made if len(made) <= MAX_LENGTH else None


def host_of(url: str) -> str:
    """Host and port of a canonical address."""
    return url.split("/", 3)[2]


def place_of(url: str) -> str:
    """A canonical address without its scheme: `host/path?query`."""
    return url.partition("://")[2]


def path_of(url: str) -> str:
    """The path of a canonical address, with its query."""
    return "/" + place_of(url).partition("/")[2]


def shape_of(url: str) -> str:
    """What an address has in common with those that differ only in numbers and query values."""
    path, _, query = place_of(url).partition("?")
    keys = "&".join(sorted(part.partition("=")[0] for part in query.split("&"))) if query else ""
    return _RUN.sub("#", path) + (f"?{_RUN.sub('#', keys)}" if keys else "")


def circular(url: str) -> bool:
    """Whether a path repeats itself, as links do that are resolved against the wrong folder."""
    parts = [part for part in path_of(url).partition("?")[0].split("/") if part]
    if len(parts) > 40:
        return True
    return any(
        parts[at : at + size] == parts[at + size : at + 2 * size] == parts[at + 2 * size : at + 3 * size]
        for size in (1, 2, 3)
        for at in range(len(parts) - 3 * size + 1)
    )


def _path(url: httpx2.URL, index: tuple[str, ...]) -> str:
    path = _without_dots(_escapes(url.raw_path.partition(b"?")[0].decode("ascii")))
    folder, _, name = path.rpartition("/")
    return f"{folder}/" if name in index else path


def _query(url: httpx2.URL, drop: tuple[str, ...]) -> str:
    parts = _escapes(url.query.decode("ascii")).split("&")
    kept = [part for part in parts if part and part.partition("=")[0].lower() not in drop]
    return f"?{'&'.join(kept)}" if kept else ""


def _escapes(text: str) -> str:
    """Escapes that say nothing are undone, the others are written in capitals."""

    def one(match: re.Match[str]) -> str:
        mark = chr(int(match[1], 16))
        return mark if mark in _UNRESERVED else match[0].upper()

    return _ESCAPE.sub(one, text)


def _without_dots(path: str) -> str:
    kept: list[str] = []
    parts = path.split("/")[1:]
    for part in parts:
        if part == "..":
            del kept[-1:]
        elif part != ".":
            kept.append(part)
    if parts and parts[-1] in {".", ".."}:
        kept.append("")
    return "/" + "/".join(kept)
