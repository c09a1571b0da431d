"""HTML pages: the content of a page as Markdown, without what stands around it."""

import base64
import binascii
import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from urllib.parse import unquote_to_bytes

from selectolax.lexbor import LexborHTMLParser, LexborNode

from kosmos.domain.extracts import Extract, Figure
from kosmos.domain.hints import Hints
from kosmos.errors import TooLarge
from kosmos.ingest.encoding import decode_text
from kosmos.ingest.formats.html_content import (
    choose_content,
    drop_noise,
    find_base,
    find_title,
    join_address,
    read_metadata,
)
from kosmos.ingest.formats.html_depth import limit_depth
from kosmos.ingest.formats.html_nodes import Stash
from kosmos.ingest.formats.html_rewriting import rewrite
from kosmos.ingest.formats.markdown import decoding_notes
from kosmos.ingest.formats.refusals import reading

CONVERTER_VERSION = 1
WARM = ("html_to_markdown", "chardet")
WARM_SAMPLE = (
    b"<html><head><title>x</title></head><body><main><h1>x</h1><p>x<sup><a href='#fn1'>1</a></sup>"
    b"<a href='/x'>x</a> <img src='x.png'> <math><mi>x</mi></math></p><pre><code class='language-sh'>x</code>"
    b"</pre><dl><dt>x</dt><dd>x</dd></dl><div class='note'><p>x</p></div><ul><li id='fn1'>x</li></ul>"
    b"<blockquote>x</blockquote><table><tr><td>x</td></tr></table></main></body></html>"
)
MAX_BYTES = 32 * 1024 * 1024
MAX_IMAGE = 10 * 1024 * 1024
_MAGIC = (
    (b"\x89PNG", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"RIFF", "image/webp"),
    (b"BM", "image/bmp"),
)
_IMAGES = {media for _, media in _MAGIC}
# `<` before these would open a tag in Markdown; code says it unescaped.
_OPENING = re.compile(r"(<pre.*?</pre>|<code.*?</code>)|&lt;(?=[A-Za-z/!?])", re.DOTALL)
_RESERVED = re.compile("[\ufdd0-\ufdd2]")
_UNSAFE = re.compile(r"(?i)\s*(javascript|data|vbscript|file):")
_OUTSIDE = re.compile(r"(?i)https?:|mailto:|#")
_FENCE = re.compile(r"`{3,}|~{3,}")
Load = Callable[[str], bytes | None]


@dataclass(slots=True)
class _Page:
    """What one conversion gathers on its way."""

    base: str
    load: Load | None = None
    stash: Stash = field(default_factory=Stash)
    figures: dict[str, Figure] = field(default_factory=dict)
    lost: int = 0


def extract(data: bytes, name: str, *, hints: Hints | None = None) -> Extract:
    """The content of a page. What the caller knows of its site helps to find it."""
    if len(data) > MAX_BYTES:
        raise TooLarge(
            f"{name} has {len(data) // 2**20} MB; HTML pages of at most {MAX_BYTES // 2**20} MB can be read.",
            remedy="Split the page.",
        )
    hints = hints or Hints()
    decoded = decode_text(data, name, declared=hints.charset)
    found = page_extract(decoded.text, name, hints=hints)
    return replace(found, notes=(*decoding_notes(decoded), *found.notes))


def page_extract(
    html: str, name: str, *, hints: Hints | None = None, whole: bool = False, load: Load | None = None
) -> Extract:
    """The Markdown of HTML text.

    `whole` takes all of the body as content, as for a chapter of a book; `load` gets the images that
    stand beside the page in its container.
    """
    hints = hints or Hints()
    shallow, cut = limit_depth(_RESERVED.sub("", html))
    document = LexborHTMLParser(shallow)
    page = _Page(find_base(document, hints), load)
    metadata = read_metadata(document)
    if not whole:
        drop_noise(document, hints)
    rewrite(document, page.stash)
    content = document.body if whole else choose_content(document, hints)
    if content is None:
        return Extract("", metadata=metadata)
    title = find_title(document, content)
    _settle_addresses(content, page)
    markdown = _markdown(content.html or "", page, name)
    notes = ["Tags nested too deeply were left out; their text was kept."] if cut else []
    if page.lost:
        notes.append(f"{page.lost} embedded images could not be read.")
    return Extract(markdown, title, metadata, figures=_placed(page, markdown), notes=tuple(notes))


