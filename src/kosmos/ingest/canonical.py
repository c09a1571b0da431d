"""Canonical text: UTF-8, LF only, NFC, no control characters, no final newline.

Line n of a Markdown file is line n of its canonical text, so that a citation opens the file itself:
front matter and comments stay where they are and are left out later, when text is indexed.
"""

import re
import unicodedata

from kosmos.domain.documents import Canonical
from kosmos.errors import InvalidInput
from kosmos.ingest.front_matter import split_front_matter

# Everything that is neither text, tab nor line feed, and the line breaks that only some programs honour.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(.*?)[ \t]*#*[ \t]*$", re.MULTILINE)


def canonicalize(data: bytes, filename: str) -> Canonical:
    """The canonical text of a Markdown or plain text file, or InvalidInput."""
    text = clean_text(_decode(data, filename))
    metadata, body_start = split_front_matter(text)
    declared = metadata.get("title")
    heading = _HEADING.search("\n".join(text.split("\n")[body_start - 1 :]))
    title = declared if isinstance(declared, str) else heading.group(1) if heading else filename
    return Canonical(text=text, title=title.strip() or filename, metadata=metadata)


def clean_text(text: str) -> str:
    """Text in the form in which everything is stored and counted."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return unicodedata.normalize("NFC", _CONTROL.sub("", text)).rstrip("\n")


def _decode(data: bytes, filename: str) -> str:
    if b"\x00" in data[:4096]:
        raise InvalidInput(f"{filename} is not a text file.", remedy="Add Markdown or plain text files.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{filename} is not UTF-8 text (byte {error.start}).", remedy="Save it as UTF-8 and add it again."
        ) from None
