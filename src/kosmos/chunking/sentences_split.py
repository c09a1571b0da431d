"""Where a long run of prose may be cut: after sentences, else after clauses, else between words.

Works on one line of text at a time, in Chinese and English. Positions are characters from 0.
"""

import re
import unicodedata
from collections.abc import Iterator

_CLOSERS = "\"'”’」』）》】)\\]}"
# Text inside data (logs, exports) often has its line breaks written out as backslash and n; in formulas
# the same two characters begin words such as \rho and \neq.
_BREAK = r"\\(?:n(?!(?:abla|eq?|ot(?:in)?|u|i|onumber|ewcommand)\b)|r(?![a-z]))"
_BLANK = rf"(?:\s|{_BREAK})"
_SENTENCE = re.compile(
    rf"[。！？…][。！？…{_CLOSERS}]*+{_BLANK}*+"
    rf"|[.!?]++[{_CLOSERS}]*+(?:{_BLANK}++|\Z)"
    rf"|(?:{_BREAK})++{_BLANK}*+"
)
_CLAUSE = re.compile(r"[，；：、][”’」』）]*|[,;:]\s+|\s[–—-]\s")
_WORD = re.compile(r"\s+")
_SHORT_FORM = re.compile(
    r"(?:^|[\s(\[\"'“])(?:[A-Z]|(?:[A-Za-z]\.)+[A-Za-z]|[Mm]rs?|Ms|Dr|Prof|St|Jr|Sr|Inc|Ltd|Co|No|Nos|Fig|Figs"
    r"|Eq|Sec|Ch|vs|etc|cf|al|approx|Gen|Col|Lt|Sgt|Rev|Hon|Gov|Sen|Rep|pp|vol|ed)$"
)
# Between the records of a list written as data: `}, {`.
_RECORD = re.compile(r"(?<=[}\]]),\s*(?=[{\[])")
_JOINER = "\u200d"


def record_ends(text: str) -> list[int]:
    """Positions between the records of a list that is written on one line."""
    return [match.end() for match in _RECORD.finditer(text)]


def sentence_ends(text: str) -> list[int]:
    """Positions after each sentence and the blanks that follow it; the end of the text is not among them."""
    return [
        match.end()
        for match in _SENTENCE.finditer(text)
        if match.end() < len(text) and not _goes_on(text, match)
    ]


def _goes_on(text: str, match: re.Match[str]) -> bool:
    """Whether a full stop only shortens a word: `e.g. this`, `Mr. Smith`, `J. Doe`."""
    if match.group()[0] != ".":
        return False
    if text[match.end()].islower():
        return True
    return bool(_SHORT_FORM.search(text, max(0, match.start() - 12), match.start()))


def cut_run(text: str, limit: int) -> Iterator[int]:
    """Positions that cut a run without sentence ends into pieces of at most `limit` characters."""
    at = 0
    while len(text) - at > limit:
        at = (
            _last_end(_CLAUSE, text, at, limit)
            or _last_end(_WORD, text, at, limit)
            or _hard_cut(text, at, limit)
        )
        yield at


def _last_end(pattern: re.Pattern[str], text: str, start: int, limit: int) -> int:
    """The last place to cut in the second half of the next `limit` characters, or 0."""
    ends = [match.end() for match in pattern.finditer(text, start + limit // 2, start + limit)]
    return ends[-1] if ends else 0


def _hard_cut(text: str, start: int, limit: int) -> int:
    """Anywhere, but not between the parts of one visible character."""
    at = start + limit
    for back in range(min(limit - 1, 32)):
        if not _is_inside(text, at - back):
            return at - back
    return at


def _is_inside(text: str, at: int) -> bool:
    joined = _JOINER in (text[at - 1], text[at])
    return (
        joined
        or unicodedata.category(text[at]) in ("Mn", "Me", "Mc")
        or "\U0001f3fb" <= text[at] <= "\U0001f3ff"
    )
