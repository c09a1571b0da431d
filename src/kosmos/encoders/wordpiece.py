"""WordPiece as BERT uses it: text becomes the numbers of the pieces of its words."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path

from kosmos.errors import DataLost

PAD, UNKNOWN, START, END, MASK = "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"
MAX_WORD = 100  # a longer word is unknown as a whole
KEPT_WORDS = 200_000
# A piece of text is read at a time, so that a text that is cut off anyway is not read to its end.
SLICE = 2_000
MOST_PER_PIECE = 400  # characters; what lies further behind counts for no piece that is wanted
_SPECIAL = re.compile(r"(\[(?:PAD|UNK|CLS|SEP|MASK)\])")
_BLANK = re.compile(r"\s")
_CHINESE = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


class _Letters(dict[int, str | None]):
    """What becomes of each character: gone, a blank, a word of its own, or a letter. Looked up once."""

    def __init__(self, *, lower: bool) -> None:
        self._lower = lower

    def __missing__(self, code: int) -> str | None:
        self[code] = found = _letter(chr(code), lower=self._lower)
        return found


def _letter(char: str, *, lower: bool) -> str | None:
    if char in "\t\n\r":
        return " "
    category = unicodedata.category(char)
    if char == "\ufffd" or category in ("Cc", "Cf", "Co", "Cs") or (lower and category == "Mn"):
        return None
    if char.isspace():
        return " "
    if category[0] == "P" or _is_sign(char) or any(low <= ord(char) <= high for low, high in _CHINESE):
        return f" {char} "
    return char.lower() if lower else char


def _is_sign(char: str) -> bool:
    """Whether it is one of the signs of ASCII, all of which stand alone."""
    return char.isascii() and not char.isalnum()


class WordPiece:
    """The vocabulary of a model and how words are cut into its pieces. May be used by several threads."""

    def __init__(self, vocabulary: Sequence[str], *, lower: bool = True) -> None:
        self._numbers = {piece: number for number, piece in enumerate(vocabulary)}
        self.start, self.end, self.unknown = (self._numbers[name] for name in (START, END, UNKNOWN))
        self._lower = lower
        self._letters = _Letters(lower=lower)
        self._known: dict[str, tuple[int, ...]] = {}

    def numbers(self, text: str, limit: int) -> list[int]:
        """The numbers of the first pieces of a text, at most so many, without start and end."""
        found: list[int] = []
        for part in _slices(text[: limit * MOST_PER_PIECE]):
            for place, piece in enumerate(_SPECIAL.split(part) if "[" in part else (part,)):
                found += (self._numbers[piece],) if place % 2 else self._plain(piece)
            if len(found) >= limit:
                return found[:limit]
        return found

    def _plain(self, text: str) -> Iterator[int]:
        if self._lower and not text.isascii():
            text = unicodedata.normalize("NFD", text)
        for word in text.translate(self._letters).split():
            pieces = self._known.get(word)
            yield from self._cut(word) if pieces is None else pieces

    def _cut(self, word: str) -> tuple[int, ...]:
        """The longest piece that the word begins with, then the longest that goes on from there."""
        pieces: list[int] = []
        start = 0 if len(word) <= MAX_WORD else None
        while start is not None and start < len(word):
            start = self._next(word, start, pieces)
        made = tuple(pieces) if start is not None else (self.unknown,)
        if len(self._known) < KEPT_WORDS:
            self._known[word] = made
        return made

    def _next(self, word: str, start: int, pieces: list[int]) -> int | None:
        prefix = "##" if start else ""
        for end in range(len(word), start, -1):
            number = self._numbers.get(prefix + word[start:end])
            if number is not None:
                pieces.append(number)
                return end
        return None


def _slices(text: str) -> Iterator[str]:
    """The text in parts that end at a blank, as the words do; a part without any is as long as it must be."""
    done = 0
    while len(text) - done > SLICE:
        blank = _BLANK.search(text, done + SLICE)
        if blank is None:
            break
        yield text[done : blank.start()]
        done = blank.start()
    yield text[done:]


def read_vocabulary(path: Path) -> list[str]:
    """The pieces of a `vocab.txt`, one a line."""
    try:
        lines = path.read_text(encoding="utf-8").rstrip("\n").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise DataLost(
            f"The vocabulary {path} cannot be read: {error}.", remedy="Install it again."
        ) from None
    if not {START, END, UNKNOWN} <= set(lines):
        raise DataLost(f"{path} is no WordPiece vocabulary.", remedy="Install it again.")
    return lines
