"""Canonical text: UTF-8, LF only, NFC, no control characters, no final newline.

Line n of a Markdown file is line n of its canonical text, so that a citation opens the file itself:
front matter and comments stay where they are and are left out later, when text is indexed.
"""

import re
import unicodedata

from kosmos.domain.documents import Canonical
from kosmos.errors import InvalidInput
from kosmos.ingest.blocks import parse_blocks
from kosmos.ingest.front_matter import split_front_matter

# Line breaks that only some programs honour: no line ends there, but words do.
_BREAK = re.compile("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
# Everything else that is neither text, tab nor line feed.
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\ufeff\ufffe\uffff]")


def canonicalize(data: bytes, filename: str) -> Canonical:
    """The canonical text of a Markdown or plain text file, or InvalidInput."""
    text = clean_text(_decode(data, filename))
    metadata, _ = split_front_matter(text)
    title = metadata.get("title")
    if not isinstance(title, str):
        title = next((block.title for block in parse_blocks(text) if block.level), "")
    return Canonical(text=text, title=" ".join(title.split()) or filename, metadata=metadata)


def clean_text(text: str) -> str:
    """Text in the form in which everything is stored and counted."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return unicodedata.normalize("NFC", _CONTROL.sub("", _BREAK.sub(" ", text))).rstrip("\n")


def _decode(data: bytes, filename: str) -> str:
    if b"\x00" in data:
        raise InvalidInput(f"{filename} is not a text file.", remedy="Add Markdown or plain text files.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{filename} is not UTF-8 text (byte {error.start}).", remedy="Save it as UTF-8 and add it again."
        ) from None
