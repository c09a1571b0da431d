"""Word documents: mammoth reads them, equations become LaTeX, pictures become figures."""

import hashlib
import io
import re
from typing import Any

from kosmos.domain.extracts import Extract, Figure
from kosmos.ingest.formats.composer import refer
from kosmos.ingest.formats.docx_parts import CLOSE, OPEN, Prepared, prepare
from kosmos.ingest.formats.office_properties import read_properties
from kosmos.ingest.formats.pdf_figures import CAPTION
from kosmos.ingest.formats.pictures import Picture, try_picture
from kosmos.ingest.formats.prose import flatten
from kosmos.ingest.formats.refusals import needs_extra, reading
from kosmos.ingest.formats.zip_limits import open_archive

KIND = "Word document (.docx)"
_NOTES = re.compile(r'<ol><li id="(?:foot|end)note-')
_NOTE = re.compile(r'<li id="(?:foot|end)note-[^"]*">')
_NOTE_MARK = re.compile(r'<sup><a href="#(?:foot|end)note-[^"]*" id="[^"]*">\[(\d+)\]</a></sup>')
_BACK = re.compile(r'\s*<a href="#(?:foot|end)note-ref-[^"]*">[^<]*</a>')
_SUPERSCRIPT = re.compile(r"<sup>([^<]*)</sup>")
_EQUATION = re.compile(f"{OPEN}(\\d+){CLOSE}")
_FIGURE = re.compile(r"!\[([^\]]*)\]\(asset:([0-9a-f]{64})\)")
_CHECKBOX = re.compile(r'<input type="checkbox"[^>]*>')
# Text that would open an HTML block.
_HTML_LINE = re.compile(r"^<(?=[A-Za-z/!?])", re.MULTILINE)
_LOST_FIGURE = re.compile(r"!\[[^\]]*\]\(lost:\)")
_MOST_MARGIN = 300


def extract(data: bytes, name: str) -> Extract:
    """The text of a Word document with its tables, equations, notes and figures."""
    with reading(name, KIND):
        try:
            import mammoth
        except ModuleNotFoundError:
            raise needs_extra(name, KIND, "office") from None
        archive = open_archive(data, name, KIND)
        prepared = prepare(archive, name)
        properties = read_properties(archive, name)
        pictures = _Pictures()
        result = mammoth.convert_to_html(
            io.BytesIO(prepared.data),
            style_map=prepared.style_map,
            convert_image=mammoth.images.img_element(pictures.keep),
        )
        markdown = _restore(_to_markdown(result.value), prepared.equations)
        markdown, figures = _locate(_LOST_FIGURE.sub("", markdown), pictures.kept)
        return Extract(
            markdown,
            title=properties.pop("title", "") or _first_heading(markdown),
            metadata=properties,
            figures=figures,
            notes=tuple(_notes(prepared, pictures)),
        )


class _Pictures:
    """Keeps the pictures mammoth meets."""

    def __init__(self) -> None:
        self.kept: dict[str, Picture] = {}
        self.lost = 0

    def keep(self, image: Any) -> dict[str, str]:
        """The attributes of the image element: an address by content, or none for what cannot be shown."""
        picture = try_picture(self._read(image))
        if picture is None:
            self.lost += 1
            return {"src": "lost:"}
        sha256 = hashlib.sha256(picture.data).hexdigest()
        self.kept.setdefault(sha256, picture)
        return {"src": f"asset:{sha256}"}

    @staticmethod
    def _read(image: Any) -> bytes:
        try:
            with image.open() as stream:
                return bytes(stream.read())
        except Exception:  # noqa: BLE001  (linked files, missing parts: the picture is lost, the text is not)
            return b""


def _to_markdown(html: str) -> str:
    html = _NOTE_MARK.sub(lambda match: f"[^{match.group(1)}]", html)
    found = _NOTES.search(html)
    body, notes = (html[: found.start()], html[found.start() :]) if found else (html, "")
    blocks = [_convert(body)]
    for number, note in enumerate(_NOTE.split(notes)[1:], start=1):
        blocks.append(f"[^{number}]: {flatten(_convert(_BACK.sub('', note)))}")
    return "\n\n".join(block for block in blocks if block)


def _convert(html: str) -> str:
    from html_to_markdown import ConversionOptions, convert

    # A power must not become a factor: 10<sup>2</sup> is not 102.
    html = _SUPERSCRIPT.sub(lambda match: _raise(match.group(1)), html)
    html = _CHECKBOX.sub(lambda match: "[x] " if "checked=" in match.group() else "[ ] ", html)
    html = _flatten_nested_tables(html.replace("&lt;!--", "&amp;lt;!--"))
    options = ConversionOptions(extract_metadata=False, br_in_tables=True, compact_tables=True)
    content: str = convert(html, options).content or ""
    return _HTML_LINE.sub(r"\\<", content.replace("\r", "").strip("\n"))


def _flatten_nested_tables(html: str) -> str:
    """Tables within cells become text: Markdown has no such thing."""
    if html.count("<table") < 2:
        return html
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(html)
    for table in tree.css("table table"):
        rows = (" | ".join(flatten(cell.text()) for cell in row.css("td, th")) for row in table.css("tr"))
        table.replace_with("; ".join(rows))
    return (tree.body.inner_html or "") if tree.body is not None else html


def _raise(text: str) -> str:
    if not text or (not text[0].isalnum() and text[0] not in "+-−"):
        return text
    return f"^{text}" if len(text) == 1 or text.isdigit() else f"^({text})"


def _restore(markdown: str, equations: tuple[str, ...]) -> str:
    def spell(match: re.Match[str]) -> str:
        index = int(match.group(1))
        return equations[index] if index < len(equations) else ""

    return _EQUATION.sub(spell, markdown)


def _locate(markdown: str, pictures: dict[str, Picture]) -> tuple[str, tuple[Figure, ...]]:
    """The text with captions beside its figures, and the figures with their lines."""
    lines = [line.rstrip() for line in markdown.split("\n")]
    figures: dict[str, Figure] = {}
    for index, line in enumerate(lines):
        for match in _FIGURE.finditer(line):
            alt, sha256 = flatten(match.group(1)), match.group(2)
            caption = _caption_beside(lines, index) or alt
            lines[index] = lines[index].replace(match.group(), refer(sha256, caption))
            if sha256 in pictures and sha256 not in figures:
                kept = pictures[sha256]
                figures[sha256] = Figure(sha256, kept.data, kept.media_type, caption, index + 1)
    return "\n".join(lines), tuple(figures.values())


def _first_heading(markdown: str) -> str:
    found = re.search(r"^#{1,6} (.+)$", markdown, re.MULTILINE)
    return flatten(found.group(1)) if found else ""


def _caption_beside(lines: list[str], index: int) -> str:
    after = next((line for line in lines[index + 1 : index + 4] if line), "")
    before = next((line for line in reversed(lines[max(0, index - 3) : index]) if line), "")
    for line in (after, before):
        plain = line.strip("*_ ")
        if CAPTION.match(plain):
            return flatten(plain)
    return ""


def _notes(prepared: Prepared, pictures: _Pictures) -> list[str]:
    notes = [f"A page header or footer was left out: “{_shorten(text)}”." for text in prepared.margins]
    if prepared.comments:
        notes.append(f"Comments were left out: {prepared.comments}.")
    if pictures.lost:
        notes.append(
            f"Pictures that are linked or of a kind no browser shows were left out: {pictures.lost}."
        )
    return notes


def _shorten(text: str) -> str:
    return text if len(text) <= _MOST_MARGIN else text[:_MOST_MARGIN] + "…"
