"""Running headers, footers and page numbers: lines at the edge of pages that come again on the next ones."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kosmos.chunking.detectors.scan import scan_text
from kosmos.domain.redactions import Redaction, RedactionKind, RedactionSource, mark_of

EDGE_LINES = 3
LEAST_PAGES = 3
# Left and right pages may have headers of their own; a page with a figure may have none.
MAX_GAP = 2
MAX_LENGTH = 200
_NUMBER = re.compile(r"[0-9]{1,9}")
_STRUCTURE = re.compile(r"#{1,6} |\||```|~~~|[-*+] |!\[|:?-{3,}")


@dataclass(frozen=True, slots=True)
class _Edge:
    """A line near the top or the bottom of a page, with its numbers taken out."""

    page: int
    line: int
    numbers: tuple[int, ...]


def find_boilerplate(lines: Sequence[str], page_starts: Sequence[int]) -> list[Redaction]:
    """Lines that repeat over pages; of a repeated wording the first stays, of page numbers none."""
    edges: dict[tuple[str, str], list[_Edge]] = defaultdict(list)
    for page, (first, last) in enumerate(_pages(len(lines), page_starts)):
        for zone, number in _edge_lines(lines, first, last):
            key, numbers = _wording(lines[number - 1])
            edges[zone, key].append(_Edge(page, number, numbers))
    found = {number for (_, key), places in edges.items() for number in _repeated(key, places)}
    return [_redact(number) for number in sorted(found)]


def _pages(total: int, starts: Sequence[int]) -> list[tuple[int, int]]:
    firsts = sorted({start for start in starts if 1 <= start <= total})
    return list(zip(firsts, [*(start - 1 for start in firsts[1:]), total], strict=True)) if firsts else []


def _edge_lines(lines: Sequence[str], first: int, last: int) -> Iterator[tuple[str, int]]:
    """The outermost lines that say anything; a heading or a table belongs to the text."""
    written = [number for number in range(first, last + 1) if lines[number - 1].strip()]
    depth = min(EDGE_LINES, max(1, len(written) // 3))
    for zone, numbers in (("top", written[:depth]), ("bottom", written[depth:][-depth:])):
        for number in numbers:
            line = lines[number - 1].strip()
            if len(line) <= MAX_LENGTH and not _STRUCTURE.match(line):
                yield zone, number


def _wording(line: str) -> tuple[str, tuple[int, ...]]:
    folded = " ".join(scan_text(line).lower.split())
    return _NUMBER.sub("0", folded), tuple(int(number) for number in _NUMBER.findall(folded))


def _repeated(key: str, places: Sequence[_Edge]) -> Iterator[int]:
    """The lines to hide among those of one wording in one zone."""
    wordy = any(sign.isalpha() for sign in key)
    for run in _runs(places):
        if len({edge.page for edge in run}) < LEAST_PAGES:
            continue
        if _counts_pages(run):
            yield from (edge.line for edge in run)
        elif wordy and len({edge.numbers for edge in run}) == 1:
            yield from (edge.line for edge in run[1:])


def _runs(places: Sequence[_Edge]) -> Iterator[list[_Edge]]:
    """Stretches of pages that follow each other closely enough."""
    run: list[_Edge] = []
    for edge in places:
        if run and edge.page - run[-1].page > MAX_GAP:
            yield run
            run = []
        run.append(edge)
    yield run


def _counts_pages(run: Sequence[_Edge]) -> bool:
    """Whether one of the numbers rises with the pages."""
    offsets = [[number - edge.page for number in edge.numbers] for edge in run]
    return any(len(set(column)) == 1 for column in zip(*offsets, strict=True))


def _redact(line: int) -> Redaction:
    kind = RedactionKind.BOILERPLATE
    reason = "repeats at the edge of pages"
    return Redaction(line, line, kind, RedactionSource.DETECTOR, mark_of(kind), reason)
