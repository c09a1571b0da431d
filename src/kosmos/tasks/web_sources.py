"""What was fetched, as something to add: its name, and what the bytes do not say."""

from dataclasses import dataclass, field
from urllib.parse import unquote

from kosmos.crawl import SiteProfile
from kosmos.crawl.profiles import HTML_TYPES
from kosmos.crawl.urls import place_of
from kosmos.errors import InvalidInput
from kosmos.ingest.sniffing import sniff
from kosmos.tasks.entering import Source


@dataclass(frozen=True, slots=True)
class WebContent:
    """Bytes and what the server said of them; the address is a canonical one."""

    url: str
    data: bytes = field(repr=False)
    media_type: str = ""
    charset: str = ""


def web_source(content: WebContent, profile: SiteProfile) -> Source:
    """The content as a source: known by its address, shown by host and path."""
    hints = {
        "url": content.url,
        "charset": content.charset,
        "content": list(profile.content),
        "noise": list(profile.noise),
    }
    return Source(origin=content.url, name=_name(content), data=content.data, url=content.url, hints=hints)


def _name(content: WebContent) -> str:
    """Host and path; with an ending where the server says HTML and the bytes alone do not."""
    quoted = place_of(content.url).rstrip("/")
    plain = unquote(quoted)
    name = plain if plain.isprintable() and "�" not in plain else quoted
    if content.media_type in HTML_TYPES and not _looks_like_html(content.data, name):
        return f"{name}.html"
    return name


def _looks_like_html(data: bytes, name: str) -> bool:
    try:
        return sniff(data, name) == "html"
    except InvalidInput:
        return False
