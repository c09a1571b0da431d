"""Reading the canonical text of a document by lines, by page or by heading. Rights are checked here."""

import asyncio
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from kosmos.accounts.access import require_document
from kosmos.db import versions
from kosmos.domain.accounts import Principal, Role
from kosmos.domain.documents import Document
from kosmos.domain.extracts import Origin
from kosmos.errors import Conflict, DataLost, InvalidInput
from kosmos.ingest.reading import lines_of_heading, lines_of_page, read_lines
from kosmos.ingest.tree import parse_tree
from kosmos.tasks.extracts import read_origins
from kosmos.tasks.showing import open_live
from kosmos.tasks.workbench import Workbench

MAX_LINES = 5000
PAGE_KINDS = ("page", "slide")


@dataclass(frozen=True, slots=True)
class Place:
    """Where to read: lines, a page or a heading, one of the three; nothing means from the first line."""

    start: int | None = None
    end: int | None = None
    page: int | None = None
    heading: str | None = None

    def check(self) -> None:
        """Refuse more than one way of saying where."""
        lines = self.start is not None or self.end is not None
        if lines + (self.page is not None) + (self.heading is not None) > 1:
            raise InvalidInput(
                "Lines, a page and a heading cannot be given together.", remedy="Give one of them."
            )


@dataclass(frozen=True, slots=True)
class PageSpan:
    """Lines that stand on one page (or slide)."""

    page: int
    start_line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class Reading:
    """Lines of a document from `start_line` on, the pages they stand on, and whether more were asked for."""

    document: Document
    start_line: int
    lines: tuple[str, ...]
    pages: tuple[PageSpan, ...] = ()
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class OpenText:
    """The live text of a document as it may be shown, and where its lines came from. `exact` is the verbatim
    one: quotes are checked with it, nobody gets to see it."""

    document: Document
    text: str
    origins: Sequence[Origin]
    exact: str


async def read_place(
    bench: Workbench,
    who: Principal,
    document_id: str,
    place: Place,
    *,
    most: int | None = MAX_LINES,
    verbatim: bool = False,
) -> Reading:
    """The lines at a place of the canonical text, at most so many; owners may have them verbatim."""
    place.check()
    opened = await open_text(bench, who, document_id, verbatim=verbatim)
    if opened.document.line_count == 0:
        return Reading(opened.document, 1, ())
    return await asyncio.to_thread(_read, opened, place, most)


async def open_text(
    bench: Workbench, who: Principal, document_id: str, *, verbatim: bool = False
) -> OpenText:
    """The live text as it may be shown, or verbatim for an owner of the space."""
    need = Role.OWNER if verbatim else Role.VIEWER
    tried: int | None = None
    while True:
        document, text, exact = await open_live(
            bench,
            lambda conn: require_document(conn, who, document_id, need=need),
            missing=_no_text,
            verbatim=verbatim,
        )
        try:
            return OpenText(document, text, await live_origins(bench, document), exact)
        except DataLost:  # a new version may have taken the place of this one since
            if document.live_generation == tried:
                raise
            tried = document.live_generation


async def live_origins(bench: Workbench, document: Document) -> Sequence[Origin]:
    """Where the lines of the live text came from."""
    async with bench.db.read() as conn:
        version = await versions.get_version(conn, document.id, document.live_generation)
    return await read_origins(bench, version.extract_sha256 if version else None)


def span_pages(origins: Sequence[Origin], start: int, end: int) -> tuple[PageSpan, ...]:
    """The pages of the lines start..end; nothing for a text without pages."""
    pages = sorted((origin for origin in origins if origin.kind in PAGE_KINDS), key=lambda item: item.line)
    turns = {max(origin.line, start): origin.place for origin in pages if origin.line <= end}
    if not turns:
        return ()
    ends = [*(line - 1 for line in list(turns)[1:]), end]
    spans: list[PageSpan] = []
    for (first, page), last in zip(turns.items(), ends, strict=True):
        if spans and spans[-1].page == page:
            spans[-1] = PageSpan(page, spans[-1].start_line, last)
        else:
            spans.append(PageSpan(page, first, last))
    return tuple(spans)


def page_at(spans: Sequence[PageSpan], line: int) -> int | None:
    """The page of a line among spans in their order."""
    position = bisect_right(spans, line, key=lambda span: span.start_line) - 1
    return spans[position].page if position >= 0 and line <= spans[position].end_line else None


def _read(opened: OpenText, place: Place, most: int | None) -> Reading:
    start, end = _find(opened, place)
    lines = read_lines(opened.text, start, end).text.split("\n")
    given = tuple(lines[:most])
    pages = span_pages(opened.origins, start, start + len(given) - 1)
    return Reading(opened.document, start, given, pages, len(given) < len(lines))


def _find(opened: OpenText, place: Place) -> tuple[int, int | None]:
    """First and last line of a place."""
    if place.page is not None:
        return lines_of_page(opened.origins, place.page, line_count=opened.document.line_count)
    if place.heading is not None:
        return lines_of_heading(parse_tree(opened.text).sections, place.heading)
    return 1 if place.start is None else place.start, place.end


def _no_text(document: Document) -> Conflict:
    if document.error:
        return Conflict(
            f"{document.source} has no text: {document.error}",
            remedy="Add it again in a form that can be read.",
        )
    return Conflict(
        f"{document.source} has no text yet: it is being worked on.", remedy="Wait until its status is READY."
    )
