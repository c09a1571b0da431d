"""Lines of a page put together to headings, paragraphs, list items and code, in reading order."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from kosmos.ingest.formats.pdf_headings import Headings
from kosmos.ingest.formats.pdf_hyphens import Hyphens
from kosmos.ingest.formats.pdf_lines import Box, Line
from kosmos.ingest.formats.prose import escape, join_lines

_BULLET = re.compile(r"[•‣◦▪■●○◆▶➢➤✓∙·*–—-]\s+|[•‣◦▪●➢➤]")
_ITEM = re.compile(r"(?:\(?\d{1,3}[.)、]|\(?[a-z]\))\s*\S")
_ENDS = (".", "。", "!", "！", "?", "？", ":", "：", ";", "；", '."', ".”", "”", ")")
_HEADING_LINES = 4


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Lines that belong together, as Markdown; `start` is their place on the page."""

    text: str
    box: Box
    start: int
    level: int = 0


def build_paragraphs(
    lines: Sequence[Line], page: int, headings: Headings, hyphens: Hyphens
) -> list[Paragraph]:
    """The paragraphs of a page."""
    usual = _usual_leading(lines)
    groups: list[list[Line]] = []
    after_title = False
    for line in lines:
        is_title = bool(headings.outline_level(page, line.text))
        if groups and not is_title and not after_title and _goes_on(groups[-1], line, usual):
            groups[-1].append(line)
        else:
            groups.append([line])
        after_title = is_title
    return [_paragraph(group, page, headings, hyphens) for group in groups]


def _usual_leading(lines: Sequence[Line]) -> float:
    """The distance between lines that most lines of the page keep."""
    steps = [second.box.top - first.box.top for first, second in pairwise(lines)]
    near = sorted(
        step for step, line in zip(steps, lines, strict=False) if 0.5 * line.size < step < 3 * line.size
    )
    return near[len(near) // 2] if near else 0.0


def _goes_on(group: Sequence[Line], line: Line, usual: float) -> bool:
    last = group[-1]
    if last.cut:
        return True
    if abs(line.size - last.size) > 0.1 * max(last.size, 1) or line.mono != last.mono:
        return False
    step = line.box.top - last.box.top
    if abs(step) < 0.4 * last.size and line.box.left >= last.box.right - last.size:
        return not line.mono or line.box.left < last.box.right + 20 * last.size
    if line.mono:
        return 0 < step <= 2.5 * last.size
    if _BULLET.match(line.text) or _ITEM.match(line.text) or line.bold != last.bold:
        return False
    if step < 0:
        return _goes_on_in_next_column(last, line)
    return step <= 1.3 * max(usual, last.size) and _fits_below(group, line)


def _goes_on_in_next_column(last: Line, line: Line) -> bool:
    opens = line.text[:1]
    return line.box.left > last.box.right and not last.text.endswith(_ENDS) and not opens.isupper()


def _fits_below(group: Sequence[Line], line: Line) -> bool:
    last = group[-1]
    left = min(each.box.left for each in group)
    right = max(each.box.right for each in (*group, line))
    if line.box.left > right or line.box.right < left:
        return False
    ended = last.text.endswith(_ENDS)
    indented = line.box.left > left + 0.8 * last.size and last.box.left < left + 0.8 * last.size
    fell_short = last.box.right < right - 3 * last.size
    return not (ended and (indented or fell_short))


def _paragraph(group: Sequence[Line], page: int, headings: Headings, hyphens: Hyphens) -> Paragraph:
    box, start = _union(group), group[0].start
    if group[0].mono and len(group) > 1 and group[-1].box.top > group[0].box.bottom:
        return Paragraph(_code(group), box, start)
    text = group[0].text
    for last, line in pairwise(group):
        text = hyphens.join(text, line.text) if last.cut else join_lines(text, line.text)
    level = 0
    if len(group) <= _HEADING_LINES and not group[0].mono:
        level = headings.level(page, replace(group[0], text=text), alone=len(group) <= 2)
    if level:
        return Paragraph("#" * level + " " + text, box, start, level)
    bullet = _BULLET.match(text)
    if bullet and bullet.end() < len(text):
        return Paragraph("- " + text[bullet.end() :].lstrip(), box, start)
    return Paragraph(escape(text), box, start)


def _union(lines: Sequence[Line]) -> Box:
    return Box(
        min(line.box.left for line in lines),
        min(line.box.top for line in lines),
        max(line.box.right for line in lines),
        max(line.box.bottom for line in lines),
    )


def _code(lines: Sequence[Line]) -> str:
    """Lines of one pitch as a code block, indented as they stand on the page."""
    left = min(line.box.left for line in lines)
    pitch = max(sum(line.box.width for line in lines) / sum(len(line.text) for line in lines), 0.1)
    rows: list[str] = []
    bottom = float("-inf")
    for line in lines:
        column = min(round((line.box.left - left) / pitch), 200)
        if line.box.top < bottom and rows:
            rows[-1] = rows[-1].ljust(column) + " " * (len(rows[-1]) >= column) + line.text
        else:
            rows.append(" " * column + line.text + ("-" if line.cut else ""))
            bottom = line.box.top + line.box.height / 2
    fence = "`" * max(3, 1 + max((len(run) for row in rows for run in re.findall("`+", row)), default=0))
    return "\n".join([fence, *rows, fence])
