"""Cuts a whole paper into passages of lines that can be cited, each below its headings."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kosmos.domain.tokens import estimate_tokens

TOKENS = 400  # of a passage, about: small enough to point at, large enough to be few
_HEADING = re.compile(r"(#{1,6})\s+(.*\S)")
_FENCE = re.compile(r"\s*(```|~~~)")


@dataclass(frozen=True, slots=True)
class Piece:
    """Lines of a text from 1, both included, and the headings above them."""

    start: int
    end: int
    headings: tuple[str, ...]


def cut_pieces(lines: Sequence[str], *, leave_out: tuple[int, int] | None = None) -> list[Piece]:
    """All lines that are not blank, each in one piece; a piece ends at headings and, when large, at blanks.

    `leave_out` are the first and last line of what is no content.
    """
    found: list[Piece] = []
    for start, end, headings in _sections(lines):
        for first, last in _parts(lines, start, end):
            found += _without(lines, Piece(first, last, headings), leave_out)
    return found


def _sections(lines: Sequence[str]) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """From heading to heading, outside of code."""
    path: list[tuple[int, str]] = []
    start, fence = 1, ""
    for number, line in enumerate(lines, start=1):
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1] == fence):
            fence = "" if fence else mark[1]
        heading = None if fence else _HEADING.match(line)
        if heading is None:
            continue
        if number > start:
            yield start, number - 1, tuple(title for _, title in path)
        start = number
        level = len(heading[1])
        path = [item for item in path if item[0] < level] + [(level, heading[2].strip("#* ")[:100])]
    yield start, len(lines), tuple(title for _, title in path)


def _parts(lines: Sequence[str], start: int, end: int) -> Iterator[tuple[int, int]]:
    first, size = start, 0
    for number in range(start, end + 1):
        line = lines[number - 1]
        if not line.strip() and size >= TOKENS:
            yield first, number - 1
            first, size = number + 1, 0
        size += estimate_tokens(line)
        if size >= 4 * TOKENS and number < end:  # no blank line for pages
            yield first, number
            first, size = number + 1, 0
    if first <= end:
        yield first, end


def _without(lines: Sequence[str], piece: Piece, hole: tuple[int, int] | None) -> list[Piece]:
    spans = [(piece.start, piece.end)]
    if hole is not None and piece.start <= hole[1] and hole[0] <= piece.end:
        spans = [(piece.start, hole[0] - 1), (hole[1] + 1, piece.end)]
    trimmed = [_trim(lines, *span) for span in spans if span[0] <= span[1]]
    return [Piece(*span, piece.headings) for span in trimmed if span is not None]


def _trim(lines: Sequence[str], start: int, end: int) -> tuple[int, int] | None:
    """Without blank lines at both ends; None when there is nothing else."""
    while start <= end and not lines[start - 1].strip():
        start += 1
    while end >= start and not lines[end - 1].strip():
        end -= 1
    return (start, end) if start <= end else None
