"""The redaction layer over a text: found, merged, cut to a range, applied. The text itself is never edited.

Applying keeps every line where it is: the mark stands where a redaction starts, its other lines are emptied.
Marks are placed by position in the document, so applying to a part gives that part of the applied whole.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kosmos.chunking.detectors.boilerplate import find_boilerplate
from kosmos.chunking.detectors.identifiers import find_identifiers
from kosmos.domain.redactions import LINE_END, Position, Redaction, RedactionKind, RedactionSource

Kinds = frozenset[RedactionKind]
ALL_KINDS: Kinds = frozenset(RedactionKind)
_SOURCES = {source: rank for rank, source in enumerate(RedactionSource)}
_KINDS = {kind: rank for rank, kind in enumerate(RedactionKind)}


def find_redactions(
    text: str, page_starts: Sequence[int] = (), kinds: Kinds = ALL_KINDS
) -> tuple[Redaction, ...]:
    """All of these kinds that the built-in detectors find: identifiers, and what repeats over pages."""
    if not kinds:
        return ()
    repeated = find_boilerplate(text.split("\n"), page_starts)
    return merge_redactions(keep_kinds([*find_identifiers(text), *repeated], kinds))


def keep_kinds(redactions: Iterable[Redaction], kinds: Kinds) -> list[Redaction]:
    """Those of the kinds that are to be hidden."""
    return [item for item in redactions if item.kind in kinds]


def hide_identifiers(text: str, kinds: Kinds = ALL_KINDS) -> str:
    """A text without what the built-in detectors find in it."""
    return apply_redactions(text, keep_kinds(find_identifiers(text), kinds)) if kinds else text


def shown_values(value: Any, kinds: Kinds) -> Any:
    """What was found beside the text, such as front matter, without identifiers in any of its texts."""
    if isinstance(value, str):
        return hide_identifiers(value, kinds)
    if isinstance(value, Mapping):
        return {key: shown_values(item, kinds) for key, item in value.items()}
    return [shown_values(item, kinds) for item in value] if isinstance(value, list | tuple) else value


def merge_redactions(redactions: Iterable[Redaction]) -> tuple[Redaction, ...]:
    """Sorted and apart: those that share a character become one that covers them all.

    The strongest gives it kind, mark and reason: a person before a model before the detector, then by kind.
    The order of the input does not matter, and merging in steps gives the same.
    """
    merged: list[Redaction] = []
    for item in sorted(redactions, key=lambda item: (item.start, item.end, _strength(item))):
        if merged and item.start < merged[-1].end:
            merged[-1] = _unite(merged[-1], item)
        else:
            merged.append(item)
    return tuple(merged)


def redactions_of(redactions: Sequence[Redaction], start_line: int, end_line: int) -> tuple[Redaction, ...]:
    """Those of merged redactions that touch a range of lines, uncut: their place is in the document."""
    first = bisect_left(redactions, start_line, key=lambda item: item.end_line)
    last = bisect_right(redactions, end_line, key=lambda item: item.start_line)
    return tuple(redactions[first:last])


def apply_redactions(
    text: str, redactions: Iterable[Redaction], *, first_line: int = 1, first_column: int = 0
) -> str:
    """The text as it may be shown; it starts at `first_column` of `first_line` of the document."""
    lines = text.split("\n")
    last_line = first_line + len(lines) - 1
    # From the end, so that the columns of earlier redactions in a line still hold.
    for item in reversed(merge_redactions(redactions)):
        for number in range(max(item.start_line, first_line), min(item.end_line, last_line) + 1):
            skipped = first_column if number == first_line else 0
            lines[number - first_line] = _cover(lines[number - first_line], item, (number, skipped))
    return "\n".join(lines)


def _cover(piece: str, item: Redaction, at: Position) -> str:
    """A line, or the piece of it that begins at `at`, without what the redaction hides of it."""
    number, skipped = at
    begins = number == item.start_line and item.start_column >= skipped
    start = max(item.start_column - skipped, 0) if number == item.start_line else 0
    end = (item.end[1] if number == item.end_line else LINE_END) - skipped
    if start >= min(end, len(piece)) and not (begins and item.whole_lines):
        return piece
    return piece[:start] + (item.replacement if begins else "") + piece[max(end, start) :]


def _unite(one: Redaction, other: Redaction) -> Redaction:
    start, end = min(one.start, other.start), max(one.end, other.end)
    return replace(
        min(one, other, key=_strength),
        start_line=start[0],
        start_column=start[1],
        end_line=end[0],
        end_column=None if end[1] == LINE_END else end[1],
    )


def _strength(item: Redaction) -> tuple[int, int, str, str]:
    return _SOURCES[item.source], _KINDS[item.kind], item.replacement, item.reason
