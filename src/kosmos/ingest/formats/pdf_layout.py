"""A page of a PDF written as Markdown: paragraphs, tables and figures in reading order."""

import hashlib
from collections import Counter
from collections.abc import Sequence, Set

from kosmos.ingest.formats.composer import Composer
from kosmos.ingest.formats.pdf_figures import PlacedPicture, find_caption, find_place
from kosmos.ingest.formats.pdf_headings import Headings
from kosmos.ingest.formats.pdf_hyphens import Hyphens
from kosmos.ingest.formats.pdf_pages import PageContent, PlacedTable
from kosmos.ingest.formats.pdf_paragraphs import Paragraph, build_paragraphs
from kosmos.ingest.formats.prose import render_table

_LEAST_REPEATS = 3


class Writer:
    """Writes pages and remembers which pictures it has shown."""

    def __init__(
        self, composer: Composer, headings: Headings, hyphens: Hyphens, pages: Sequence[PageContent]
    ) -> None:
        self._composer = composer
        self._headings = headings
        self._hyphens = hyphens
        shown = Counter(key for page in pages for key in {_key(item) for item in page.pictures})
        # A logo on every page is no figure of each of them.
        self._repeated = {key for key, count in shown.items() if count >= _LEAST_REPEATS}
        self._seen: set[str] = set()
        self.first_title = ""

    def write(self, page: PageContent, dropped: Set[int]) -> None:
        """Adds a page, without those of its lines that are dropped."""
        lines = [line for place, line in enumerate(page.lines) if place not in dropped]
        paragraphs = build_paragraphs(lines, page.number, self._headings, self._hyphens)
        paragraphs += [_table_paragraph(placed) for placed in page.tables]
        paragraphs.sort(key=lambda paragraph: paragraph.start)
        figures = self._place_figures(page.pictures, paragraphs)
        self._composer.mark("page", page.number)
        for index, paragraph in enumerate([*paragraphs, None]):
            for item, caption in figures.get(index, ()):
                self._composer.add_figure(item.picture, caption)
            if paragraph is not None:
                self._composer.add(paragraph.text)
                if paragraph.level and not self.first_title:
                    self.first_title = paragraph.text.lstrip("# ")

    def _place_figures(
        self, pictures: Sequence[PlacedPicture], paragraphs: Sequence[Paragraph]
    ) -> dict[int, list[tuple[PlacedPicture, str]]]:
        """The pictures to show before each paragraph, with their captions."""
        placed: dict[int, list[tuple[PlacedPicture, str]]] = {}
        for item in sorted(pictures, key=lambda item: (round(item.box.top), item.box.left)):
            if self._is_repeat(item):
                continue
            caption = find_caption(item.box, paragraphs)
            if caption is None:
                placed.setdefault(find_place(item.box, paragraphs), []).append((item, ""))
            else:
                placed.setdefault(paragraphs.index(caption), []).append((item, caption.text))
        return placed

    def _is_repeat(self, item: PlacedPicture) -> bool:
        key = _key(item)
        repeat = key in self._repeated and key in self._seen
        self._seen.add(key)
        if repeat:
            self._composer.note("Pictures that repeat on several pages are shown once.")
        return repeat


def _table_paragraph(placed: PlacedTable) -> Paragraph:
    return Paragraph(render_table(placed.table.rows), placed.table.box, placed.start)


def _key(item: PlacedPicture) -> str:
    return hashlib.sha256(item.picture.data).hexdigest()
