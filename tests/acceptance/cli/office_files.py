"""Small files of the formats that need a program to be written: PDF, Office and pictures."""

import io
import zipfile
from collections.abc import Callable
from typing import Any

import docx
import openpyxl
import pptx
from PIL import Image, ImageDraw, ImageFont
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfgen.canvas import Canvas


def pdf(*lines: str, password: str | None = None) -> bytes:
    """A page with these lines; with a password only who knows it can open it."""
    pdfmetrics.registerFont(UnicodeCIDFont("STSong-Light"))
    buffer = io.BytesIO()
    lock = StandardEncryption(password, ownerPassword="owner") if password is not None else None
    canvas = Canvas(buffer, invariant=1, encrypt=lock)
    for number, line in enumerate(lines):
        canvas.setFont("Helvetica" if line.isascii() else "STSong-Light", 12)
        canvas.drawString(72, 760 - 20 * number, line)
    canvas.save()
    return buffer.getvalue()


def word(*paragraphs: str) -> bytes:
    """A Word document: the first paragraph is its heading."""
    document = docx.Document()
    document.add_heading(paragraphs[0], 1)
    for text in paragraphs[1:]:
        document.add_paragraph(text)
    return _saved(document)


def slides(*titles: str) -> bytes:
    """A presentation of slides that have a title each."""
    presentation = pptx.Presentation()
    for title in titles:
        presentation.slides.add_slide(presentation.slide_layouts[5]).shapes.title.text = title
    return _saved(presentation)


def workbook(*rows: list[Any]) -> bytes:
    """A workbook of one sheet."""
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    return _saved(book)


def picture(text: str, kind: str) -> bytes:
    """A picture of some words."""
    image = Image.new("RGB", (160, 60), "white")
    ImageDraw.Draw(image).text((10, 10), text, fill="black", font=ImageFont.load_default(24))
    return _encoded(image, kind)


def huge_picture(side: int) -> bytes:
    """A small file with a great many pixels."""
    return _encoded(Image.new("1", (side, side)), "PNG")


def repacked(data: bytes, change: Callable[[str, bytes], bytes]) -> bytes:
    """An archive with its parts changed."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, change(name, old.read(name)))
    return buffer.getvalue()


def garbled(data: bytes) -> bytes:
    """An archive whose parts cannot be unpacked, though their list is whole."""
    changed = bytearray(data)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for member in archive.infolist():
            start = member.header_offset + 30 + len(member.filename)
            changed[start : start + 20] = b"\xff" * 20
    return bytes(changed)


def _saved(document: Any) -> bytes:
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def _encoded(image: Image.Image, kind: str) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind)
    return buffer.getvalue()
