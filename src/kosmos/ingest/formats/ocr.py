"""Text read from pictures, in Chinese and English, with models that come in the wheel."""

import importlib.util
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from kosmos.ingest.formats.pdf_headings import Headings
from kosmos.ingest.formats.pdf_hyphens import Hyphens
from kosmos.ingest.formats.pdf_lines import Box, Line
from kosmos.ingest.formats.pdf_paragraphs import build_paragraphs
from kosmos.ingest.formats.prose import flatten

if TYPE_CHECKING:
    from PIL.Image import Image

ADVICE = "Run: pip install 'kosmos[ocr]' and add the file again."
_THREADS = 2
# Larger pictures are made smaller first: the detector works at this size anyway.
_MOST_SIDE = 2400
_LEAST_SIDE = 16
# Letters with tails make lines of one size differ by this much in height.
_LARGER = 1.45


def is_installed() -> bool:
    """Whether pictures can be read here."""
    return all(importlib.util.find_spec(package) is not None for package in ("rapidocr", "onnxruntime"))


def read_image(image: "Image") -> list[str]:
    """The text of a picture as Markdown blocks, in reading order."""
    lines = read_lines(image, 1.0)
    headings = Headings(lines, {})
    return [paragraph.text for paragraph in build_paragraphs(lines, 1, headings, Hyphens(()))]


def read_lines(image: "Image", scale: float) -> list[Line]:
    """The lines of a picture in reading order; their boxes are in pixels times `scale`."""
    if min(image.size) < _LEAST_SIDE:
        return []
    shrink = min(1.0, _MOST_SIDE / max(image.size))
    picture = image.convert("RGB")
    if shrink < 1:
        picture = picture.resize((max(1, int(image.width * shrink)), max(1, int(image.height * shrink))))
    found = _recognise(picture)
    boxes = [(text, _scaled(box, scale / shrink)) for text, box in found]
    return _as_lines(order_boxes(boxes))


def _scaled(box: Box, factor: float) -> Box:
    return Box(box.left * factor, box.top * factor, box.right * factor, box.bottom * factor)


def _recognise(picture: "Image") -> list[tuple[str, Box]]:
    import numpy as np

    # The models were trained on pictures with blue first.
    result = _engine()(np.asarray(picture)[:, :, ::-1])
    if result.boxes is None or result.txts is None:
        return []
    found = []
    for text, corners in zip(result.txts, result.boxes, strict=True):
        left, top = corners.min(axis=0)
        right, bottom = corners.max(axis=0)
        if flatten(text):
            found.append((flatten(text), Box(float(left), float(top), float(right), float(bottom))))
    return found


@lru_cache(maxsize=1)
def _engine() -> Any:
    """The models, loaded from their own files: without paths the library might fetch others."""
    from pathlib import Path

    import rapidocr

    folder = Path(rapidocr.__file__).parent / "models"
    models = {"Det": "*_det_*.onnx", "Cls": "*_cls_*.onnx", "Rec": "*_rec_*.onnx"}
    paths = {f"{part}.model_path": str(min(folder.glob(pattern))) for part, pattern in models.items()}
    settings = {
        "Global.log_level": "critical",
        "EngineConfig.onnxruntime.intra_op_num_threads": _THREADS,
        "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        # Lines are found as well on a smaller picture, and read one by one in half the memory.
        "Det.limit_type": "max",
        "Det.limit_side_len": 1280,
        "Rec.rec_batch_num": 1,
    }
    return rapidocr.RapidOCR(params={**settings, **paths})


def order_boxes(boxes: Sequence[tuple[str, Box]]) -> list[tuple[str, Box]]:
    """Boxes in reading order: band by band from the top, within a band column by column."""
    if len(boxes) < 2:
        return list(boxes)
    height = sorted(box.height for _, box in boxes)[len(boxes) // 2]
    columns = _split(boxes, along_x=True, gap=height)
    if len(columns) > 1 and all(len(column) > 2 for column in columns):
        return [item for column in columns for item in order_boxes(column)]
    bands = _split(boxes, along_x=False, gap=0.8 * height)
    if len(bands) > 1:
        return [item for band in bands for item in order_boxes(band)]
    return _by_rows(boxes, height)


def _split(boxes: Sequence[tuple[str, Box]], *, along_x: bool, gap: float) -> list[list[tuple[str, Box]]]:
    """Parts with nothing but white between them."""

    def span(item: tuple[str, Box]) -> tuple[float, float]:
        box = item[1]
        return (box.left, box.right) if along_x else (box.top, box.bottom)

    parts: list[list[tuple[str, Box]]] = []
    end = float("-inf")
    for item in sorted(boxes, key=span):
        start, stop = span(item)
        if start > end + gap or not parts:
            parts.append([])
        parts[-1].append(item)
        end = max(end, stop)
    return parts


def _by_rows(boxes: Sequence[tuple[str, Box]], height: float) -> list[tuple[str, Box]]:
    rows: list[list[tuple[str, Box]]] = []
    for item in sorted(boxes, key=lambda item: item[1].top + item[1].bottom):
        middle = (item[1].top + item[1].bottom) / 2
        if rows and middle - (rows[-1][0][1].top + rows[-1][0][1].bottom) / 2 < 0.5 * height:
            rows[-1].append(item)
        else:
            rows.append([item])
    return [item for row in rows for item in sorted(row, key=lambda item: item[1].left)]


def _as_lines(boxes: Sequence[tuple[str, Box]]) -> list[Line]:
    if not boxes:
        return []
    usual = sorted(box.height for _, box in boxes)[len(boxes) // 2]
    return [
        Line(text, box, box.height if box.height > _LARGER * usual else usual, bold=False, start=index)
        for index, (text, box) in enumerate(boxes)
    ]
