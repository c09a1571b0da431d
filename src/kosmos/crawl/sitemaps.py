"""Sitemaps: XML, its index form, or plain text, all of it read as if it came from an enemy."""

from dataclasses import dataclass, field
from xml.parsers import expat

from kosmos.errors import FetchFailed
from kosmos.net.decoding import gunzip

LIMIT = 50 * 2**20
MOST = 50_000
_DEPTH = 20
_LOCATION = 2_000


@dataclass(slots=True)
class Sitemap:
    """The addresses of pages, and of further sitemaps."""

    pages: list[str] = field(default_factory=list)
    sitemaps: list[str] = field(default_factory=list)


class _Stop(Exception):
    """The sitemap is hostile, or we have read enough of it."""


def parse_sitemap(content: bytes) -> Sitemap:
    """Read a sitemap as far as it can be read; FetchFailed when it is none."""
    if content.startswith(b"\x1f\x8b"):
        content = gunzip(content, LIMIT)
    content = content.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not content.startswith(b"<"):
        return _lines(content)
    reader = _Reader()
    try:
        reader.read(content)
    except _Stop:
        pass
    except (expat.ExpatError, ValueError, LookupError):
        # A sitemap cut off at its end is still worth what was read of it.
        if not reader.sitemap.pages and not reader.sitemap.sitemaps:
            raise FetchFailed("The sitemap is not XML.") from None
    if reader.hostile:
        raise FetchFailed("The sitemap declares a document type, which no sitemap needs.")
    return reader.sitemap


def _lines(content: bytes) -> Sitemap:
    lines = (line.strip() for line in content.decode("utf-8", "replace").split("\n", MOST))
    return Sitemap([line for line in lines if line.startswith(("http://", "https://"))][:MOST])


class _Reader:
    """Collects the `loc` of each `url` and `sitemap`; anything else, images and alternates too, is noise."""

    def __init__(self) -> None:
        self.sitemap = Sitemap()
        self.hostile = False
        self._path: list[str] = []
        self._text: list[str] = []

    def read(self, content: bytes) -> None:
        parser = expat.ParserCreate()
        parser.StartDoctypeDeclHandler = self._refuse
        parser.EntityDeclHandler = self._refuse
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._data
        parser.Parse(content, True)

    def _refuse(self, *_: object) -> None:
        self.hostile = True
        raise _Stop

    def _start(self, name: str, _: dict[str, str]) -> None:
        self._path.append(name.rpartition(":")[2].lower())
        self._text.clear()
        if len(self._path) > _DEPTH:
            raise _Stop

    def _data(self, text: str) -> None:
        if self._path[-2:] in (["url", "loc"], ["sitemap", "loc"]):
            self._text.append(text[:_LOCATION])

    def _end(self, _: str) -> None:
        place = "".join(self._text).strip()
        if self._path[-2:] == ["url", "loc"] and place:
            self.sitemap.pages.append(place)
        elif self._path[-2:] == ["sitemap", "loc"] and place:
            self.sitemap.sitemaps.append(place)
        self._path.pop()
        self._text.clear()
        if len(self.sitemap.pages) + len(self.sitemap.sitemaps) >= MOST:
            raise _Stop
