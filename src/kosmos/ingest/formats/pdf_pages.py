"""What is on each page of a PDF: lines, tables, pictures, and the text of scanned pages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kosmos.ingest.formats import ocr
from kosmos.ingest.formats.composer import Composer
from kosmos.ingest.formats.pdf_figures import PlacedPicture, covers, read_pictures
from kosmos.ingest.formats.pdf_lines import Line, PageText, read_lines, read_page
from kosmos.ingest.formats.pdf_tables import Claim, Table, claim_tables

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage

MAX_OCR_PAGES = 300
_DPI = 200
_MOST_PIXELS = 20_000_000
# A page with fewer characters and a picture over most of it is a scan: a stamp or a number is no text.
_FEW_CHARACTERS = 12


@dataclass(frozen=True, slots=True)
class PlacedTable:
    """A table and the place of its first character on the page."""

    table: Table
    start: int


@dataclass(frozen=True, slots=True)
class PageContent:
    """A page, read: its lines without those of tables, its tables and its pictures."""

    number: int
    height: float
    lines: tuple[Line, ...]
    tables: tuple[PlacedTable, ...]
    pictures: tuple[PlacedPicture, ...]


class PageReader:
    """Reads pages one by one and remembers what it could not read."""

    def __init__(
        self, document: "PdfDocument", tables: Mapping[int, Sequence[Table]], composer: Composer
    ) -> None:
        self._document = document
        self._tables = tables
        self._composer = composer
        self._unread: list[int] = []
        self._scanned: list[int] = []
        self._failed: list[int] = []
        self._backgrounds: list[int] = []
        self._unreadable = 0
        self._tiny = 0

    def read(self, number: int) -> PageContent:
        """The content of a page, counted from 1; a page PDFium cannot load is empty and noted."""
        from pypdfium2 import PdfiumError

        try:
            page = self._document[number - 1]
        except PdfiumError:
            self._failed.append(number)
            return PageContent(number, 0.0, (), (), ())
        try:
            return self._read(page, number)
        finally:
            page.close()

    def _read(self, page: "PdfPage", number: int) -> PageContent:
        text = read_page(page)
        found = read_pictures(page)
        self._unreadable += found.unreadable
        self._tiny += found.tiny
        claims = claim_tables(text, self._tables.get(number, ()))
        lines = read_lines(text, _outside(text, claims))
        placed = tuple(PlacedTable(claim.table, int(np.argmax(claim.taken))) for claim in claims)
        pictures = found.placed
        if covers(pictures, text.width, text.height):
            few = sum(not character.isspace() for character in text.characters) < _FEW_CHARACTERS
            scanned = self._read_scan(page, number) if few else []
            if scanned:
                # They are the page itself, whole or in strips.
                pictures = ()
            elif not few:
                pictures = self._without_background(pictures, number, text)
            lines = [*lines, *scanned]
        return PageContent(number, text.height, tuple(lines), placed, pictures)

    def _read_scan(self, page: "PdfPage", number: int) -> list[Line]:
        if not ocr.is_installed() or len(self._scanned) >= MAX_OCR_PAGES:
            self._unread.append(number)
            return []
        width, height = page.get_size()
        scale = min(_DPI / 72, (_MOST_PIXELS / max(width * height, 1)) ** 0.5)
        lines = ocr.read_lines(page.render(scale=scale).to_pil(), 1 / scale)
        self._scanned.append(number)
        return lines

    def _without_background(
        self, pictures: tuple[PlacedPicture, ...], number: int, text: PageText
    ) -> tuple[PlacedPicture, ...]:
        """The pictures without those that fill the page: they show its text once more."""
        kept = tuple(item for item in pictures if not covers([item], text.width, text.height))
        if len(kept) < len(pictures):
            self._backgrounds.append(number)
        return kept

    def finish(self) -> None:
        """Notes what was read by OCR, and what could not be read."""
        note = self._composer.note
        if self._scanned:
            note(f"Scanned pages read by OCR: {name_pages(self._scanned)}.")
        if self._unread:
            count, pages = len(self._unread), name_pages(self._unread)
            advice = f"At most {MAX_OCR_PAGES} are read." if ocr.is_installed() else ocr.ADVICE
            note(f"Scanned pages without text, kept as pictures: {count} ({pages}). {advice}")
        if self._backgrounds:
            note(f"Pictures that fill a page behind its text were left out: {name_pages(self._backgrounds)}.")
        if self._failed:
            note(f"Damaged pages that could not be read: {name_pages(self._failed)}.")
        if self._unreadable:
            note(f"Pictures that could not be read were left out: {self._unreadable}.")
        if self._tiny:
            note(f"Very small pictures (rules, bullets, ornaments) were left out: {self._tiny}.")


def _outside(text: PageText, claims: Sequence[Claim]) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    free = np.ones(len(text.characters), dtype=np.bool_)
    for claim in claims:
        free &= ~claim.taken
    return free


def name_pages(pages: Sequence[int]) -> str:
    """Page numbers in short form: `page 3`, `pages 1–4, 9`."""
    runs: list[list[int]] = []
    for page in pages:
        if runs and page == runs[-1][-1] + 1:
            runs[-1].append(page)
        else:
            runs.append([page])
    spelled = ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
    return ("page " if len(pages) == 1 else "pages ") + spelled
