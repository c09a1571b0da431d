"""Lines that repeat at the head or foot of pages: kept once, so that they cut no sentence in two."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from kosmos.ingest.formats.pdf_lines import Line

_MARGIN = 0.09
_LEAST_PAGES = 3
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class PageLines:
    """The lines of a page and how high the page is."""

    number: int
    height: float
    lines: tuple[Line, ...]


def find_running(pages: Sequence[PageLines]) -> tuple[set[tuple[int, int]], list[str]]:
    """Which lines (page and place in it) are left out, and notes that name each of them.

    A line repeats when three pages hold the very same words at the same height, or the same words
    around their own page number. The first of equal lines stays in the text.
    """
    seen: dict[tuple[str, int], list[tuple[int, int]]] = defaultdict(list)
    for index, page in enumerate(pages):
        for place, line in enumerate(page.lines):
            if _at_edge(line, page.height):
                for form in _forms(line.text, page.number):
                    seen[form, round(line.box.top / 6)].append((index, place))
    dropped: set[tuple[int, int]] = set()
    notes = []
    for (form, _), places in sorted(seen.items(), key=lambda item: item[1]):
        if len({index for index, _ in places}) >= _LEAST_PAGES:
            fresh = [place for place in places if place not in dropped]
            dropped.update(fresh if "#" in form else fresh[1:])
            notes.append(_note(form, len(fresh)))
    return dropped, notes


def _at_edge(line: Line, height: float) -> bool:
    return line.box.bottom < height * _MARGIN or line.box.top > height * (1 - _MARGIN)


def _forms(text: str, page: int) -> list[str]:
    """The line as it is, and with each number that may count pages written as its distance from the page."""
    forms = [text.replace("#", "＃")]
    for match in _NUMBER.finditer(text):
        if len(match.group()) <= 5:
            shift = int(match.group()) - page
            head, tail = text[: match.start()].replace("#", "＃"), text[match.end() :].replace("#", "＃")
            forms.append(f"{head}#{shift:+d}#{tail}")
    return forms


def _note(form: str, count: int) -> str:
    if "#" in form:
        shown = re.sub(r"#[+-]\d+#", "N", form)
        return f"Left out on {count} pages: the line “{shown}”, where N is the page number."
    return f"Left out on {count - 1} further pages: the running line “{form}”."
