"""Sentences of a chunk, each an exact piece of the text with its lines."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

# A sentence ends after Chinese end marks, or after Latin ones that a blank follows; never inside 3.5 or v1.2.
_END = re.compile(r"[。！？；]+[”’」』）]*|(?<![.!?])[.!?]++[\"')\]]*+(?=\s)")
_OWN_LINE = re.compile(r"\s*(?:[-*+]\s|\d+[.)]\s|\||#{1,6}\s|>|```|~~~|\$\$)")
_NUMBER = re.compile(r"\s*\d+[.)]\s")
_RULE = re.compile(r"[\s|:\-=`~$]*")
FENCE = re.compile(r"\s*(?:```[^`]*$|~~~)")


@dataclass(frozen=True, slots=True)
class Sentence:
    """`text` is a substring of the canonical text, line breaks included."""

    text: str
    start_line: int
    end_line: int


def sentences(text: str, first_line: int) -> list[Sentence]:
    """The sentences of a text that begins at that line; list items, table rows and code lines stand alone."""
    found: list[Sentence] = []
    for start, piece, whole in _pieces(text.split("\n")):
        found.extend(_cut(piece, first_line + start, whole=whole))
    return found


def _pieces(lines: list[str]) -> Iterator[tuple[int, str, bool]]:
    """Paragraphs and single lines, with the index of their first line and whether they stay whole."""
    start, gathered, in_code = 0, list[str](), False
    for index, line in enumerate(lines):
        fence = bool(FENCE.match(line))
        alone = in_code or fence or bool(_OWN_LINE.match(line))
        in_code ^= fence
        # An indented line goes on with the list item above it; a table row or heading never goes on.
        if gathered and (not line.strip() or alone):
            yield start, "\n".join(gathered), False
            gathered = []
        if line.strip() and not fence:
            start = start if gathered else index
            gathered.append(line)
        if gathered and (in_code or line.lstrip().startswith(("|", "#"))):
            yield start, "\n".join(gathered), alone
            gathered = []
    if gathered:
        yield start, "\n".join(gathered), False


def _cut(piece: str, first_line: int, *, whole: bool) -> Iterator[Sentence]:
    at = 0
    number = _NUMBER.match(piece)
    ends = [] if whole else [match.end() for match in _END.finditer(piece, number.end() if number else 0)]
    for end in [*ends, len(piece)]:
        raw = piece[at:end]
        text = raw.strip()
        if text and not _RULE.fullmatch(text):
            begin = at + raw.index(text)
            start_line = first_line + piece.count("\n", 0, begin)
            yield Sentence(text, start_line, start_line + text.count("\n"))
        at = end
