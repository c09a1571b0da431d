"""Looking for a pattern in texts, line by line, in time that no pattern can stretch.

The engine is RE2: its time grows with the length of the text, whatever the pattern. A text is searched in
pieces small enough that the clock is looked at several times a second even for the worst pattern.
"""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from kosmos.errors import InvalidInput
from kosmos.ingest.grep_patterns import Pattern, compile_pattern

MAX_CONTEXT = 50
MAX_MATCHES = 10_000
SHOWN_CHARS = 400
_OVERLAP = 1024


@dataclass(frozen=True, slots=True)
class GrepMatch:
    """A line in which the pattern occurs. `column` and `end_column` count characters of the line from 1.

    `text` is the line, cut around the first occurrence when it is long; `offset` says how many of its
    characters are cut off in front.
    """

    source: str
    line: int
    column: int
    end_column: int
    text: str
    offset: int = 0
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GrepResult:
    """Matches in the order of the texts.

    `truncated` is empty, `matches` (there are more) or `deadline` (time was up); `searched` counts texts
    that were searched to their end.
    """

    matches: tuple[GrepMatch, ...]
    truncated: str = ""
    searched: int = 0


@dataclass(slots=True)
class _Search:
    """One search under way."""

    pattern: Pattern
    context: int
    most: int
    deadline: float | None
    matches: list[GrepMatch] = field(default_factory=list)
    searched: int = 0

    def is_late(self) -> bool:
        return self.deadline is not None and time.monotonic() >= self.deadline


def grep(
    texts: Iterable[tuple[str, str]],
    pattern: str,
    *,
    ignore_case: bool = False,
    fixed: bool = False,
    context: int = 0,
    max_matches: int = 200,
    deadline: float | None = None,
) -> GrepResult:
    """The lines of (source, text) pairs in which a pattern occurs, each once.

    `deadline` is a moment of `time.monotonic()`. Texts are taken one by one, so that they can be loaded
    while searching; this function blocks and belongs into a thread.
    """
    if not 0 <= context <= MAX_CONTEXT or not 1 <= max_matches <= MAX_MATCHES:
        raise InvalidInput(
            f"Ask for 0 to {MAX_CONTEXT} lines of context and 1 to {MAX_MATCHES} matches.",
            remedy="Choose numbers in these ranges.",
        )
    compiled = compile_pattern(pattern, ignore_case=ignore_case, fixed=fixed)
    search = _Search(compiled, context, max_matches, deadline)
    truncated = _run(search, texts)
    return GrepResult(tuple(search.matches[:max_matches]), truncated, search.searched)


def _run(search: _Search, texts: Iterable[tuple[str, str]]) -> str:
    for source, text in texts:
        if search.is_late():
            return "deadline"
        if search.pattern.literal in text:
            for found in _search_text(search, source, text):
                if found is None:
                    return "deadline"
                search.matches.append(found)
                if len(search.matches) > search.most:
                    return "matches"
        search.searched += 1
    return ""


def _search_text(search: _Search, source: str, text: str) -> Iterator[GrepMatch | None]:
    """The matches of one text; None when time is up."""
    # Half a surrogate pair cannot be searched for; it keeps its place as one character.
    data = text.encode("utf-8", "replace")
    counted, line = 0, 1
    behind = -1
    for start, end in _pieces(data, search.pattern.piece):
        if search.is_late():
            yield None
            return
        position = max(start, behind)
        while position <= end and (match := search.pattern.engine.search(data, position, end)):
            begin = data.rfind(b"\n", 0, match.start()) + 1
            finish = _end_of_line(data, match.start())
            line += data.count(b"\n", counted, begin)
            counted = begin
            yield _describe(search, source, data, (line, begin, finish, match))
            position = behind = finish + 1
            if search.is_late():
                yield None
                return


def _pieces(data: bytes, size: int) -> Iterator[tuple[int, int]]:
    """Parts that end at ends of lines; a longer line is cut into parts that overlap."""
    start = 0
    while start <= len(data):
        end = min(start + size, len(data))
        if end < len(data):
            cut = data.rfind(b"\n", start, end + 1)
            if cut < 0:
                yield start, _boundary(data, end)
                start = _boundary(data, end - _OVERLAP)
                continue
            end = cut
        yield start, end
        start = end + 1


def _boundary(data: bytes, position: int) -> int:
    """The start of the character at a position."""
    while data[position] & 0xC0 == 0x80:
        position -= 1
    return position


def _describe(search: _Search, source: str, data: bytes, found: tuple[int, int, int, Any]) -> GrepMatch:
    line, begin, finish, match = found
    column = _characters(data, begin, match.start()) + 1
    end_column = column + _characters(data, match.start(), match.end())
    text, offset = _cut(data, (begin, finish), (match.start(), match.end()), column)
    return GrepMatch(
        source, line, column, end_column, text, offset,
        before=_lines_before(data, begin, search.context), after=_lines_after(data, finish, search.context),
    )  # fmt: skip


def _cut(data: bytes, line: tuple[int, int], match: tuple[int, int], column: int) -> tuple[str, int]:
    """The line, or the part of it around the match, and how many characters are missing in front."""
    begin, finish = line
    if finish - begin <= SHOWN_CHARS:
        return data[begin:finish].decode(), 0
    # Four bytes at most are one character.
    near = data[max(begin, match[0] - 4 * SHOWN_CHARS) : match[0]].decode(errors="ignore")
    rest = data[match[0] : min(finish, match[0] + 4 * SHOWN_CHARS)].decode(errors="ignore")
    length = min(SHOWN_CHARS, _characters(data, match[0], min(match[1], match[0] + 4 * SHOWN_CHARS)))
    room = (SHOWN_CHARS - length) // 2
    front = near[max(0, len(near) - max(room, SHOWN_CHARS - len(rest))) :]
    shown = front + rest[: SHOWN_CHARS - len(front)]
    return shown, column - 1 - len(front)


def _lines_before(data: bytes, begin: int, count: int) -> tuple[str, ...]:
    lines: list[str] = []
    while begin > 0 and len(lines) < count:
        end = begin - 1
        begin = data.rfind(b"\n", 0, end) + 1
        lines.append(_head(data, begin, end))
    return tuple(lines[::-1])


def _lines_after(data: bytes, finish: int, count: int) -> tuple[str, ...]:
    lines: list[str] = []
    while finish < len(data) and len(lines) < count:
        begin = finish + 1
        finish = _end_of_line(data, begin)
        lines.append(_head(data, begin, finish))
    return tuple(lines)


def _head(data: bytes, begin: int, end: int) -> str:
    """The first characters of a line."""
    text = data[begin : min(end, begin + 4 * SHOWN_CHARS)].decode(errors="ignore")
    return text[:SHOWN_CHARS]


def _end_of_line(data: bytes, position: int) -> int:
    end = data.find(b"\n", position)
    return end if end >= 0 else len(data)


def _characters(data: bytes, start: int, end: int) -> int:
    return len(data[start:end].decode(errors="ignore"))
