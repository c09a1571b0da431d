"""PDF files made for the tests."""

import io
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from PIL import Image, ImageDraw, ImageFont
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.lib.utils import ImageReader
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate, Spacer, Table, TableStyle

LEFT = [f"Left column sentence number {n} goes over the line and ends here." for n in range(1, 15)]
RIGHT = [f"Right column sentence number {n} goes over the line and ends here." for n in range(1, 15)]
CHINESE = "知识库把文档变成可以引用的知识，每一个答案都指向原文的行号，读者可以自己检查它说得对不对。"
ROWS = [
    ["Quarter", "Revenue", "Cost"],
    ["Q1", "1,200", "800"],
    ["Q2", "1,350", "910"],
    ["Q3", "1,500", "990"],
]


def draw(*pages: Callable[[Canvas], None], **options: Any) -> bytes:
    """A PDF whose pages are drawn by functions; always the same bytes."""
    buffer = io.BytesIO()
    canvas = Canvas(buffer, pagesize=A4, invariant=1, **options)
    for page in pages:
        page(canvas)
        canvas.showPage()
    canvas.save()
    return buffer.getvalue()


def text_page(
    lines: Sequence[str], size: float = 11, top: float = 780, left: float = 72
) -> Callable[[Canvas], None]:
    """A page of lines of one size."""

    def paint(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", size)
        for index, line in enumerate(lines):
            canvas.drawString(left, top - index * size * 1.3, line)

    return paint


@lru_cache(maxsize=1)
def report() -> bytes:
    """Three pages with a title, two levels of headings, paragraphs, a ruled table and page numbers."""
    styles = getSampleStyleSheet()
    grid = TableStyle([("GRID", (0, 0), (-1, -1), 0.5, colors.black)])
    story: list[Any] = [
        Paragraph("Annual Report", styles["Title"]),
        Paragraph("Overview", styles["Heading1"]),
        Paragraph("The first paragraph of the report. " * 12, styles["BodyText"]),
        Paragraph("Revenue by quarter", styles["Heading2"]),
        Paragraph("The table below gives the numbers of the year.", styles["BodyText"]),
        Spacer(1, 12),
        Table(ROWS, style=grid),
        PageBreak(),
        Paragraph("Outlook", styles["Heading1"]),
        Paragraph("The second page speaks of the future. " * 10, styles["BodyText"]),
        PageBreak(),
        Paragraph("Appendix", styles["Heading1"]),
        Paragraph("The third page holds what is left. " * 10, styles["BodyText"]),
    ]

    def number(canvas: Canvas, _document: Any) -> None:
        canvas.setFont("Helvetica", 8)
        canvas.drawString(72, 815, "Example Company, confidential")
        canvas.drawCentredString(297, 25, f"Page {canvas.getPageNumber()} of 3")

    buffer = io.BytesIO()
    SimpleDocTemplate(buffer, pagesize=A4, invariant=1).build(story, onFirstPage=number, onLaterPages=number)
    return buffer.getvalue()


@lru_cache(maxsize=1)
def paper() -> bytes:
    """A page with a title over two columns."""

    def paint(canvas: Canvas) -> None:
        canvas.setFont("Helvetica-Bold", 18)
        canvas.drawCentredString(297, 790, "A Paper in Two Columns")
        canvas.setFont("Times-Roman", 10)
        for left, sentences in ((60, LEFT), (310, RIGHT)):
            for index, sentence in enumerate(sentences):
                words = sentence.split()
                canvas.drawString(left, 740 - index * 26, " ".join(words[:6]))
                canvas.drawString(left, 728 - index * 26, " ".join(words[6:]))

    return draw(paint)


@lru_cache(maxsize=1)
def chinese() -> bytes:
    """A page of Chinese in a font that is not embedded."""
    pdfmetrics.registerFont(UnicodeCIDFont("STSong-Light"))

    def paint(canvas: Canvas) -> None:
        canvas.setFont("STSong-Light", 20)
        canvas.drawString(72, 780, "第一章 概述")
        canvas.setFont("STSong-Light", 11)
        for index in range(0, len(CHINESE), 20):
            canvas.drawString(72, 740 - index, CHINESE[index : index + 20])

    return draw(paint)


def picture_of(text: str, size: tuple[int, int] = (640, 160), font: int = 36) -> Image.Image:
    """A white picture with black text."""
    image = Image.new("RGB", size, "white")
    ImageDraw.Draw(image).multiline_text((20, 20), text, fill="black", font=ImageFont.load_default(font))
    return image


def encode(image: Image.Image, kind: str = "PNG", **options: Any) -> bytes:
    """The bytes of a picture."""
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def place(canvas: Canvas, image: Image.Image, box: tuple[float, float, float, float]) -> None:
    """Draws a picture into left, bottom, width and height."""
    canvas.drawImage(ImageReader(image), *box)


@lru_cache(maxsize=1)
def scanned() -> bytes:
    """One page with text and one that is a picture of text."""
    scan = picture_of("Scanned words of page two\nHello from the scanner", (1240, 1754), 48)
    return draw(
        text_page(["The first page has words of its own."]), lambda canvas: place(canvas, scan, (0, 0, *A4))
    )


def encrypted(user: str) -> bytes:
    """A PDF with a password; without one for users anybody may open it."""
    return draw(text_page(["Secret words"]), encrypt=StandardEncryption(user, ownerPassword="owner"))
