"""PDF files: text, headings, tables and figures, page by page."""

from typing import TYPE_CHECKING, Any

from kosmos.domain.extracts import Extract
from kosmos.errors import InvalidInput, TooLarge
from kosmos.ingest.formats.composer import Composer
from kosmos.ingest.formats.pdf_headings import Headings, index_outline
from kosmos.ingest.formats.pdf_hyphens import Hyphens
from kosmos.ingest.formats.pdf_layout import Writer
from kosmos.ingest.formats.pdf_pages import PageContent, PageReader
from kosmos.ingest.formats.pdf_rescue import rescue_pages
from kosmos.ingest.formats.pdf_running import PageLines, find_running
from kosmos.ingest.formats.pdf_tables import find_tables
from kosmos.ingest.formats.prose import flatten
from kosmos.ingest.formats.refusals import SAVE_AGAIN, reading

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument

MAX_PAGES = 3000
_MOST_OUTLINE = 10_000
# What programs write where nobody gave a title or an author.
_NO_TITLES = ("untitled", "microsoft word", "microsoft powerpoint", "powerpoint presentation", "未命名")
_FILE_NAMES = (".doc", ".docx", ".pdf", ".dvi")
_NO_VALUES = ("anonymous", "(anonymous)", "unspecified", "(unspecified)", "unknown")


def extract(data: bytes, name: str) -> Extract:
    """The text of a PDF with its pages, headings, tables and figures."""
    with reading(name, "PDF file"):
        document = _open(data, name)
        if document is None:
            return _rescue(data, name)
        try:
            return _extract(document, data)
        finally:
            document.close()


def _open(data: bytes, name: str) -> "PdfDocument | None":
    """The document, or None when it is damaged beyond what PDFium mends."""
    from pypdfium2 import PdfDocument, PdfiumError

    try:
        document = PdfDocument(data)
    except PdfiumError as error:
        if "password" in str(error).lower() or "security" in str(error).lower():
            raise InvalidInput(
                f"{name} is encrypted.",
                remedy="Take the password off (print it to a new PDF) and add it again.",
            ) from None
        return None
    if len(document) > MAX_PAGES:
        raise TooLarge(
            f"{name} has {len(document):,} pages; at most {MAX_PAGES:,} are read.", remedy="Split it."
        )
    return document if len(document) else None


def _rescue(data: bytes, name: str) -> Extract:
    pages = rescue_pages(data, MAX_PAGES)
    if not pages:
        raise InvalidInput(f"{name} is damaged or cut off: it is not a whole PDF file.", remedy=SAVE_AGAIN)
    composer = Composer()
    composer.note("The file is damaged: only its text was saved, without tables and figures.")
    for number, paragraphs in enumerate(pages, start=1):
        composer.mark("page", number)
        for paragraph in paragraphs:
            composer.add(paragraph)
    return composer.finish(metadata={"pages": len(pages)})


def _extract(document: "PdfDocument", data: bytes) -> Extract:
    composer = Composer()
    tables = find_tables(data, len(document))
    if tables is None:
        composer.note("Tables could not be looked for: they are shown as plain lines.")
    reader = PageReader(document, tables or {}, composer)
    pages = [reader.read(number) for number in range(1, len(document) + 1)]
    dropped, notes = find_running([PageLines(page.number, page.height, page.lines) for page in pages])
    for note in notes:
        composer.note(note)
    headings = Headings([line for page in pages for line in page.lines], _read_outline(document))
    hyphens = Hyphens(line.text for page in pages for line in page.lines)
    writer = Writer(composer, headings, hyphens, pages)
    for index, page in enumerate(pages):
        writer.write(page, {place for at, place in dropped if at == index})
    reader.finish()
    return composer.finish(title=_title(document, writer.first_title), metadata=_metadata(document, pages))


def _read_outline(document: "PdfDocument") -> dict[tuple[int, str], int]:
    entries = []
    for bookmark in document.get_toc(max_depth=6):
        destination = bookmark.get_dest()
        index = destination.get_index() if destination is not None else None
        if index is not None:
            entries.append((index + 1, bookmark.get_title(), bookmark.level))
        if len(entries) >= _MOST_OUTLINE:
            break
    return index_outline(entries)


def _title(document: "PdfDocument", first_heading: str) -> str:
    title = flatten(document.get_metadata_value("Title"))
    plain = title.lower()
    unusable = plain in _NO_VALUES or plain.startswith(_NO_TITLES) or plain.endswith(_FILE_NAMES)
    return first_heading if not title or unusable else title


def _metadata(document: "PdfDocument", pages: list[PageContent]) -> dict[str, Any]:
    found = {
        key.lower(): flatten(document.get_metadata_value(key)) for key in ("Author", "Subject", "Keywords")
    }
    return {
        "pages": len(pages),
        **{key: value for key, value in found.items() if value and value.lower() not in _NO_VALUES},
    }