def _settle_addresses(content: LexborNode, page: _Page) -> None:
    """Links and images with addresses that hold outside of the page; images in the page as figures."""
    for link in reversed(content.css("a")):
        address = link.attributes.get("href") or ""
        inside = page.load is not None and not _OUTSIDE.match(address)
        if not address or inside or _UNSAFE.match(address):
            link.unwrap()
        elif not address.startswith("#"):
            link.attrs["href"] = join_address(page.base, address)
    for image in reversed(content.css("img")):
        _settle_image(image, page)
    for drawing in reversed(content.css("svg")):
        drawing.decompose()


def _settle_image(image: LexborNode, page: _Page) -> None:
    attributes = image.attributes
    source = attributes.get("src") or ""
    lazy = attributes.get("data-src") or (attributes.get("srcset") or "").strip().split(" ")[0]
    if (not source or source.startswith("data:")) and lazy and not lazy.startswith("data:"):
        source = lazy
    if not source or "1" == attributes.get("width") == attributes.get("height"):
        image.decompose()
    elif source.startswith("data:"):
        _embed(image, *_inline_data(source), page=page)
    elif page.load and not source.startswith(("http:", "https:")):
        data = page.load(source) or b""
        _embed(image, data, _media_type(data), page=page)
    else:
        image.attrs["src"] = join_address(page.base, source)


def _inline_data(source: str) -> tuple[bytes, str]:
    head, _, body = source.partition(",")
    try:
        data = base64.b64decode(body) if ";base64" in head else unquote_to_bytes(body)
    except (binascii.Error, ValueError):
        data = b""
    return data, head[5:].partition(";")[0].strip().lower()


def _media_type(data: bytes) -> str:
    return next((media for magic, media in _MAGIC if data.startswith(magic)), "")


def _embed(image: LexborNode, data: bytes, media_type: str, *, page: _Page) -> None:
    if media_type not in _IMAGES or not data or len(data) > MAX_IMAGE:
        page.lost += 1
        image.decompose()
        return
    digest = hashlib.sha256(data).hexdigest()
    caption = " ".join((image.attributes.get("alt") or "").split())
    page.figures.setdefault(digest, Figure(digest, data, media_type, caption, 1))
    image.attrs["src"] = f"asset:{digest}"


def _markdown(html: str, page: _Page, name: str) -> str:
    from html_to_markdown import ConversionOptions, convert

    marked = _OPENING.sub(lambda match: match.group(1) or "\ufdd0", html)
    options = ConversionOptions(
        extract_metadata=False, compact_tables=True, br_in_tables=True, bullets="-", autolinks=False
    )
    with reading(name, "HTML page"):
        content = convert(marked, options).content or ""
    return part_quotes(page.stash.restore(content).replace("\ufdd0", "\\<")).strip("\n")


def part_quotes(markdown: str) -> str:
    """With a blank line before each quote, which would otherwise look like part of its paragraph."""
    lines: list[str] = []
    fenced, before = "", ""
    for line in markdown.split("\n"):
        text = line.lstrip()
        fence = _FENCE.match(text)
        if fence and (not fenced or (text.rstrip() == fence.group() and fence.group().startswith(fenced))):
            fenced = "" if fenced else fence.group()
        elif not fenced and text.startswith(">") and before and not before.startswith((">", "- >", "* >")):
            lines.append("")
        lines.append(line)
        before = text
    return "\n".join(lines)


def _placed(page: _Page, markdown: str) -> tuple[Figure, ...]:
    """Each figure with the first line that shows it, in the order of the text."""
    lines: dict[str, int] = {}
    for number, line in enumerate(markdown.split("\n"), start=1):
        for digest in re.findall(r"asset:([0-9a-f]{64})", line):
            lines.setdefault(digest, number)
    shown = [(lines[digest], figure) for digest, figure in page.figures.items() if digest in lines]
    return tuple(replace(figure, line=line) for line, figure in sorted(shown, key=lambda pair: pair[0]))
