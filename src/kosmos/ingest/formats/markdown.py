"""Markdown: the text itself, line for line."""

from kosmos.domain.extracts import Extract
from kosmos.ingest.encoding import Decoded, decode_text

CONVERTER_VERSION = 1


def extract(data: bytes, name: str) -> Extract:
    """The text of the file; front matter is read when it becomes canonical."""
    decoded = decode_text(data, name)
    return Extract(break_lines(decoded.text), notes=decoding_notes(decoded))


def break_lines(text: str) -> str:
    """The text with LF as its only line break."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def decoding_notes(decoded: Decoded) -> tuple[str, ...]:
    """What a reader should know about how the bytes became text."""
    notes = [] if decoded.encoding == "utf-8" else [f"Read as {decoded.encoding}."]
    if decoded.damaged:
        notes.append(f"{decoded.damaged} damaged places were replaced by U+FFFD.")
    return tuple(notes)
