"""The rules that chunks of a whole text obey, whoever made them: checked before storing and by `verify`."""

import hashlib
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate
from typing import Any

from kosmos.chunking.coverage import END_OFFSET, START_OFFSET, join_chunks
from kosmos.domain.chunks import CONTENT_LEVEL, ERROR_LEVEL, Chunk, ChunkDraft, ChunkType

MAX_LEVEL = 6


class Rule(StrEnum):
    """What can be wrong."""

    GAP = "gap"
    OVERLAP = "overlap"
    ORDER = "order"
    LINES = "lines"
    TEXT = "text"
    PARENT = "parent"
    LEVEL = "level"
    HASH = "hash"


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken rule: the position of the chunk, or None where all together are wrong."""

    rule: Rule
    position: int | None
    message: str


def check_chunks(text: str, drafts: Sequence[ChunkDraft]) -> list[Violation]:
    """Everything that is wrong with the chunks of a text, in order; nothing if all is well."""
    return [*_check_ranges(text, drafts), *_check_tree(drafts), *_check_hash(text, drafts)]


def as_drafts(chunks: Sequence[Chunk]) -> list[ChunkDraft]:
    """Stored chunks, in order, as drafts for the same rules; a parent that is not there becomes -1."""
    positions = {chunk.id: position for position, chunk in enumerate(chunks)}
    return [
        ChunkDraft(
            type=chunk.type,
            level=chunk.level,
            start_line=chunk.start_line,
            end_line=chunk.end_line,
            raw_content=chunk.raw_content,
            summary=chunk.summary,
            token_count=chunk.token_count,
            parent=None if chunk.parent_id is None else positions.get(chunk.parent_id, -1),
            from_split=chunk.from_split,
            merged=chunk.merged,
            metadata=chunk.metadata,
        )
        for chunk in chunks
    ]


@dataclass(frozen=True, slots=True)
class _Lines:
    text: str
    offsets: Sequence[int]  # where each line begins, and where one after the last would

    def place(self, line: int, offset: int) -> int:
        return self.offsets[line - 1] + offset

    def width(self, line: int) -> int:
        return self.offsets[line] - self.offsets[line - 1] - 1

    def name(self, at: int) -> str:
        line = bisect_right(self.offsets, at)
        offset = at - self.offsets[line - 1]
        return f"line {line}, character {offset}" if offset else f"line {line}"


def _check_ranges(text: str, drafts: Sequence[ChunkDraft]) -> Iterator[Violation]:
    """Every line filed once, in order, with the text that stands there."""
    lines = _Lines(text, [0, *accumulate(len(line) + 1 for line in text.split("\n"))])
    filed, previous = 0, -1
    for position, draft in enumerate(drafts):
        bounds = _bounds(lines, draft)
        if bounds is None:
            yield Violation(Rule.LINES, position, f"{_range(draft)} is no range of this text")
            continue
        start, end = bounds
        yield from _check_start(lines, position, start, filed, previous)
        if (
            draft.raw_content
            != text[start : min(end, len(text)) if END_OFFSET in draft.metadata else end - 1]
        ):
            yield Violation(Rule.TEXT, position, f"the text is not that of {_range(draft)}")
        filed, previous = max(filed, end), start
    whole = len(text) + 1 if text else 0
    if filed < whole:
        yield Violation(Rule.GAP, None, f"from {lines.name(filed)} on nothing is filed")


def _check_start(lines: _Lines, position: int, start: int, filed: int, previous: int) -> Iterator[Violation]:
    if start > filed:
        yield Violation(
            Rule.GAP, position, f"nothing is filed from {lines.name(filed)} to {lines.name(start)}"
        )
    elif start <= previous:
        yield Violation(Rule.ORDER, position, f"{lines.name(start)} does not come after the chunk before")
    elif start < filed:
        yield Violation(Rule.OVERLAP, position, f"{lines.name(start)} is filed twice")


def _bounds(lines: _Lines, draft: ChunkDraft) -> tuple[int, int] | None:
    """Where a chunk begins and the next one has to, or None for what is no range of the text."""
    first, last = draft.start_line, draft.end_line
    if not 1 <= first <= last < len(lines.offsets):
        return None
    begin = _offset(draft.metadata, START_OFFSET, lines.width(first))
    stop = _offset(draft.metadata, END_OFFSET, lines.width(last))
    if begin is None or stop is None:
        return None
    start = lines.place(first, begin)
    end = lines.place(last, stop) if stop else lines.offsets[last]
    return (start, end) if start < end else None


def _offset(metadata: Mapping[str, Any], key: str, width: int) -> int | None:
    """The offset, 0 where there is none, None for one that is not inside the line."""
    value = metadata.get(key, 0)
    inside = type(value) is int and (0 < value < width if key in metadata else True)
    return value if inside else None


def _range(draft: ChunkDraft) -> str:
    return f"lines {draft.start_line}-{draft.end_line}"


def _check_tree(drafts: Sequence[ChunkDraft]) -> Iterator[Violation]:
    """Levels fit types, parents are headings that came before, and headings stand below higher ones."""
    for position, draft in enumerate(drafts):
        if not _level_fits(draft):
            yield Violation(
                Rule.LEVEL, position, f"a chunk of type {draft.type} cannot have level {draft.level}"
            )
        if draft.parent is None:
            continue
        parent = drafts[draft.parent] if 0 <= draft.parent < position else None
        if parent is None:
            yield Violation(Rule.PARENT, position, "the parent is not among the chunks before it")
        elif parent.type is not ChunkType.HEADING:
            yield Violation(Rule.PARENT, position, f"the parent, {_range(parent)}, is no heading")
        elif draft.type is ChunkType.HEADING and draft.level <= parent.level:
            message = f"a heading of level {draft.level} cannot stand below one of level {parent.level}"
            yield Violation(Rule.LEVEL, position, message)


def _level_fits(draft: ChunkDraft) -> bool:
    if draft.type is ChunkType.HEADING:
        return 1 <= draft.level <= MAX_LEVEL
    return draft.level == (CONTENT_LEVEL if draft.type is ChunkType.CONTENT else ERROR_LEVEL)


def _check_hash(text: str, drafts: Sequence[ChunkDraft]) -> Iterator[Violation]:
    """The chunks joined are the text, to the byte."""
    if not drafts and not text:
        return
    if _digest(join_chunks(drafts)) != _digest(text):
        yield Violation(Rule.HASH, None, "the chunks joined do not give the text")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
