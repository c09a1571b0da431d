"""Chunks from the structure of the text alone: a heading is a chunk, blocks below it are packed.

Only starts are decided; each chunk ends where the next begins, so gaps and overlaps cannot occur.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

from kosmos.chunking.coverage import END_OFFSET, START_OFFSET
from kosmos.chunking.packing import ChunkSizes, Unit, pack_units
from kosmos.chunking.splitting import Page, split_blocks
from kosmos.chunking.splitting_comments import find_comments
from kosmos.chunking.summaries import summarize
from kosmos.domain.blocks import Block
from kosmos.domain.chunks import CONTENT_LEVEL, ChunkDraft, ChunkType
from kosmos.domain.tokens import estimate_tokens

INDEXED = "indexed"  # False in the metadata of a chunk that has no words to be found by

DEFAULT_SIZES = ChunkSizes()
_UNREAD = frozenset({"front_matter", "definition"})  # read by programs, not by people
_WORD = re.compile(r"[^\W_]")


@dataclass(frozen=True, slots=True)
class _Part:
    """A chunk to be: where it begins, and what it is made of."""

    start: int
    kind: str
    level: int = 0
    title: str = ""
    merged: bool = False
    from_split: bool = False
    indexed: bool = True


def chunk_by_structure(
    text: str, parts: Sequence[Block], *, sizes: ChunkSizes = DEFAULT_SIZES
) -> list[ChunkDraft]:
    """The chunks of a text, covering every character exactly once; none for an empty text."""
    if text == "":
        return []
    lines = text.split("\n")
    offsets = [0, *accumulate(len(line) + 1 for line in lines)]
    page = Page(text, lines, offsets[:-1], find_comments(text))
    found = [part for section in _sections(_whole(lines, parts)) for part in _parts(page, section, sizes)]
    return _build(page, found)


def _whole(lines: Sequence[str], parts: Sequence[Block]) -> list[Block]:
    """Blocks that leave no line out: what the parser skips is blank, or defines links and gets a block."""
    blocks: list[Block] = []
    ends = [0, *(part.end_line for part in parts)]
    starts = [*(part.start_line for part in parts), len(lines) + 1]
    for index, (end, start) in enumerate(zip(ends, starts, strict=True)):
        first = next((number for number in range(end + 1, start) if lines[number - 1].strip()), None)
        if first is not None:
            blocks.append(Block("definition", first, start - 1))
        if index < len(parts):
            blocks.append(parts[index])
    return blocks or [Block("blank", 1, len(lines))]


def _sections(blocks: Sequence[Block]) -> Iterator[tuple[list[Block], int | None]]:
    """Runs of blocks, headings and front matter alone, each with the line at which the next run begins."""
    run: list[Block] = []
    for block in blocks:
        alone = block.level > 0 or block.kind == "front_matter"
        if run and (alone or run[0].level > 0 or run[0].kind == "front_matter"):
            yield run, block.start_line
            run = []
        run.append(block)
    yield run, None


def _parts(page: Page, section: tuple[list[Block], int | None], sizes: ChunkSizes) -> Iterator[_Part]:
    blocks, following = section
    first = blocks[0]
    if first.level > 0 or first.kind == "front_matter":
        yield _Part(
            page.position(first.start_line), first.kind, first.level, first.title, indexed=first.level > 0
        )
        return
    end_line = len(page.lines) if following is None else following - 1
    units = split_blocks(page, blocks, end_line, sizes)
    for start, end in pairwise([*pack_units(page.text, units, sizes), len(units)]):
        yield _content(page, units, start, end)


def _content(page: Page, units: Sequence[Unit], start: int, end: int) -> _Part:
    """The chunk of some units; it comes from a split if a neighbour has the rest of a block."""
    own = units[start:end]
    split_above = start > 0 and units[start - 1].block == own[0].block
    split_below = end < len(units) and units[end].block == own[-1].block
    return _Part(
        own[0].start,
        max(own, key=lambda unit: unit.visible).kind,
        merged=own[0].block != own[-1].block,
        from_split=split_above or split_below,
        indexed=any(unit.kind not in _UNREAD and _has_words(page, unit) for unit in own),
    )


def _has_words(page: Page, unit: Unit) -> bool:
    return bool(_WORD.search(page.comments.visible(page.text, unit.start, unit.end)))


def _build(page: Page, parts: Sequence[_Part]) -> list[ChunkDraft]:
    drafts: list[ChunkDraft] = []
    open_headings: list[tuple[int, _Part]] = []  # position in drafts, heading
    starts = [0, *(part.start for part in parts[1:]), len(page.text) + 1]
    for part, (start, end) in zip(parts, pairwise(starts), strict=True):
        while part.level and open_headings and open_headings[-1][1].level >= part.level:
            open_headings.pop()
        path = tuple(heading.title for _, heading in open_headings)
        parent = open_headings[-1][0] if open_headings else None
        drafts.append(_draft(page, part, (start, end), parent, path))
        if part.level:
            open_headings.append((len(drafts) - 1, part))
    return drafts


def _draft(
    page: Page, part: _Part, place: tuple[int, int], parent: int | None, path: tuple[str, ...]
) -> ChunkDraft:
    start, end = place
    first = bisect_right(page.offsets, start)
    last = bisect_right(page.offsets, end - 1)
    cut = end - page.offsets[last - 1] if end <= len(page.text) and page.text[end - 1] != "\n" else 0
    raw = page.text[start : end if cut else end - 1]
    return ChunkDraft(
        type=ChunkType.HEADING if part.level else ChunkType.CONTENT,
        level=part.level or CONTENT_LEVEL,
        start_line=first,
        end_line=last,
        raw_content=raw,
        summary=part.title
        if part.level
        else summarize(page.comments.visible(page.text, start, start + len(raw))),
        token_count=estimate_tokens(raw),
        parent=parent,
        heading_path=path,
        from_split=part.from_split,
        merged=part.merged,
        metadata=_metadata(part, start - page.offsets[first - 1], cut),
    )


def _metadata(part: _Part, start_offset: int, end_offset: int) -> dict[str, Any]:
    """What kind of block it mostly is; the rest only where there is something to say."""
    found: dict[str, Any] = {"kind": part.kind}
    if not part.indexed:
        found[INDEXED] = False
    if start_offset:
        found[START_OFFSET] = start_offset
    if end_offset:
        found[END_OFFSET] = end_offset
    return found
