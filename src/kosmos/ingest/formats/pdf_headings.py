"""Which lines of a PDF are headings: by its outline where it has one, else by type size and weight."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from kosmos.ingest.formats.pdf_lines import Line

MOST_CHARS = 160
_DEEPEST = 6
_SIZE_LEVELS = 4
_ENDS_SENTENCE = (".", "。", ",", "，", ";", "；", ":", "：", "、", "?", "!", "-")
_NUMBERED = re.compile(
    r"(?:\d+(?:\.\d+)*\.?|[IVX]+\.|[A-Z]\.|第[一二三四五六七八九十百\d]+[章节篇部]|[一二三四五六七八九十]+、)\s*\S"
)
_ENUMERATOR = re.compile(r"(?:[IVXLC]+|[A-Z]|\d+)(?:[-.](?:[IVX]+|[A-Z]|\d+))*[.):]?\s+")
_CAPTION = re.compile(r"(?:fig(?:ure|\.)|table|listing|图|圖|表)\s*\d", re.IGNORECASE)


class Headings:
    """The sizes of a document's text and the titles of its outline."""

    def __init__(self, lines: Sequence[Line], outline: Mapping[tuple[int, str], int]) -> None:
        self._outline = outline
        sizes = Counter[float]()
        bold = 0
        for line in lines:
            sizes[_rounded(line.size)] += len(line.text)
            bold += len(line.text) * line.bold
        self.body = max(sizes, key=lambda size: (sizes[size], -size)) if sizes else 0.0
        # Where most of the text is bold, weight tells nothing.
        self._bold_counts = bold * 2 < sizes.total()
        larger = sorted({_rounded(line.size) for line in lines if self._is_larger(line)}, reverse=True)
        self._levels = _cluster(larger)

    def level(self, page: int, line: Line, *, alone: bool) -> int:
        """The level of a heading, or 0. `alone` says that the line is not a part of a paragraph."""
        known = self.outline_level(page, line.text)
        if known:
            return known
        if self._is_larger(line):
            size = min(self._levels, key=lambda known: abs(known - line.size), default=None)
            return 1 if size is None else self._levels[size]
        if self._bold_counts and line.bold and alone and self._is_title(line):
            return min(max(self._levels.values(), default=1) + 1, _DEEPEST)
        return 0

    def outline_level(self, page: int, text: str) -> int:
        """The level of a title of the outline, or 0."""
        return next((self._outline[page, form] for form in _forms(text) if (page, form) in self._outline), 0)

    def _is_larger(self, line: Line) -> bool:
        return line.size > self.body * 1.12 and len(line.text) <= MOST_CHARS and is_wordy(line.text)

    def _is_title(self, line: Line) -> bool:
        if line.size < self.body * 0.95 or _CAPTION.match(line.text) or not is_wordy(line.text):
            return False
        short = len(line.text) <= (80 if _NUMBERED.match(line.text) else 60)
        return short and not line.text.endswith(_ENDS_SENTENCE)


def _rounded(size: float) -> float:
    return round(size * 2) / 2


def _cluster(sizes: Sequence[float]) -> dict[float, int]:
    """A level for each size, largest first; sizes that hardly differ share one."""
    levels: dict[float, int] = {}
    level, head = 0, 0.0
    for size in sizes:
        if not levels or (size < head * 0.93 and level < _SIZE_LEVELS):
            level, head = level + 1, size
        levels[size] = level
    return levels


def is_wordy(text: str) -> bool:
    """Whether it has letters enough to be a title; numbers, formulas and ornaments have not."""
    letters = sum(character.isalpha() for character in text)
    return letters >= 2 and letters * 2 >= len(text.replace(" ", ""))


def squeeze(text: str) -> str:
    """Letters and digits only, to compare titles that are set differently."""
    return "".join(character.lower() for character in text if character.isalnum())


def index_outline(entries: Iterable[tuple[int, str, int]]) -> dict[tuple[int, str], int]:
    """Levels by page and title, from entries of page, title and depth from 0."""
    known: dict[tuple[int, str], int] = {}
    for page, title, depth in entries:
        for form in _forms(title):
            if form:
                known.setdefault((page, form), min(depth + 1, _DEEPEST))
    return known


def _forms(title: str) -> tuple[str, str]:
    """A title with and without its number: the outline leaves it out, or the page does."""
    return squeeze(title), squeeze(_ENUMERATOR.sub("", title, count=1))
