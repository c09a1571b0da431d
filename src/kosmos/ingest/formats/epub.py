"""EPUB books: the chapters in reading order, each through the way of HTML pages."""

import re
from dataclasses import replace

from kosmos.domain.extracts import Extract, Figure, Origin
from kosmos.errors import InvalidInput
from kosmos.ingest.archives import Archive
from kosmos.ingest.encoding import decode_text
from kosmos.ingest.formats.epub_package import read_package, resolve
from kosmos.ingest.formats.html import page_extract

CONVERTER_VERSION = 1
WARM = ("html_to_markdown", "chardet")
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
MAX_CHAPTER = 32 * 1024 * 1024


def extract(data: bytes, name: str) -> Extract:
    """The text of a book; each chapter is an origin of kind `section`."""
    archive = Archive(data, name)
    package = read_package(archive, name)
    lines: list[str] = []
    origins: list[Origin] = []
    figures: dict[str, Figure] = {}
    notes: list[str] = []
    for number, path in enumerate(package.chapters, start=1):
        chapter = _chapter(archive, path, name)
        notes += [f"{path}: {note}" for note in chapter.notes]
        if not chapter.markdown.strip():
            continue
        origins.append(Origin(len(lines) + 1, "section", number, _heading(chapter)))
        for figure in chapter.figures:
            figures.setdefault(figure.sha256, replace(figure, line=figure.line + len(lines)))
        lines += [*chapter.markdown.split("\n"), ""]
    title = str(package.metadata.get("title", ""))
    return Extract(
        "\n".join(lines), title, package.metadata, tuple(origins), tuple(figures.values()), tuple(notes)
    )


def _heading(chapter: Extract) -> str:
    """What a chapter calls itself: its first heading, else what its head says."""
    match = _HEADING.search(chapter.markdown)
    return match.group(1) if match else chapter.title


def _chapter(archive: Archive, path: str, name: str) -> Extract:
    def load(address: str) -> bytes | None:
        try:
            return archive.read(resolve(path, address), most=MAX_CHAPTER)
        except InvalidInput:
            return None

    decoded = decode_text(archive.read(path, most=MAX_CHAPTER), f"{path} in {name}")
    return page_extract(decoded.text, name, whole=True, load=load)
