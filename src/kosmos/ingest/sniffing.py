"""The kind of a file, by its content. The name only decides between kinds of text that look alike."""

import re
from pathlib import PurePath

from kosmos.errors import InvalidInput
from kosmos.ingest.archives import TAIL, local_names, member_names
from kosmos.ingest.encoding import wide_sample
from kosmos.ingest.signatures import (
    IMAGES,
    OLE,
    OLE_STREAMS,
    OTHER_PACKAGES,
    OTHERS,
    PACKAGES,
)

HEAD = 64 * 1024
KINDS = (
    "markdown",
    "text",
    "rst",
    "html",
    "csv",
    "ipynb",
    "epub",
    "pdf",
    "docx",
    "pptx",
    "xlsx",
    "image",
)
READABLE = (
    "Markdown, plain text, reStructuredText, HTML, CSV, Jupyter notebooks, EPUB, PDF, Word (.docx), "
    "PowerPoint (.pptx), Excel (.xlsx) and images (PNG, JPEG, GIF, WebP, BMP, TIFF) can be read."
)
_BY_NAME = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".mdown": "markdown",
    ".mkd": "markdown",
    ".mdx": "markdown",
    ".rst": "rst",
    ".rest": "rst",
    ".csv": "csv",
    ".tsv": "csv",
}
_PAGE_NAMES = {".html", ".htm", ".xhtml", ".shtml"}
_BEFORE_PAGE = re.compile(r"(?:\s|\ufeff|<!--.*?-->|<\?xml[^>]*\?>)*", re.DOTALL)
_PAGE = re.compile(r"<!doctype\s+html|<(?:html|head|body)[\s>]", re.IGNORECASE)
_TAG = re.compile(r"<[a-z][a-z0-9]*[\s/>]", re.IGNORECASE)
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")


def sniff(data: bytes, name: str, *, tail: bytes | None = None) -> str:
    """The kind of a file, one of KINDS, or InvalidInput that says what the file looks like instead.

    `data` is the whole file or its beginning; then `tail` is its end.
    """
    end = data[-TAIL:] if tail is None else tail
    binary = _binary_kind(data, end, name)
    if binary:
        return binary
    if not _is_text(data[:HEAD]):
        raise _refusal(name, "a binary file of an unknown kind")
    return _text_kind(data[:HEAD], end, PurePath(name).suffix.lower())


def _binary_kind(data: bytes, end: bytes, name: str) -> str | None:
    if b"%PDF-" in data[:1024]:
        return "pdf"
    if data.startswith(tuple(magic for magic, _ in IMAGES)) or _is_webp(data) or _is_bmp(data):
        return "image"
    if data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _package_kind(data, end, name)
    if data.startswith(OLE):
        raise _ole_refusal(data, end, name)
    for offset, magic, what in OTHERS:
        if data.startswith(magic, offset) and not _is_only_text(data, magic):
            raise _refusal(name, what)
    return None


def _is_only_text(data: bytes, magic: bytes) -> bool:
    """Whether a signature of plain letters stands at the head of a text: `MZ` and `ID3` may be words."""
    return magic.isalnum() and _is_text(data[:HEAD])


def _is_webp(data: bytes) -> bool:
    return data.startswith(b"RIFF") and data[8:12] == b"WEBP"


def _is_bmp(data: bytes) -> bool:
    return data.startswith(b"BM") and data[6:10] == b"\x00\x00\x00\x00" and data[14:18] in _BMP_HEADERS


_BMP_HEADERS = tuple(size.to_bytes(4, "little") for size in (12, 40, 52, 56, 64, 108, 124))


def _package_kind(data: bytes, end: bytes, name: str) -> str:
    names = set(member_names(end))
    complete = bool(names)
    names = names or set(local_names(data))
    for member, kind in PACKAGES:
        if member in names:
            return kind
    for member, what, remedy in OTHER_PACKAGES:
        if member in names:
            raise _refusal(name, what, remedy)
    if not complete and data.startswith(b"PK\x03\x04"):
        raise _refusal(name, "a damaged or incomplete ZIP archive", "Get a complete copy of the file.")
    raise _refusal(name, "a ZIP archive", "Unpack it and add the files in it.")


def _ole_refusal(data: bytes, end: bytes, name: str) -> InvalidInput:
    for stream, what, remedy in OLE_STREAMS:
        entry = stream.encode("utf-16-le") + b"\x00\x00"
        if entry in data or entry in end:
            return _refusal(name, what, remedy)
    return _refusal(name, "an old Office file")


def _is_text(head: bytes) -> bool:
    if head.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")):
        return True
    if b"\x00" in head:
        return bool(wide_sample(head))
    return len(_CONTROL.findall(head)) <= max(2, len(head) // 50)


def _text_kind(head: bytes, end: bytes, suffix: str) -> str:
    # Only ASCII matters here, and it is the same in every encoding but the wide ones.
    text = wide_sample(head) or head.removeprefix(b"\xef\xbb\xbf").decode("latin-1")
    begin = _BEFORE_PAGE.match(text)
    at = begin.end() if begin else 0
    if _PAGE.match(text, at) or (suffix in _PAGE_NAMES and _TAG.search(text)):
        return "html"
    if text.startswith("<?xml") and re.search(r"<html[\s>]", text[:4096], re.IGNORECASE):
        return "html"
    if text[at : at + 1] == "{" and '"cells"' in text and (b'"nbformat"' in end or '"nbformat"' in text):
        return "ipynb"
    return _BY_NAME.get(suffix, "text")


def _refusal(name: str, what: str, remedy: str = "") -> InvalidInput:
    return InvalidInput(f"{name} is {what}, which cannot be read.", remedy=f"{remedy} {READABLE}".strip())
