"""Reading a canonical text by lines, by page or by heading. Lines count from 1; ranges include both ends."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kosmos.domain.extracts import Origin
from kosmos.domain.trees import Node
from kosmos.errors import InvalidInput, NotFound

MAX_CHOICES = 10
_RANGE = re.compile(r"\s*(\d{1,9})?\s*(:)?\s*(\d{1,9})?\s*")
_PAGE_KINDS = ("page", "slide")
_RANGE_REMEDY = "Write 10:40, 10: (to the end), :40 (from the start) or 12 (one line)."


@dataclass(frozen=True, slots=True)
class Passage:
    """Lines of a text as they stand there, and how many lines the text has."""

    start_line: int
    end_line: int
    text: str
    line_count: int


def parse_range(written: str) -> tuple[int, int | None]:
    """First and last line of a range; None as the last means to the end."""
    match = _RANGE.fullmatch(written)
    first, colon, last = match.groups() if match else (None, None, None)
    if first is None and last is None:
        raise InvalidInput(f"{written[:40]!r} is no range of lines.", remedy=_RANGE_REMEDY)
    start = int(first or 1)
    end = int(last) if last else (None if colon else start)
    if start == 0 or end == 0:
        raise InvalidInput("Lines count from 1; there is no line 0.", remedy=_RANGE_REMEDY)
    if end is not None and end < start:
        raise InvalidInput(
            f"The range {written.strip()} ends before it begins.", remedy=f"Did you mean {end}:{start}?"
        )
    return start, end


def read_lines(text: str, start: int, end: int | None = None) -> Passage:
    """The lines start..end; an end behind the last line means to the end."""
    lines = text.split("\n")
    if start < 1 or (end is not None and end < start):
        raise InvalidInput(f"{start}:{end} is no range of lines.", remedy=_RANGE_REMEDY)
    if start > len(lines):
        raise NotFound(
            f"There is no line {start}: the text has {len(lines)}.", remedy="Ask for earlier lines."
        )
    last = len(lines) if end is None else min(end, len(lines))
    return Passage(start, last, "\n".join(lines[start - 1 : last]), len(lines))


def page_of_line(origins: Sequence[Origin], line: int) -> int | None:
    """The page (or slide) on which a line stands; None when the text has no pages."""
    page = None
    for origin in _pages(origins):
        if origin.line > line:
            break
        page = origin.place
    return page


def lines_of_page(origins: Sequence[Origin], page: int, *, line_count: int) -> tuple[int, int]:
    """First and last line of a page (or slide)."""
    pages = _pages(origins)
    if not pages:
        raise NotFound("This text has no pages.", remedy="Read it by lines or by heading.")
    ends = [origin.line - 1 for origin in pages[1:]] + [line_count]
    spans = [(origin.line, end) for origin, end in zip(pages, ends, strict=True) if origin.place == page]
    if not spans:
        places = sorted({origin.place for origin in pages})
        raise NotFound(f"There is no page {page}.", remedy=f"The pages are {places[0]} to {places[-1]}.")
    start, end = spans[0][0], spans[-1][1]
    if end < start:
        raise NotFound(f"Page {page} has no text.", remedy="It may be a picture or empty: see the original.")
    return start, end


def lines_of_heading(sections: Sequence[Node], query: str) -> tuple[int, int]:
    """First and last line of the section with that heading: exact, then in any case, then containing it.

    `A > B` means a heading B below a heading A, `#id` the heading with that anchor.
    """
    wanted = _words(query)
    if not wanted:
        raise InvalidInput("The heading to look for is empty.", remedy="Give some words of a heading.")
    for fits in _ways(wanted):
        found = [section for section in sections if fits(section)]
        if len(found) == 1:
            return found[0].start_line, found[0].end_line
        if found:
            raise InvalidInput(
                f"{len(found)} headings fit {query!r}: {_choices(found)}.", remedy=_HEADING_REMEDY
            )
    raise NotFound(f"No heading fits {query!r}.", remedy=_suggestion(sections))


_HEADING_REMEDY = "Put the heading above it in front, as in `Setup > Linux`, or read by lines."


def _ways(wanted: str) -> list[Callable[[Node], bool]]:
    """Tests of a section, the strictest first."""
    path = [_words(part) for part in wanted.split(">")]
    folded = [part.casefold() for part in path]
    ways: list[Callable[[Node], bool]] = [lambda section: _words(section.title) == wanted]
    if wanted.startswith("#"):
        ways.append(lambda section: section.anchor == wanted[1:])
    ways.append(lambda section: _words(section.title).casefold() == wanted.casefold())
    if len(path) > 1 and all(path):
        ways.append(lambda section: _follows(path, [_words(title) for title in section.heading_path]))
        ways.append(
            lambda section: _follows(folded, [_words(title).casefold() for title in section.heading_path])
        )
    ways.append(lambda section: wanted.casefold() in _words(section.title).casefold())
    return ways


def _follows(path: Sequence[str], titles: Sequence[str]) -> bool:
    """Whether the path ends at the section and its other parts stand above, in order."""
    if not titles or titles[-1] != path[-1]:
        return False
    above = iter(titles[:-1])
    return all(part in above for part in path[:-1])


def _choices(found: Sequence[Node]) -> str:
    shown = [f"{' > '.join(node.heading_path)} (line {node.start_line})" for node in found[:MAX_CHOICES]]
    more = len(found) - len(shown)
    return "; ".join(shown) + (f"; and {more} more" if more else "")


def _suggestion(sections: Sequence[Node]) -> str:
    return (
        f"The headings are: {_choices(sections)}."
        if sections
        else "This text has no headings: read by lines."
    )


def _pages(origins: Sequence[Origin]) -> list[Origin]:
    return sorted(
        (origin for origin in origins if origin.kind in _PAGE_KINDS), key=lambda origin: origin.line
    )


def _words(text: str) -> str:
    return " ".join(text.split())
