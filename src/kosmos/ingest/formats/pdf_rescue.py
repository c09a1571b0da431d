"""The text of PDF files that PDFium cannot open because their end is missing."""

import importlib.util

from kosmos.ingest.formats.prose import escape, flatten
from kosmos.ingest.formats.refusals import is_failure


def rescue_pages(data: bytes, most_pages: int) -> list[list[str]]:
    """The paragraphs of each page that can still be read; nothing without the library for it."""
    if importlib.util.find_spec("pdf_oxide") is None:
        return []
    from pdf_oxide import PdfDocument

    pages: list[list[str]] = []
    try:
        document = PdfDocument.from_bytes(data)
        count = min(document.page_count(), most_pages)
        # One by one: what was read before an error stays.
        pages.extend(_paragraphs(document.extract_text(index)) for index in range(count))
    except BaseException as error:
        if not is_failure(error):
            raise
    return pages if any(pages) else []


def _paragraphs(text: str) -> list[str]:
    parts = text.replace("\r\n", "\n").split("\n\n")
    return [escape(flatten(part)) for part in parts if flatten(part)]
