"""PowerPoint files: a section a slide, with its shapes from top to bottom and the speaker's notes."""

import io
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from kosmos.domain.extracts import Extract
from kosmos.errors import KosmosError, TooLarge
from kosmos.ingest.formats.composer import Composer
from kosmos.ingest.formats.office_properties import read_properties
from kosmos.ingest.formats.pictures import try_picture
from kosmos.ingest.formats.pptx_charts import chart_blocks
from kosmos.ingest.formats.prose import escape, flatten, render_table
from kosmos.ingest.formats.refusals import needs_extra, reading
from kosmos.ingest.formats.zip_limits import open_archive

if TYPE_CHECKING:
    from pptx.presentation import Presentation
    from pptx.slide import Slide

KIND = "PowerPoint presentation (.pptx)"
MAX_SLIDES = 3000
_DEEPEST_GROUP = 20
_FILE_NAME = re.compile(r"\.(?:png|jpe?g|gif|bmp|tiff?|webp|emf|wmf|svg)$", re.IGNORECASE)
_MARGINS = ("SLIDE_NUMBER", "FOOTER", "DATE", "HEADER")


def extract(data: bytes, name: str) -> Extract:
    """The text of a presentation, slide by slide."""
    with reading(name, KIND):
        try:
            import pptx
        except ModuleNotFoundError:
            raise needs_extra(name, KIND, "office") from None
        archive = open_archive(data, name, KIND)
        properties = read_properties(archive, name)
        presentation = pptx.Presentation(io.BytesIO(data))
        composer = Composer()
        title = _write(presentation, composer, name)
        return composer.finish(title=properties.pop("title", "") or title, metadata=properties)


def _write(presentation: "Presentation", composer: Composer, name: str) -> str:
    slides = list(presentation.slides)
    if len(slides) > MAX_SLIDES:
        raise TooLarge(
            f"{name} has {len(slides):,} slides; at most {MAX_SLIDES:,} are read.", remedy="Split it."
        )
    first = ""
    hidden = []
    for number, slide in enumerate(slides, start=1):
        composer.mark("slide", number)
        title = _title(slide)
        composer.add(f"## {title or f'Slide {number}'}")
        first = first or title
        _SlideWriter(composer, slide).write()
        if slide.element.get("show") == "0":
            hidden.append(str(number))
    if hidden:
        composer.note(f"Hidden slides are in the text: {', '.join(hidden)}.")
    return first


def _title(slide: "Slide") -> str:
    shape = slide.shapes.title
    return flatten(shape.text_frame.text) if shape is not None else ""


class _SlideWriter:
    """Writes the shapes of one slide."""

    def __init__(self, composer: Composer, slide: "Slide") -> None:
        self._composer = composer
        self._slide = slide
        title = slide.shapes.title
        self._title_id = None if title is None else title.shape_id

    def write(self) -> None:
        """Adds all shapes from top to bottom and from left to right, then the speaker's notes."""
        for shape in _in_order(self._slide.shapes, 0):
            if shape.shape_id != self._title_id:
                self._try_add(shape)
        if self._slide.has_notes_slide:
            frame = self._slide.notes_slide.notes_text_frame
            lines = [flatten(paragraph.text) for paragraph in frame.paragraphs] if frame is not None else []
            if any(lines):
                self._composer.add("**Notes:** " + escape(lines[0]) if lines[0] else "**Notes:**")
                for line in filter(None, lines[1:]):
                    self._composer.add(escape(line))

    def _try_add(self, shape: Any) -> None:
        try:
            self._add(shape)
        except (KosmosError, MemoryError, RecursionError):
            raise
        except Exception:  # noqa: BLE001  (python-pptx stumbles over what PowerPoint bears)
            self._composer.note("Objects that are damaged were left out.")

    def _add(self, shape: Any) -> None:
        if getattr(shape, "has_table", False) and shape.has_table:
            rows = [[_cell_text(cell) for cell in row.cells] for row in shape.table.rows]
            self._add_block(render_table(rows))
        elif getattr(shape, "has_chart", False) and shape.has_chart:
            for block in chart_blocks(shape.chart):
                self._add_block(block)
        elif hasattr(type(shape), "image"):
            self._add_picture(shape)
        elif getattr(shape, "has_text_frame", False) and not _is_margin(shape):
            for block in _text_blocks(shape.text_frame, is_list=_is_body(shape)):
                self._add_block(block)
        elif _is_diagram(shape):
            self._composer.note("Diagrams (SmartArt) and embedded objects were left out.")

    def _add_block(self, block: str) -> None:
        if block:
            self._composer.add(block)

    def _add_picture(self, shape: Any) -> None:
        try:
            picture = try_picture(shape.image.blob)
        except (AttributeError, KeyError, ValueError):
            picture = None
        if picture is None:
            self._composer.note("Pictures that are linked or of a kind no browser shows were left out.")
            return
        self._composer.add_figure(picture, _description(shape))


def _description(shape: Any) -> str:
    """What the author wrote about a picture; a file name says nothing."""
    found = shape._element.xpath(".//p:cNvPr/@descr")
    return "" if not found or _FILE_NAME.search(found[0]) else str(found[0])


def _in_order(shapes: Iterable[Any], depth: int) -> Iterator[Any]:
    """Shapes with those of groups, by their place on the slide."""
    placed = sorted(shapes, key=lambda shape: (shape.top or 0, shape.left or 0))
    for shape in placed:
        if hasattr(shape, "shapes"):
            if depth < _DEEPEST_GROUP:
                yield from _in_order(shape.shapes, depth + 1)
        else:
            yield shape


def _is_margin(shape: Any) -> bool:
    """Slide numbers, dates and footers: the same on every slide."""
    return bool(shape.is_placeholder) and shape.placeholder_format.type.name in _MARGINS


def _is_body(shape: Any) -> bool:
    """The text area of a layout, whose paragraphs have bullets unless they say otherwise."""
    return bool(shape.is_placeholder) and shape.placeholder_format.type.name in ("BODY", "OBJECT")


def _is_diagram(shape: Any) -> bool:
    return bool(shape._element.xpath(".//a:graphicData"))


def _cell_text(cell: Any) -> str:
    # The cells that a merged one covers hold no text of their own.
    return "" if cell.is_spanned else "\n".join(paragraph.text for paragraph in cell.text_frame.paragraphs)


def _text_blocks(frame: Any, *, is_list: bool) -> list[str]:
    """Paragraphs of a shape; those with a bullet or a level become one list."""
    blocks: list[str] = []
    in_list = False
    for paragraph in frame.paragraphs:
        for text in (flatten(part) for part in paragraph.text.split("\v")):
            if not text:
                continue
            bulleted = _is_bulleted(paragraph, default=is_list)
            line = "  " * min(paragraph.level, 8) + "- " + text if bulleted else escape(text)
            if bulleted and in_list:
                blocks[-1] += "\n" + line
            else:
                blocks.append(line.lstrip())
            in_list = bulleted
    return blocks


def _is_bulleted(paragraph: Any, *, default: bool) -> bool:
    properties = paragraph._p.pPr
    if properties is not None:
        if properties.xpath("a:buNone"):
            return False
        if properties.xpath("a:buChar|a:buAutoNum|a:buBlip"):
            return True
    return default or bool(paragraph.level > 0)
