"""Where a redirect leads, and what may go along with it."""

from collections.abc import Mapping
from urllib.parse import urljoin

import httpx2

from kosmos.errors import FetchFailed, FetchRefused
from kosmos.net.guard import Target, shown

_STATUSES = {301, 302, 303, 307, 308}
# What another origin may see. Anything else the caller sent could be a key under any name.
_HARMLESS = {"accept", "accept-encoding", "accept-language", "user-agent"}
# They speak about the first address, not about the one it leads to.
_ABOUT_THE_FIRST = {"if-none-match", "if-modified-since", "if-match", "if-unmodified-since", "if-range"}


def location_of(status: int, headers: Mapping[str, str], url: str) -> str | None:
    """The absolute address that an answer leads to, without fragment; None when it leads nowhere."""
    place = headers.get("location", "").strip()
    if status not in _STATUSES or not place:
        return None
    try:
        return str(httpx2.URL(urljoin(url, place)).copy_with(fragment=None))
    except (httpx2.InvalidURL, ValueError):
        raise FetchFailed(f"{shown(url)} leads to an address that cannot be read.") from None


def check_step(old: Target, new: Target, *, downgrades: bool) -> None:
    """FetchRefused when a redirect would take a protected request into the open."""
    if old.scheme == "https" and new.scheme == "http" and not downgrades:
        raise FetchRefused(
            f"{shown(old.url)} leads from https to {shown(new.url)}, which is not protected.",
            remedy="Name the target itself if it is wanted.",
        )


def headers_after(headers: Mapping[str, str], old: Target, new: Target) -> dict[str, str]:
    """The request headers that go along to the next address."""
    kept = {name: value for name, value in headers.items() if name.lower() not in _ABOUT_THE_FIRST}
    if old.origin == new.origin:
        return kept
    return {name: value for name, value in kept.items() if name.lower() in _HARMLESS}
