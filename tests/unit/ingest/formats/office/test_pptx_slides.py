"""PowerPoint files: slides, order, groups, tables, charts, notes, pictures."""

import pptx
import pytest
from pptx.util import Inches

from kosmos.errors import TooLarge
from kosmos.ingest.formats import pptx as reader
from kosmos.ingest.formats.pptx import extract

from . import samples_office as samples


def test_the_sample_comes_out_whole() -> None:
    result = extract(samples.slides(), "deck.pptx")
    (figure,) = result.figures
    assert result.markdown.split("\n\n") == [
        "## Welcome 欢迎",
        "- Point one\n  - Nested point",
        f"![](asset:{figure.sha256})",
        "**Notes:** Say hello.",
        "Then wait.",
        "## Numbers",
        "Inside a group",
        "| Name | Value |\n| --- | --- |\n| pi | 3.14 |",
        "|  | Sales |\n| --- | --- |\n| East | 1.5 |\n| West | 2 |",
    ]
    assert [(origin.kind, origin.place) for origin in result.origins] == [("slide", 1), ("slide", 2)]
    lines = result.markdown.split("\n")
    assert [lines[origin.line - 1] for origin in result.origins] == ["## Welcome 欢迎", "## Numbers"]
    assert lines[figure.line - 1] == f"![](asset:{figure.sha256})"
    assert result == extract(samples.slides(), "deck.pptx")


def test_shapes_are_read_from_top_to_bottom() -> None:
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[6])
    for top, text in ((4, "third"), (1, "first"), (2.5, "second")):
        slide.shapes.add_textbox(Inches(1), Inches(top), Inches(2), Inches(1)).text_frame.text = text
    text = extract(samples.save(presentation), "a.pptx").markdown
    assert text == "## Slide 1\n\nfirst\n\nsecond\n\nthird"


def test_hidden_slides_are_named() -> None:
    presentation = pptx.Presentation()
    for _ in range(2):
        presentation.slides.add_slide(presentation.slide_layouts[6])
    presentation.slides[1].element.set("show", "0")
    assert extract(samples.save(presentation), "a.pptx").notes == ("Hidden slides are in the text: 2.",)


def test_a_picture_that_is_missing_spoils_no_slide() -> None:
    data = samples.repack(
        samples.slides(), lambda name, content: b"EMF" if name.endswith(".png") else content
    )
    result = extract(data, "a.pptx")
    assert "Point one" in result.markdown
    assert result.figures == ()
    assert any("Pictures" in note for note in result.notes)


def test_too_many_slides_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "MAX_SLIDES", 1)
    with pytest.raises(TooLarge, match="2 slides; at most 1"):
        extract(samples.slides(), "a.pptx")
