"""From blocks to units: the smallest parts that packing keeps whole.

A block that fits is one unit. A larger one is cut where a reader would: a list at its items, a table at
its rows, code at its lines, prose at its lines and sentences. Only a line that is itself too large is cut
inside, so that nearly every unit is a range of lines.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from kosmos.chunking.packing import ChunkSizes, Gap, Unit
from kosmos.chunking.sentences_split import cut_run, record_ends, sentence_ends
from kosmos.chunking.splitting_comments import Comments
from kosmos.domain.blocks import Block
from kosmos.domain.tokens import estimate_tokens

_FENCE = re.compile(r"[\s>]*(?:[-*+]\s+|\d{1,9}[.)]\s+)?(`{3,}(?=[^`]*$)|~{3,})")
_ITEM = re.compile(r"(\s*)(?:[-*+]|\d{1,9}[.)])\s")
_CLOSED = re.compile(r"[.!?:;。！？：；…|][\s\"'”’」』）)\]*_`]*$")
_TABLE_RULE = re.compile(r"[\s|:\-]+$")
_TITLE_CHARS = 80


@dataclass(frozen=True, slots=True)
class Page:
    """A text with what splitting has to know about it."""

    text: str
    lines: Sequence[str]
    offsets: Sequence[int]  # where each line begins
    comments: Comments

    def position(self, line: int) -> int:
        """Where a line begins, counted from 1; the one after the last begins at the end of the text."""
        return self.offsets[line - 1] if line <= len(self.lines) else len(self.text)

    def unit(self, start: int, end: int, gap: Gap, block: int, kind: str) -> Unit:
        """A unit with its sizes."""
        raw = self.text[start:end]
        shown = self.comments.visible(self.text, start, end)
        tokens = estimate_tokens(raw)
        visible = tokens if len(shown) == len(raw) else estimate_tokens(shown)
        return Unit(start, end, tokens, visible, gap, block, kind, leads=_leads(shown, kind))


def split_blocks(page: Page, blocks: Sequence[Block], end_line: int, sizes: ChunkSizes) -> list[Unit]:
    """The units of the blocks of one section, which ends with that line."""
    units: list[Unit] = []
    ends = [block.start_line - 1 for block in blocks[1:]] + [end_line]
    for number, (block, last) in enumerate(zip(blocks, ends, strict=True)):
        start, end = page.position(block.start_line), page.position(last + 1)
        whole = page.unit(start, end, Gap.BLOCK, number, block.kind)
        units += [whole] if fits(whole, sizes) else _split_lines(page, block, number, last, sizes)
    return list(_outside_comments(page, [unit for unit in units if unit.end > unit.start]))


def fits(unit: Unit, sizes: ChunkSizes) -> bool:
    """Whether a unit stays whole: code up to the maximum, all else up to the core size."""
    return unit.visible <= (sizes.max_tokens if unit.kind == "code" else sizes.core_tokens)


def _split_lines(page: Page, block: Block, number: int, last: int, sizes: ChunkSizes) -> Iterator[Unit]:
    """The lines of a block, those of a fence inside it together, those too large in pieces."""
    indent = _item_indent(page.lines[block.start_line - 1])
    fence, opened = "", 0
    code = block.kind == "code"
    for line_number in range(block.start_line, last + 1):
        line = page.lines[line_number - 1]
        mark = None if code else _FENCE.match(line)
        if fence:
            if (mark and mark[1].startswith(fence)) or line_number == last:
                yield from _fence(page, (opened, line_number, number), block, sizes)
                fence = ""
            continue
        if mark and line_number < last:
            fence, opened = mark[1][:3], line_number
            continue
        gap = _gap(page.lines, line_number, block, indent)
        start, end = page.position(line_number), page.position(line_number + 1)
        yield from _cut_line(page, page.unit(start, end, gap, number, block.kind), sizes)


def _fence(page: Page, where: tuple[int, int, int], block: Block, sizes: ChunkSizes) -> Iterator[Unit]:
    """Code inside a list or quote: one unit, or its lines when it is larger than a chunk may be."""
    first, last, number = where
    gap = _gap(page.lines, first, block, _item_indent(page.lines[block.start_line - 1]))
    unit = page.unit(page.position(first), page.position(last + 1), gap, number, "code")
    if fits(unit, sizes):
        yield unit
        return
    for line in range(first, last + 1):
        start, end = page.position(line), page.position(line + 1)
        yield from _cut_line(page, page.unit(start, end, Gap.LINE, number, "code"), sizes)


def _gap(lines: Sequence[str], number: int, block: Block, indent: int) -> Gap:
    """How well a chunk may begin with this line of a block."""
    if number == block.start_line:
        return Gap.BLOCK
    line, before = lines[number - 1], lines[number - 2]
    if not line.strip():
        return Gap.WORD  # blank lines stay with what stands above them
    if block.kind == "table":
        return Gap.WORD if _TABLE_RULE.match(line) or number == block.start_line + 2 else Gap.LINE
    item = _ITEM.match(line)
    if item and len(item[1].expandtabs(4)) <= indent:
        return Gap.ITEM
    if not before.strip():
        return Gap.ITEM if block.kind == "code" else Gap.LINE
    return (
        Gap.LINE
        if item or block.kind == "code" or _CLOSED.search(before) or _ends_early(line, before)
        else Gap.WRAP
    )


def _ends_early(line: str, before: str) -> bool:
    """Whether the line above was ended on purpose: either one is too long or too short for wrapped text."""
    return max(len(line), len(before)) > 200 or len(before) < len(line) // 2


def _item_indent(line: str) -> int:
    item = _ITEM.match(line)
    return len(item[1].expandtabs(4)) if item else -1


def _cut_line(page: Page, unit: Unit, sizes: ChunkSizes) -> Iterator[Unit]:
    """A line as it is, or cut inside: rows and code only above the maximum."""
    strict = unit.kind in ("code", "table", "html")
    limit = sizes.max_tokens if strict else sizes.core_tokens
    if unit.visible <= limit:
        yield unit
        return
    # Blanks at the end of a line are no piece of it.
    text = page.text[unit.start : unit.end].rstrip()
    ends = dict.fromkeys(sentence_ends(text), Gap.SENTENCE) | dict.fromkeys(record_ends(text), Gap.ITEM)
    start, gap = 0, unit.gap
    for end, after in [*sorted(ends.items()), (len(text), Gap.SENTENCE)]:
        for cut in _cuts(text, start, end, limit):
            end_at = unit.start + cut if cut < len(text) else unit.end
            yield page.unit(unit.start + start, end_at, gap, unit.block, unit.kind)
            start, gap = cut, Gap.WORD
        gap = after


def _cuts(text: str, start: int, end: int, limit: int) -> Iterator[int]:
    """Where a sentence ends, and before that where it has to be cut for its length."""
    tokens = estimate_tokens(text[start:end])
    chars = max(1, (end - start) * limit // max(1, tokens))
    if tokens > limit and chars < end - start:
        cuts = [start, *(start + cut for cut in cut_run(text[start:end], chars)), end]
        for first, last in pairwise(cuts):
            # Where scripts mix, a piece of average length may still be too large.
            yield from _cuts(text, first, last, limit)
    else:
        yield end


def _outside_comments(page: Page, units: Sequence[Unit]) -> Iterator[Unit]:
    """The same units, those that begin inside a comment joined with the one before."""
    groups: list[list[Unit]] = []
    for unit in units:
        if groups and page.comments.covers(unit.start):
            groups[-1].append(unit)
        else:
            groups.append([unit])
    for group in groups:
        first, last = group[0], group[-1]
        yield first if first is last else page.unit(first.start, last.end, first.gap, first.block, first.kind)


def _leads(shown: str, kind: str) -> bool:
    """Whether a unit announces the next one."""
    text = shown.strip()
    if kind not in ("paragraph", "html") or not text or "\n" in text:
        return False
    return text.endswith((":", "：")) or (len(text) <= _TITLE_CHARS and not _CLOSED.search(text))
