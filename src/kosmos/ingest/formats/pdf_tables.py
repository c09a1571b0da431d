"""Tables of a PDF: found by liteparse, believed only where PDFium reads the very same characters."""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kosmos.ingest.formats.pdf_lines import Box, PageText, split_lines
from kosmos.ingest.formats.prose import flatten
from kosmos.ingest.formats.refusals import is_failure

if TYPE_CHECKING:
    from liteparse import LayoutBlock, LayoutCell

_EMPHASIS = re.compile(r"(?<!\\)(\*{1,3}|`|~~|</?u>|</?su[bp]>)")
_ESCAPED = re.compile(r"\\([^\w\s])")
# A column of cells as long as this (a Chinese character counts twice) is running text set in columns.
_PROSE = 120
_NARROW = 0.6
_MOST_EMPTY = 0.7
# Of a table's frame, the part that may hold other text; of a table, the part that may be repeated headings.
_MOST_BESIDE = 0.15
_MOST_REPEATED = 0.1


@dataclass(frozen=True, slots=True)
class Table:
    """A table and where it stands; the first row is its header.

    `gap` is the distance between neighbouring cells, in heights of their text; infinite between rules.
    """

    box: Box
    rows: tuple[tuple[str, ...], ...]
    gap: float


@dataclass(frozen=True, slots=True)
class Claim:
    """A table that holds exactly the characters `taken` of its page."""

    table: Table
    taken: NDArray[np.bool_]


def find_tables(data: bytes, pages: int) -> Mapping[int, list[Table]] | None:
    """The tables of each page, counted from 1; None when they cannot be looked for."""
    from liteparse import LiteParse

    parser = LiteParse(
        ocr_enabled=False,
        output_format="markdown",
        extract_blocks=True,
        extract_links=False,
        keep_headers_footers=True,
        preserve_very_small_text=True,
        continue_on_page_error=True,
        num_workers=1,
        max_pages=pages,
        quiet=True,
    )
    try:
        result = parser.parse(data)
    except BaseException as error:
        if not is_failure(error):
            raise
        return None
    return {
        page.page_num: [_table(block) for block in page.blocks or () if _is_table(block)]
        for page in result.pages
    }


def _is_table(block: "LayoutBlock") -> bool:
    return block.kind == "table" and block.bbox is not None


def _table(block: "LayoutBlock") -> Table:
    rows = [row for row in (block.header or [], *(block.rows or [])) if row]
    cells = tuple(tuple(_plain(cell.text) for cell in row) for row in rows)
    bbox = block.bbox
    box = Box(0, 0, 0, 0) if bbox is None else Box(bbox.x, bbox.y, bbox.x + bbox.width, bbox.y + bbox.height)
    return Table(box, cells, _gap(rows))


def _gap(rows: Sequence[Sequence["LayoutCell"]]) -> float:
    gaps = [
        (second.bbox.x - first.bbox.x - first.bbox.width) / max(first.bbox.height, 1.0)
        for row in rows
        for first, second in pairwise(row)
        if first.bbox is not None and second.bbox is not None and first.text and second.text
    ]
    if not gaps:
        return _NARROW
    gaps.sort()
    # Cells between rules touch each other; without rules the narrow gaps tell words from cells.
    ruled = abs(gaps[len(gaps) // 2]) < 0.02
    return math.inf if ruled else gaps[len(gaps) // 5]


def _plain(text: str) -> str:
    return flatten(_ESCAPED.sub(r"\1", _EMPHASIS.sub("", text.replace("<br>", " "))))


def claim_tables(page: PageText, tables: Sequence[Table]) -> list[Claim]:
    """Those tables that neither lose nor invent a character, with the characters they stand for."""
    claims: list[Claim] = []
    free = np.ones(len(page.characters), dtype=np.bool_)
    for table in tables:
        taken = _claim(page, table, free) if _is_tabular(table) else None
        if taken is not None:
            claims.append(Claim(table, taken))
            free &= ~taken
    return claims


def _claim(page: PageText, table: Table, free: NDArray[np.bool_]) -> NDArray[np.bool_] | None:
    """The characters a table stands for, or None when it is not what the page says.

    Lines within its frame that it does not hold (a caption, a note) stay text. Words that it repeats
    are a heading over several columns; others it may not hold.
    """
    inside = _inside(page, table.box) & free
    wanted, total = _ink(_joined(table)), _ink(_characters(page, inside)).total()
    taken = np.zeros(len(page.characters), dtype=np.bool_)
    left = Counter(wanted)
    for start, end in split_lines(page.characters):
        part = np.zeros(len(page.characters), dtype=np.bool_)
        part[start:end] = inside[start:end]
        ink = _ink(_characters(page, part))
        if ink <= left:
            left -= ink
            taken |= part
    held = _ink(_characters(page, taken)).total()
    repeats = left.total() <= _MOST_REPEATED * held and _words(_joined(table, " ")) <= _words(
        _characters(page, taken)
    )
    if held < (1 - _MOST_BESIDE) * total or (left and not repeats):
        return None
    return taken


def _inside(page: PageText, box: Box) -> NDArray[np.bool_]:
    x = (page.boxes[:, 0] + page.boxes[:, 2]) / 2
    y = (page.boxes[:, 1] + page.boxes[:, 3]) / 2
    inside: NDArray[np.bool_] = (
        (x > box.left - 2) & (x < box.right + 2) & (y > box.top - 2) & (y < box.bottom + 2)
    )
    return inside


def _is_tabular(table: Table) -> bool:
    columns = list(zip(*_squared(table.rows), strict=True))
    if len(columns) < 2 or len(table.rows) < 2:
        return False
    cells = [cell for column in columns for cell in column]
    if sum(not cell for cell in cells) > _MOST_EMPTY * len(cells):
        return False
    # Words of one line, a space apart, are no cells; nor are the two halves of lines of a paragraph.
    if table.gap < _NARROW or any(_is_prose(column) for column in columns):
        return False
    return math.isinf(table.gap) or not any(_runs_on(column) for column in columns[1:])


def _squared(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    width = max((len(row) for row in rows), default=0)
    return [[*row, *([""] * (width - len(row)))] for row in rows]


def _is_prose(column: Sequence[str]) -> bool:
    lengths = [len(cell.encode("gb18030", "ignore")) for cell in column if cell]
    return bool(lengths) and (sum(lengths) / len(lengths) > _PROSE or max(lengths) > 5 * _PROSE)


def _runs_on(column: Sequence[str]) -> bool:
    """Whether the cells look like the rest of sentences that began in the column before."""
    going_on = sum(len(cell) > 30 and cell[0].islower() for cell in column)
    return going_on >= 2 and going_on > 0.3 * len(column)


def _joined(table: Table, between: str = "") -> str:
    return between.join(cell for row in table.rows for cell in row)


def _characters(page: PageText, taken: NDArray[np.bool_]) -> str:
    return "".join(character for character, inside in zip(page.characters, taken, strict=True) if inside)


def _ink(text: str) -> Counter[str]:
    """Letters, digits and signs that carry meaning; dashes, quotes and marks are spelled too differently."""
    plain = unicodedata.normalize("NFKC", text.encode("utf-16", "surrogatepass").decode("utf-16", "ignore"))
    return Counter(character for character in plain if character.isalnum() or character in "+%$€£¥<>=/@&")


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", unicodedata.normalize("NFKC", flatten(text))))
