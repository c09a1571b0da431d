"""Canonical text: UTF-8, LF only, NFC, no control characters, no final newline.

Line n of a Markdown file is line n of its canonical text, so that a citation opens the file itself:
front matter and comments stay where they are and are left out later, when text is indexed. For other
formats a converter writes the Markdown; making it canonical moves no line, so its origins stay right.
"""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from kosmos.domain.documents import Canonical
from kosmos.domain.extracts import Extract, Figure, Origin
from kosmos.errors import InvalidInput
from kosmos.ingest.blocks import parse_blocks
from kosmos.ingest.front_matter import split_front_matter

_Placed = TypeVar("_Placed", Origin, Figure)
MAX_TITLE = 500
# Where a title is looked for: parsing a whole book for its first heading costs seconds.
_TITLE_CHARS = 100_000
# Line breaks that only some programs honour: no line ends there, but words do.
_BREAK = re.compile("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
# Everything else that is neither text, tab nor line feed.
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\ufeff\ufffe\uffff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_UNCLEAN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def canonicalize(data: bytes, filename: str) -> Canonical:
    """The canonical text of a Markdown or plain text file in UTF-8, or InvalidInput."""
    text = clean_text(_decode(data, filename))
    metadata, _ = split_front_matter(text)
    return Canonical(text=text, title=title_of(text, metadata, filename), metadata=metadata)


def canonical_of(extract: Extract, name: str, *, converter: str = "") -> tuple[Canonical, Extract]:
    """The canonical text of what a converter got out of a file, and the extract with every line checked.

    Only Markdown and plain text have front matter; a rule at the head of any other text is just a rule.
    """
    text = _clean_lines(extract.markdown)
    metadata = dict(extract.metadata)
    if converter.startswith(("markdown/", "text/")):
        metadata = {**metadata, **split_front_matter(text)[0]} if text.startswith("---") else metadata
    elif text.partition("\n")[0].rstrip() == "---":
        text = "***" + text[3:]
    title = one_line(extract.title) or title_of(text, metadata, name)
    settled = replace(extract, markdown=text, title=title, metadata=metadata)
    return Canonical(text, title, metadata, converter), _settle_lines(settled)


def clean_text(text: str) -> str:
    """Text in the form in which everything is stored and counted."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return unicodedata.normalize("NFC", _CONTROL.sub("", _BREAK.sub(" ", text))).rstrip("\n")


def is_canonical(text: str) -> bool:
    """Whether a text has the canonical form already."""
    return not text.endswith("\n") and not _UNCLEAN.search(text) and unicodedata.is_normalized("NFC", text)


def title_of(text: str, metadata: Mapping[str, Any], name: str) -> str:
    """The declared title, the first heading, or the name."""
    title = metadata.get("title")
    if not isinstance(title, str):
        title = next((block.title for block in parse_blocks(text[:_TITLE_CHARS]) if block.level), "")
    return one_line(title) or name


def one_line(text: str) -> str:
    """Text for a title or a caption: one line of reasonable length."""
    return " ".join(clean_text(_SURROGATE.sub("", text[: 4 * MAX_TITLE])).split())[:MAX_TITLE].rstrip()


def _clean_lines(markdown: str) -> str:
    """Clean, with every line where it was: a lone CR in a converter's output is not a line break."""
    text = _SURROGATE.sub("", markdown.replace("\r\n", "\n")).replace("\r", " ")
    return clean_text(text)


def _settle_lines(extract: Extract) -> Extract:
    """Origins in order and figures on lines that are there: blank lines at the end are gone."""
    last = extract.markdown.count("\n") + 1
    origins = tuple(sorted((_settle(origin, last) for origin in extract.origins), key=lambda o: o.line))
    figures = tuple(_settle(figure, last) for figure in extract.figures)
    return replace(extract, origins=origins, figures=figures)


def _settle(placed: _Placed, last: int) -> _Placed:
    return placed if 1 <= placed.line <= last else replace(placed, line=min(max(placed.line, 1), last))


def _decode(data: bytes, filename: str) -> str:
    if b"\x00" in data:
        raise InvalidInput(f"{filename} is not a text file.", remedy="Add Markdown or plain text files.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{filename} is not UTF-8 text (byte {error.start}).", remedy="Save it as UTF-8 and add it again."
        ) from None
