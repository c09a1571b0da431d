"""Pictures as documents: figures, text by OCR, limits and damaged files."""

import io
import socket

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageDraw

from kosmos.errors import InvalidInput, TooLarge
from kosmos.ingest.formats import image, ocr, pictures
from kosmos.ingest.formats.image import extract
from kosmos.ingest.formats.pdf_lines import Box

from . import samples_pdf as samples

BOXES = st.lists(
    st.tuples(st.integers(0, 500), st.integers(0, 500), st.integers(1, 200), st.integers(1, 40)), max_size=30
)


@pytest.fixture
def without_ocr(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "is_installed", lambda: False)


@pytest.mark.usefixtures("without_ocr")
@pytest.mark.parametrize(
    ("kind", "media_type"),
    [
        ("PNG", "image/png"),
        ("JPEG", "image/jpeg"),
        ("GIF", "image/gif"),
        ("WEBP", "image/webp"),
        ("BMP", "image/png"),
        ("TIFF", "image/png"),
    ],
)
def test_every_kind_becomes_a_figure(kind: str, media_type: str) -> None:
    data = samples.encode(samples.picture_of("x"), kind)
    result = extract(data, "a [b].img")
    (figure,) = result.figures
    assert result.markdown == f"![a (b).img](asset:{figure.sha256})"
    assert (figure.media_type, figure.line) == (media_type, 1)
    assert (figure.data == data) == (kind not in ("BMP", "TIFF"))
    assert "pip install 'kosmos[ocr]'" in result.notes[0]


@pytest.mark.usefixtures("without_ocr")
def test_pages_of_a_tiff_are_figures_each() -> None:
    pages = [samples.picture_of(text) for text in ("one", "two", "three")]
    data = samples.encode(pages[0], "TIFF", save_all=True, append_images=pages[1:])
    result = extract(data, "fax.tiff")
    assert [(origin.place, origin.line) for origin in result.origins] == [(1, 1), (2, 3), (3, 5)]
    assert [figure.caption for figure in result.figures] == [f"fax.tiff, page {page}" for page in (1, 2, 3)]


@pytest.mark.usefixtures("without_ocr")
def test_of_a_moving_picture_the_first_frame_counts() -> None:
    frames = [samples.picture_of(text) for text in ("one", "two")]
    result = extract(samples.encode(frames[0], "GIF", save_all=True, append_images=frames[1:]), "a.gif")
    assert "Only the first of 2 frames was read." in result.notes


def test_too_many_pixels_are_refused_before_they_are_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = samples.encode(Image.new("1", (12_000, 12_000)))
    assert len(bomb) < 100_000
    monkeypatch.setattr(Image.Image, "load", lambda *_: pytest.fail("unpacked"))
    with pytest.raises(TooLarge, match="12000 × 12000 pixels"):
        extract(bomb, "bomb.png")
    assert pictures.try_picture(bomb) is None


@pytest.mark.usefixtures("without_ocr")
@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "TIFF", "WEBP", "BMP"])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.5])
def test_damaged_pictures_are_refused(kind: str, share: float) -> None:
    data = samples.encode(samples.picture_of("x"), kind)
    with pytest.raises(InvalidInput, match="damaged or not a picture"):
        extract(data[: int(len(data) * share)], "a.img")


def test_text_is_read_without_any_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("a connection was opened"))
    ocr._engine.cache_clear()
    result = extract(samples.encode(samples.picture_of("Knowledge base 2026\nsecond line here")), "a.png")
    assert "Knowledge base 2026" in result.markdown
    assert result.notes == ()
    assert result == extract(
        samples.encode(samples.picture_of("Knowledge base 2026\nsecond line here")), "a.png"
    )


def test_chinese_is_read() -> None:
    # Drawn stroke by stroke: no Chinese font need be installed.
    picture = Image.new("RGB", (420, 160), "white")
    pen = ImageDraw.Draw(picture)
    for left, inner in ((40, ((70, 40, 70, 120), (40, 80, 100, 80))), (160, ((160, 80, 220, 80),))):
        pen.rectangle((left, 40, left + 60, 120), outline="black", width=7)
        for stroke in inner:
            pen.line(stroke, fill="black", width=7)
    for stroke in ((280, 42, 350, 42), (284, 80, 346, 80), (276, 118, 354, 118), (315, 42, 315, 118)):
        pen.line(stroke, fill="black", width=7)
    text = "".join(extract(samples.encode(picture), "a.png").markdown.split("\n")[2:])
    assert text.replace(" ", "") == "田日王"


@settings(max_examples=60, deadline=None)
@given(BOXES)
def test_ordering_keeps_every_box(values: list[tuple[int, int, int, int]]) -> None:
    boxes = [(str(index), Box(x, y, x + w, y + h)) for index, (x, y, w, h) in enumerate(values)]
    assert sorted(ocr.order_boxes(boxes)) == sorted(boxes, key=lambda item: item[0])


def test_columns_are_read_one_after_the_other() -> None:
    left = [(f"L{row}", Box(0, row * 20, 200, row * 20 + 15)) for row in range(4)]
    right = [(f"R{row}", Box(300, row * 20, 500, row * 20 + 15)) for row in range(4)]
    title = ("T", Box(0, -60, 500, -40))
    ordered = [text for text, _ in ocr.order_boxes([*right, title, *left])]
    assert ordered == ["T", "L0", "L1", "L2", "L3", "R0", "R1", "R2", "R3"]


def test_only_so_many_pages_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "is_installed", lambda: False)
    monkeypatch.setattr(image, "MAX_PAGES", 2)
    pages = [samples.picture_of(text) for text in ("one", "two", "three")]
    buffer = io.BytesIO()
    pages[0].save(buffer, "TIFF", save_all=True, append_images=pages[1:])
    assert "Pages 3 to 3 were left out." in extract(buffer.getvalue(), "a.tiff").notes
