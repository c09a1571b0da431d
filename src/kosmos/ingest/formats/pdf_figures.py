"""Pictures of a PDF page, where they stand, and the captions beside them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kosmos.ingest.formats.pdf_lines import Box, show_box
from kosmos.ingest.formats.pdf_paragraphs import Paragraph
from kosmos.ingest.formats.pictures import MAX_PIXELS, Picture, encode_picture, try_picture

if TYPE_CHECKING:
    from pypdfium2 import PdfImage, PdfPage

CAPTION = re.compile(
    r"(?:fig(?:ure|\.)?|chart|plate|图|圖|附图|示意图)\s*[\dA-Z一二三四五六七八九十]", re.IGNORECASE
)
# Smaller ones are rules, bullets and ornaments.
_LEAST_PIXELS = 24
_LEAST_POINTS = 12
_FARTHEST = 60
_MOST_IMAGES = 500
_MOST_OBJECTS = 20_000
_DEPTH = 4


@dataclass(frozen=True, slots=True)
class PlacedPicture:
    """A picture and its place on the page."""

    picture: Picture
    box: Box


@dataclass(frozen=True, slots=True)
class PagePictures:
    """The pictures of a page, and how many more there are that are not shown."""

    placed: tuple[PlacedPicture, ...]
    unreadable: int
    tiny: int


def read_pictures(page: "PdfPage") -> PagePictures:
    """The pictures of a page in the order in which they are drawn."""
    placed, unreadable, tiny = [], 0, 0
    for count, image in enumerate(_images(page)):
        width, height = image.get_px_size()
        box = show_box(page, image.get_bounds())
        if min(width, height) < _LEAST_PIXELS or min(box.width, box.height) < _LEAST_POINTS:
            tiny += 1
            continue
        picture = _read(image) if count < _MOST_IMAGES and width * height <= MAX_PIXELS else None
        if picture is None:
            unreadable += 1
        else:
            placed.append(PlacedPicture(picture, box))
    return PagePictures(tuple(placed), unreadable, tiny)


def _images(page: "PdfPage") -> Iterator["PdfImage"]:
    from pypdfium2 import PdfImage

    for count, item in enumerate(page.get_objects(max_depth=_DEPTH)):
        if count >= _MOST_OBJECTS:
            return
        if isinstance(item, PdfImage):
            yield item


def _read(image: "PdfImage") -> Picture | None:
    from pypdfium2 import PdfiumError

    if image.get_filters(skip_simple=True) == ["DCTDecode"]:
        picture = try_picture(bytes(image.get_data(decode_simple=True)))
        if picture is not None and picture.media_type == "image/jpeg":
            return picture
    try:
        return encode_picture(image.get_bitmap().to_pil())
    except PdfiumError:
        return None


def covers(placed: Sequence[PlacedPicture], width: float, height: float) -> bool:
    """Whether the pictures fill most of a page, as a scan does."""
    return sum(item.box.width * item.box.height for item in placed) > 0.5 * width * height


def find_caption(box: Box, paragraphs: Sequence[Paragraph]) -> Paragraph | None:
    """The nearest paragraph below or above a picture that names a figure."""
    near = [
        (_distance(box, paragraph.box), index)
        for index, paragraph in enumerate(paragraphs)
        if CAPTION.match(paragraph.text) and paragraph.box.right > box.left and paragraph.box.left < box.right
    ]
    near = [found for found in near if found[0] <= _FARTHEST]
    return paragraphs[min(near)[1]] if near else None


def _distance(box: Box, other: Box) -> float:
    below, above = other.top - box.bottom, box.top - other.bottom
    # A caption mostly stands below: one above counts as farther away.
    return max(below, above * 1.5 if above > 0 else above, 0.0)


def find_place(box: Box, paragraphs: Sequence[Paragraph]) -> int:
    """Before which paragraph a picture without caption stands."""
    for index, paragraph in enumerate(paragraphs):
        beside = paragraph.box.right > box.left and paragraph.box.left < box.right
        if beside and paragraph.box.top >= box.bottom - 0.2 * box.height:
            return index
    return len(paragraphs)
