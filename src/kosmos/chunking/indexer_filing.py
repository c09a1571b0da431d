"""From what was pointed at to chunks: ends, text and sizes are derived, never told.

Parts are chunks without a place in the tree; parents follow from the levels of the headings when parts are
attached to what was filed before them.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from kosmos.chunking.hiding import show_words, shown_title
from kosmos.chunking.indexer_answers import MAX_HEADING, Pointed
from kosmos.chunking.indexer_batches import Region
from kosmos.chunking.indexer_sheet import Sheet, Stretch
from kosmos.chunking.packing import MAX_TOKENS
from kosmos.chunking.redaction import hide_identifiers, merge_redactions, redactions_of
from kosmos.chunking.structure import INDEXED, chunk_by_structure
from kosmos.chunking.summaries import summarize
from kosmos.domain.blocks import Block, without_comments
from kosmos.domain.chunks import CONTENT_LEVEL, ERROR_LEVEL, ChunkDraft, ChunkType
from kosmos.domain.redactions import Redaction
from kosmos.domain.tokens import estimate_tokens

_LEAD_TOKENS = 48  # fewer before the first unit are its introduction
_WORD = re.compile(r"[^\W_]")
_TELLING = re.compile(r"(?=([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2}))|[^\W_]{4,}")


@dataclass(frozen=True, slots=True)
class Open:
    """A heading under which things may still be filed."""

    position: int
    level: int
    title: str


@dataclass(frozen=True, slots=True)
class _Piece:
    """Stretches that become one part: a heading if it has a level."""

    stretches: Sequence[Stretch]
    level: int = 0
    title: str = ""
    summary: str | None = None

    @property
    def start_line(self) -> int:
        return self.stretches[0].start_line

    @property
    def end_line(self) -> int:
        return self.stretches[-1].end_line

    @property
    def tokens(self) -> int:
        return sum(stretch.tokens for stretch in self.stretches)


def file_answer(sheet: Sheet, region: Region, pointed: Pointed) -> list[ChunkDraft]:
    """The parts of a region, or of what comes before its tail."""
    last = region.end_line if pointed.unfinished_from is None else pointed.unfinished_from - 1
    pieces = _pieces(sheet, sheet.within(region.start_line, last), pointed)
    hidden = merge_redactions([*sheet.redactions, *pointed.redactions])
    return [part for piece in _join_leads(pieces) for part in _parts(sheet, piece, hidden)]


def file_by_structure(
    sheet: Sheet, start_line: int, end_line: int, hidden: Sequence[Redaction] | None = None
) -> list[ChunkDraft]:
    """The parts of a range of lines without any model."""
    text = "\n".join(sheet.lines[start_line - 1 : end_line])
    drafts = chunk_by_structure(text, list(_clip(sheet.blocks, start_line, end_line)))
    hidden = sheet.redactions if hidden is None else hidden
    drafts = drafts or [_draft(sheet, start_line, start_line, ChunkType.CONTENT, CONTENT_LEVEL)]
    down = start_line - drafts[0].start_line
    moved = [
        replace(item, start_line=item.start_line + down, end_line=item.end_line + down, parent=None,
                heading_path=())
        for item in drafts
    ]  # fmt: skip
    return [_hide(part, hidden) for part in moved]


def make_sentinel(sheet: Sheet, region: Region, reason: str) -> ChunkDraft:
    """One part for a whole region that could not be filed, with the reason in place of a summary."""
    part = _draft(sheet, region.start_line, region.end_line, ChunkType.ERROR, ERROR_LEVEL)
    return replace(part, summary=reason)


def attach(
    parts: Sequence[ChunkDraft], above: Sequence[Open], position: int
) -> tuple[list[ChunkDraft], list[Open]]:
    """The parts with their parents, the first at that position, and the headings open after them."""
    drafts: list[ChunkDraft] = []
    stack = list(above)
    for part in parts:
        if part.type is ChunkType.HEADING:
            while stack and stack[-1].level >= part.level:
                stack.pop()
        path = tuple(heading.title for heading in stack)
        drafts.append(replace(part, parent=stack[-1].position if stack else None, heading_path=path))
        if part.type is ChunkType.HEADING:
            stack.append(Open(position + len(drafts) - 1, part.level, part.summary))
    return drafts, stack


def _pieces(sheet: Sheet, stretches: Sequence[Stretch], pointed: Pointed) -> list[_Piece]:
    """Headings, and the contents between them, a new one wherever a unit begins."""
    pieces: list[_Piece] = []
    for stretch in stretches:
        line = stretch.start_line
        if stretch.heading:
            pieces.append(_Piece([stretch], stretch.heading.level, stretch.heading.title))
        elif line in pointed.headings:
            pieces += _split_title(sheet, stretch, pointed.headings[line])
        elif not pieces or pieces[-1].level or line in pointed.units or line in pointed.starts:
            pieces.append(_Piece([stretch], summary=pointed.units.get(line)))
        else:
            pieces[-1] = replace(pieces[-1], stretches=[*pieces[-1].stretches, stretch])
    return pieces


def _split_title(sheet: Sheet, stretch: Stretch, level: int) -> Iterator[_Piece]:
    """A found heading: the whole stretch where that is short, else its first line."""
    shown = sheet.shown[stretch.start_line - 1 : stretch.end_line]
    title = " ".join(" ".join(shown).split())
    rest = next((n for n in range(stretch.sign + 1, stretch.end_line + 1) if sheet.shown[n - 1].strip()), 0)
    if not rest or len(title) <= MAX_HEADING // 2:
        yield _Piece([stretch], level, _plain_title(title))
        return
    tokens = estimate_tokens(sheet.shown[stretch.sign - 1])
    yield _Piece(
        [replace(stretch, end_line=rest - 1, tokens=tokens)],
        level,
        _plain_title(sheet.shown[stretch.sign - 1]),
    )
    yield _Piece([replace(stretch, start_line=rest, sign=rest, tokens=stretch.tokens - tokens)])


def _plain_title(text: str) -> str:
    """A title without the marks that writers put around it."""
    return text.strip("*_=#~ \t") or text.strip()


def _join_leads(pieces: Sequence[_Piece]) -> list[_Piece]:
    """A few words without a summary introduce the unit that follows, or else end the one before."""
    joined: list[_Piece] = []
    for piece in pieces:
        before = joined[-1] if joined and not joined[-1].level else None
        if before and not piece.level and (_is_scrap(before) or _is_scrap(piece)):
            both = [*before.stretches, *piece.stretches]
            joined[-1] = _Piece(both, summary=before.summary or piece.summary)
        else:
            joined.append(piece)
    return joined


def _is_scrap(piece: _Piece) -> bool:
    return not piece.level and piece.summary is None and piece.tokens < _LEAD_TOKENS


def _parts(sheet: Sheet, piece: _Piece, hidden: Sequence[Redaction]) -> Iterator[ChunkDraft]:
    if piece.level:
        part = _draft(sheet, piece.start_line, piece.end_line, ChunkType.HEADING, piece.level)
        yield replace(part, summary=shown_title(part, piece.title, hidden), metadata={"kind": "heading"})
    elif piece.tokens > MAX_TOKENS:
        split = file_by_structure(sheet, piece.start_line, piece.end_line, hidden)
        yield _summarized(sheet, replace(split[0], from_split=True), piece.summary, hidden)
        yield from (replace(part, from_split=True) for part in split[1:])
    else:
        part = _draft(sheet, piece.start_line, piece.end_line, ChunkType.CONTENT, CONTENT_LEVEL)
        blocks = [key for key, _ in groupby(stretch.block for stretch in piece.stretches)]
        part = replace(part, merged=len(blocks) > 1, metadata=_metadata(sheet, piece))
        yield _summarized(sheet, _hide(part, hidden), piece.summary, hidden)


def _metadata(sheet: Sheet, piece: _Piece) -> Mapping[str, Any]:
    kind = max(piece.stretches, key=lambda stretch: stretch.tokens).kind
    shown = "\n".join(sheet.shown[piece.start_line - 1 : piece.end_line])
    found = _WORD.search(shown) and kind != "definition"
    return {"kind": kind} if found else {"kind": kind, INDEXED: False}


def _draft(sheet: Sheet, start_line: int, end_line: int, kind: ChunkType, level: int) -> ChunkDraft:
    raw = "\n".join(sheet.lines[start_line - 1 : end_line])
    return ChunkDraft(kind, level, start_line, end_line, raw, "", estimate_tokens(raw), None)


def _clip(blocks: Iterable[Block], start_line: int, end_line: int) -> Iterator[Block]:
    """The blocks of a range of lines, as if there were no others."""
    for block in blocks:
        first, last = max(block.start_line, start_line), min(block.end_line, end_line)
        if first > last:
            continue
        inside = [
            (line - start_line + 1, depth)
            for line, depth in zip(block.safe_starts, block.safe_depths, strict=True)
            if first < line <= last
        ]
        yield replace(
            block,
            start_line=first - start_line + 1,
            end_line=last - start_line + 1,
            safe_starts=tuple(line for line, _ in inside),
            safe_depths=tuple(depth for _, depth in inside),
        )


def _hide(part: ChunkDraft, hidden: Sequence[Redaction]) -> ChunkDraft:
    """The part with a summary of its own words that says nothing hidden."""
    if part.type is ChunkType.HEADING:
        return replace(part, summary=shown_title(part, part.summary, hidden))
    return replace(part, summary=summarize(show_words(part, hidden)))


def _summarized(
    sheet: Sheet, part: ChunkDraft, summary: str | None, hidden: Sequence[Redaction]
) -> ChunkDraft:
    """The part with the model's summary, unless that tells what is hidden."""
    if summary is None:
        return part
    summary = hide_identifiers(summary, sheet.kinds)
    return part if _tells(summary, part, hidden) else replace(part, summary=summary)


def _tells(summary: str, part: ChunkDraft, hidden: Sequence[Redaction]) -> bool:
    """Whether a summary has words of the part that stand only where something is hidden."""
    if not redactions_of(hidden, part.start_line, part.end_line):
        return False
    secret = set(_words(without_comments(part.raw_content))) - set(_words(show_words(part, hidden)))
    return any(word in secret for word in _words(summary))


def _words(text: str) -> Iterator[str]:
    """The longer words, and all pairs of East Asian characters."""
    return (match[1] or match[0] for match in _TELLING.finditer(text.lower()))
