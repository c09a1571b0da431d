"""Figures of PDF files: pictures, their captions and places; scanned pages with and without OCR."""

import hashlib

import pytest
from PIL import Image
from reportlab.pdfgen.canvas import Canvas

from kosmos.ingest.formats import ocr, pdf_pages
from kosmos.ingest.formats.pdf import extract

from . import samples_pdf as samples

PICTURE = samples.picture_of("a chart", (300, 200))


def _page_with_figure(canvas: Canvas) -> None:
    canvas.setFont("Helvetica", 11)
    canvas.drawString(72, 780, "Before the figure.")
    samples.place(canvas, PICTURE, (72, 500, 300, 200))
    canvas.drawString(72, 480, "Figure 1: How the parts fit.")
    canvas.drawString(72, 400, "After the figure.")


def test_a_figure_stands_before_its_caption() -> None:
    result = extract(samples.draw(_page_with_figure), "a.pdf")
    (figure,) = result.figures
    assert figure.sha256 == hashlib.sha256(figure.data).hexdigest()
    assert (figure.media_type, figure.caption) == ("image/png", "Figure 1: How the parts fit.")
    line = f"![Figure 1: How the parts fit.](asset:{figure.sha256})"
    assert result.markdown.split("\n")[figure.line - 1] == line
    assert result.markdown.index("Before") < result.markdown.index(line) < result.markdown.index("\nFigure 1")


def test_a_chinese_caption_above_is_found() -> None:
    samples.chinese()

    def paint(canvas: Canvas) -> None:
        canvas.setFont("STSong-Light", 11)
        canvas.drawString(72, 720, "图 3 系统结构")
        samples.place(canvas, PICTURE, (72, 500, 300, 200))

    (figure,) = extract(samples.draw(paint), "a.pdf").figures
    assert figure.caption == "图 3 系统结构"


def test_jpeg_pictures_are_kept_as_they_are(tmp_path: object) -> None:
    path = f"{tmp_path}/photo.jpg"
    PICTURE.save(path, quality=80)

    def paint(canvas: Canvas) -> None:
        canvas.drawImage(path, 72, 500, 300, 200)

    (figure,) = extract(samples.draw(paint), "a.pdf").figures
    assert figure.media_type == "image/jpeg"


def test_a_logo_on_every_page_is_shown_once_and_ornaments_never() -> None:
    dot = Image.new("RGB", (4, 4), "black")

    def paint(canvas: Canvas) -> None:
        samples.place(canvas, PICTURE, (400, 700, 150, 100))
        samples.place(canvas, dot, (72, 600, 40, 40))
        canvas.drawString(72, 500, f"Words of page {canvas.getPageNumber()}.")

    result = extract(samples.draw(*[paint] * 4), "a.pdf")
    assert len(result.figures) == 1
    assert result.markdown.count("asset:") == 1
    assert "Pictures that repeat on several pages are shown once." in result.notes
    assert any("Very small pictures" in note and note.endswith("4.") for note in result.notes)


def test_scanned_pages_without_ocr_are_pictures_and_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "is_installed", lambda: False)
    result = extract(samples.scanned(), "scan.pdf")
    assert len(result.figures) == 1
    assert [origin.place for origin in result.origins] == [1, 2]
    (note,) = result.notes
    assert note.startswith("Scanned pages without text, kept as pictures: 1 (page 2).")
    assert "pip install 'kosmos[ocr]'" in note


def test_scanned_pages_are_read() -> None:
    result = extract(samples.scanned(), "scan.pdf")
    text = result.markdown.replace("\n", " ")
    assert "Scanned words of page two" in text
    assert "Hello from the scanner" in text
    assert result.figures == ()
    assert result.notes == ("Scanned pages read by OCR: page 2.",)


@pytest.mark.parametrize(
    ("pages", "expected"), [([3], "page 3"), ([1, 2, 3], "pages 1–3"), ([1, 3, 4, 9], "pages 1, 3–4, 9")]
)
def test_pages_are_named_in_short_form(pages: list[int], expected: str) -> None:
    assert pdf_pages.name_pages(pages) == expected
