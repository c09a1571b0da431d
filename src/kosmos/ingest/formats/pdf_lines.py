"""The characters of a PDF page as PDFium reads them, and the lines they form."""

import ctypes
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kosmos.ingest.formats.prose import flatten

if TYPE_CHECKING:
    from pypdfium2 import PdfPage, PdfTextPage

# PDFium writes one of these where a word is cut at the end of a line.
HYPHENS = "\x02\ufffe"
_BOLD = re.compile(r"bold|black|heavy|demi|cmbx|simhei|heiti|黑", re.IGNORECASE)
_MONO = re.compile(r"mono|courier|consol|menlo|typewriter|cmtt", re.IGNORECASE)
_SAMPLES = 5


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle in points, counted from the upper left corner of the page as it is shown."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def width(self) -> float:
        return self.right - self.left

    @property
    def height(self) -> float:
        return self.bottom - self.top


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text; `start` is its place on the page, `cut` says that its last word goes on in the next."""

    text: str
    box: Box
    size: float
    bold: bool
    mono: bool = False
    cut: bool = False
    start: int = 0


@dataclass(frozen=True, slots=True)
class PageText:
    """Every character of a page in reading order, with its place, type size, weight and pitch."""

    width: float
    height: float
    characters: str
    boxes: NDArray[np.float64]
    sizes: NDArray[np.float64]
    bolds: NDArray[np.bool_]
    monos: NDArray[np.bool_]


def read_page(page: "PdfPage") -> PageText:
    """The text of a page."""
    width, height = page.get_size()
    textpage = page.get_textpage()
    try:
        count = textpage.count_chars()
        characters, boxes = _read_characters(textpage, count)
        fonts = _read_fonts(textpage, characters)
    finally:
        textpage.close()
    return PageText(width, height, characters, _as_shown(page, boxes), *fonts)


def _read_characters(textpage: "PdfTextPage", count: int) -> tuple[str, NDArray[np.float64]]:
    from pypdfium2 import raw

    boxes = np.zeros((count, 4))
    left, right, bottom, top = (ctypes.c_double() for _ in range(4))
    characters = []
    for index in range(count):
        characters.append(chr(min(raw.FPDFText_GetUnicode(textpage, index), 0x10FFFF)))
        if raw.FPDFText_GetCharBox(textpage, index, left, right, bottom, top):
            boxes[index] = (left.value, top.value, right.value, bottom.value)
    return "".join(characters), boxes


def _read_fonts(
    textpage: "PdfTextPage", characters: str
) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]:
    """Sizes, weights and pitches, asked for a few characters of each line only: it is slow."""
    sizes = np.zeros(len(characters))
    bolds = np.zeros(len(characters), dtype=np.bool_)
    monos = np.zeros(len(characters), dtype=np.bool_)
    for start, end in split_lines(characters):
        inked = [index for index in range(start, end) if not characters[index].isspace()]
        found = [_font(textpage, index) for index in inked[:: max(1, len(inked) // _SAMPLES)]]
        if found:
            sizes[start:end] = sorted(size for size, _, _ in found)[len(found) // 2]
            bolds[start:end] = sum(bold for _, bold, _ in found) > len(found) * 0.7
            monos[start:end] = sum(mono for _, _, mono in found) > len(found) * 0.7
    return sizes, bolds, monos


def _font(textpage: "PdfTextPage", index: int) -> tuple[float, bool, bool]:
    from pypdfium2 import raw

    matrix = raw.FS_MATRIX()
    scale = 1.0
    if raw.FPDFText_GetMatrix(textpage, index, matrix):
        scale = float(np.hypot(matrix.c, matrix.d)) or 1.0
    size = raw.FPDFText_GetFontSize(textpage, index) * scale
    buffer = ctypes.create_string_buffer(128)
    raw.FPDFText_GetFontInfo(textpage, index, buffer, 128, ctypes.c_int())
    name = buffer.value.decode("utf-8", "ignore")
    bold = raw.FPDFText_GetFontWeight(textpage, index) >= 600 or _BOLD.search(name)
    return float(size), bool(bold), bool(_MONO.search(name))


def _as_shown(page: "PdfPage", boxes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Boxes as seen on the page: turned as the page is turned, with y counted from the top."""
    origin, along_x, along_y = (np.array(_shown_point(page, x, y)) for x, y in ((0, 0), (1000, 0), (0, 1000)))
    matrix = np.array([(along_x - origin) / 1000, (along_y - origin) / 1000])
    first = boxes[:, 0:2] @ matrix + origin
    second = boxes[:, 2:4] @ matrix + origin
    return np.hstack([np.minimum(first, second), np.maximum(first, second)])


def _shown_point(page: "PdfPage", x: float, y: float) -> tuple[float, float]:
    from pypdfium2 import raw

    # PDFium answers in whole pixels: a fine grid keeps the fractions.
    grid = 64
    width, height = page.get_size()
    out_x, out_y = ctypes.c_int(), ctypes.c_int()
    raw.FPDF_PageToDevice(page, 0, 0, int(width * grid), int(height * grid), 0, x, y, out_x, out_y)
    return out_x.value / grid, out_y.value / grid


def show_box(page: "PdfPage", bounds: tuple[float, float, float, float]) -> Box:
    """A rectangle given as left, bottom, right, top in the coordinates of the file, as it is shown."""
    left, bottom, right, top = bounds
    first, second = _shown_point(page, left, top), _shown_point(page, right, bottom)
    return Box(
        min(first[0], second[0]), min(first[1], second[1]), max(first[0], second[0]), max(first[1], second[1])
    )


def split_lines(characters: str) -> list[tuple[int, int]]:
    """Start and end of each line; a cut word ends a line as a line break does."""
    ends = [match.end() for match in re.finditer(f"[\n{HYPHENS}]|\r(?!\n)", characters)]
    starts = [0, *ends]
    return [(start, end) for start, end in zip(starts, [*ends, len(characters)], strict=True) if end > start]


def read_lines(page: PageText, chosen: NDArray[np.bool_] | None = None) -> list[Line]:
    """The lines of a page, or of those of its characters that are chosen."""
    lines = []
    for start, end in split_lines(page.characters):
        picked = [index for index in range(start, end) if chosen is None or chosen[index]]
        line = _line(page, picked)
        if line is not None:
            lines.append(line)
    return lines


def _line(page: PageText, indexes: Sequence[int]) -> Line | None:
    raw_text = "".join(page.characters[index] for index in indexes)
    text = flatten(raw_text.rstrip(HYPHENS))
    inked = [index for index in indexes if not page.characters[index].isspace()]
    if not text or not inked:
        return None
    boxes = page.boxes[inked]
    box = Box(*(float(value) for value in (*boxes[:, 0:2].min(axis=0), *boxes[:, 2:4].max(axis=0))))
    cut = raw_text.rstrip("\r\n ")[-1:] in (*HYPHENS, "\u00ad")
    first = inked[0]
    return Line(
        text, box, float(page.sizes[first]), bool(page.bolds[first]), bool(page.monos[first]), cut, indexes[0]
    )
