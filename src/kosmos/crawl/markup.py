"""What an HTML page says about itself: its links, its canonical address, its wishes towards robots."""

import codecs
import re
from dataclasses import dataclass, field

from kosmos.crawl.tags import Tag, plain, start_tags
from kosmos.net.policy import AGENT_TOKEN

_META_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]{2,40})", re.IGNORECASE)
_REFRESH = re.compile(
    r"\s*([0-9]{1,4})(?:\.[0-9]*)?\s*[;,]\s*(?:url\s*=\s*)?[\"']?\s*([^\"']+)", re.IGNORECASE
)
_AT_ONCE = 5
_MOST_BYTES = 8 * 2**20
_WANTED = frozenset({"content", "href", "http-equiv", "name", "rel"})
_HEAD = {"html", "head", "title", "base", "link", "meta", "script", "style", "noscript", "template"}
_NO_LINK = ("#", "javascript:", "mailto:", "tel:", "data:")
_TITLE = 300
_WIDER = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "iso-8859-1": "cp1252",
    "ascii": "cp1252",
}


@dataclass(frozen=True, slots=True)
class Link:
    """An address as written in a page."""

    href: str
    nofollow: bool = False


@dataclass(frozen=True, slots=True)
class Markup:
    """The facts of one page."""

    title: str = ""
    base: str | None = None
    canonical: str | None = None
    refresh: str | None = None
    noindex: bool = False
    nofollow: bool = False
    links: tuple[Link, ...] = ()


def read_markup(content: bytes, *, charset: str = "", robots_tag: str = "", most: int = 5_000) -> Markup:
    """The facts of a page, of which at most so many links."""
    notes = _Notes(most)
    for tag in start_tags(decode_html(content[:_MOST_BYTES], charset), _WANTED):
        notes.take(tag)
    wishes = notes.wishes | _header_wishes(robots_tag)
    return Markup(
        title=notes.title,
        base=notes.base,
        # Of two canonical addresses neither can be believed.
        canonical=notes.canonical.pop() if len(notes.canonical) == 1 else None,
        refresh=notes.refresh,
        noindex=bool(wishes & {"noindex", "none"}),
        nofollow=bool(wishes & {"nofollow", "none"}),
        links=tuple(notes.links),
    )


def decode_html(content: bytes, charset: str = "") -> str:
    """The text of a page, by its mark, its header or its own word; what does not decode is replaced."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content.decode("utf-16", "replace")
    named = _META_CHARSET.search(content[:4096])
    for name in (charset, named[1].decode("ascii") if named else ""):
        codec = _codec(name)
        if codec:
            return content.decode(codec, "replace").removeprefix("\ufeff")
    return content.decode("utf-8", "replace").removeprefix("\ufeff")


def declared_charset(content_type: str) -> str:
    """The character set that a Content-Type header names."""
    match = re.search(r"charset\s*=\s*\"?([A-Za-z0-9_:.-]{2,40})", content_type, re.IGNORECASE)
    return match[1].lower() if match else ""


def _codec(name: str) -> str | None:
    name = _WIDER.get(name.lower(), name.lower())
    try:
        b" ".decode(name)  # refuses codecs that are no character sets
    except (LookupError, ValueError):
        return None
    return None if name in {"utf-7", "utf7", "idna", "punycode"} else name


@dataclass(slots=True)
class _Notes:
    """What was read so far."""

    most: int
    in_head: bool = True
    title: str = ""
    base: str | None = None
    refresh: str | None = None
    canonical: set[str] = field(default_factory=set)
    wishes: set[str] = field(default_factory=set)
    links: list[Link] = field(default_factory=list)

    def take(self, tag: Tag) -> None:
        """Note what a tag says."""
        # What stands in the body may come from a guest; only the head speaks for the page.
        self.in_head = self.in_head and tag.name in _HEAD
        href = tag.attributes.get("href", "").strip()
        if tag.name in {"a", "area"}:
            self._link(href, _words(tag.attributes.get("rel", "")))
        elif tag.name == "meta":
            self._meta(tag.attributes)
        elif tag.name == "base" and href:
            self.base = self.base or href
        elif tag.name == "link" and href and self.in_head:
            self.canonical |= {href} if "canonical" in _words(tag.attributes.get("rel", "")) else set()
        elif tag.name == "title":
            self.title = self.title or " ".join(plain(tag.text).split())[:_TITLE]

    def _link(self, href: str, rel: set[str]) -> None:
        if href and not href.startswith(_NO_LINK) and len(self.links) < self.most:
            self.links.append(Link(href, "nofollow" in rel))

    def _meta(self, attributes: dict[str, str]) -> None:
        content = attributes.get("content", "")[:2000]
        if attributes.get("name", "").lower() in {"robots", AGENT_TOKEN}:
            self.wishes |= {word.strip().lower() for word in content.split(",")}
        if attributes.get("http-equiv", "").lower() == "refresh":
            match = _REFRESH.match(content)
            if match and int(match[1]) <= _AT_ONCE:
                self.refresh = self.refresh or match[2].strip()


def _words(text: str) -> set[str]:
    return set(text.lower().split())


def _header_wishes(robots_tag: str) -> set[str]:
    """`noindex, otherbot: nofollow`: what follows a name is for its bearer, up to the next name."""
    wishes, speaking = set(), True
    for part in robots_tag.lower().split(","):
        name, colon, word = part.rpartition(":")
        if colon:
            speaking = name.strip() == AGENT_TOKEN
        if speaking:
            wishes.add(word.strip())
    return wishes
