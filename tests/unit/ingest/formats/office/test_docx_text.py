"""Word documents: headings, lists, tables, equations, notes, tracked changes, figures."""

import docx
import pytest
from docx.enum.style import WD_STYLE_TYPE
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls

from kosmos.errors import InvalidInput, TooLarge
from kosmos.ingest.formats import docx as reader
from kosmos.ingest.formats import docx_parts
from kosmos.ingest.formats.docx import extract

from . import samples_office as samples

FOOTNOTES = """<?xml version="1.0"?><w:footnotes xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">
<w:footnote w:id="1"><w:p><w:r><w:t>What the note says.</w:t></w:r></w:p></w:footnote></w:footnotes>"""
LINK = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/footnotes"


def test_the_sample_comes_out_whole() -> None:
    result = extract(samples.word(), "sample.docx")
    (figure,) = result.figures
    assert result.markdown.split("\n\n") == [
        "# Introduction",
        "Plain text with 10^2",
        "- first item\n- second item",
        "## 数据",
        "| 名称 | 值 |\n| --- | --- |\n| 甲\\|乙 | 1 |",
        "The ratio is $\\frac{a}{b}$",
        "Kept inserted",
        f"![图 1 系统结构](asset:{figure.sha256})",
        "图 1 系统结构",
    ]
    assert result.title == "A Word Sample"
    assert result.notes == ("A page header or footer was left out: “Draft header”.",)
    assert (figure.caption, figure.media_type) == ("图 1 系统结构", "image/png")
    assert result.markdown.split("\n")[figure.line - 1].startswith("![图 1")
    assert result == extract(samples.word(), "sample.docx")


@pytest.mark.parametrize(
    ("style", "marks"),
    [("标题 1", "#"), ("标题 2", "##"), ("Heading 3", "###"), ("Title", "#"), ("It's 'odd'", "##")],
)
def test_styles_are_headings_by_name_level_or_origin(style: str, marks: str) -> None:
    document = docx.Document()
    names = {each.name for each in document.styles}
    if style not in names:
        added = document.styles.add_style(style, WD_STYLE_TYPE.PARAGRAPH)
        if style.startswith("It's"):
            added.element.get_or_add_pPr().append(parse_xml(f'<w:outlineLvl {nsdecls("w")} w:val="1"/>'))
    document.add_paragraph("A heading", style=style)
    assert extract(samples.save(document), "a.docx").markdown == f"{marks} A heading"


def test_a_style_made_from_a_heading_is_one() -> None:
    document = docx.Document()
    document.styles.add_style("Mine", WD_STYLE_TYPE.PARAGRAPH).base_style = document.styles["Heading 2"]
    document.add_paragraph("Like a heading", style="Mine")
    assert extract(samples.save(document), "a.docx").markdown == "## Like a heading"


def test_a_paragraph_made_a_heading_by_hand_is_one() -> None:
    document = docx.Document()
    paragraph = document.add_paragraph("By hand")
    paragraph._p.get_or_add_pPr().append(parse_xml(f'<w:outlineLvl {nsdecls("w")} w:val="2"/>'))
    assert extract(samples.save(document), "a.docx").markdown == "### By hand"


def test_footnotes_keep_their_marks() -> None:
    document = docx.Document()
    document.add_paragraph("A claim")._p.append(
        parse_xml(f'<w:r {nsdecls("w")}><w:footnoteReference w:id="1"/></w:r>')
    )

    def add(name: str, content: bytes) -> bytes:
        if name == "word/_rels/document.xml.rels":
            relation = f'<Relationship Id="rId99" Type="{LINK}" Target="footnotes.xml"/></Relationships>'
            return content.replace(b"</Relationships>", relation.encode())
        return content

    data = samples.repack(samples.save(document), add)
    data = samples.with_part(data, "word/footnotes.xml", FOOTNOTES.encode())
    assert extract(data, "a.docx").markdown == "A claim[^1]\n\n[^1]: What the note says."


def test_text_that_would_hide_what_follows_is_shown() -> None:
    document = docx.Document()
    document.add_paragraph("<!-- not a comment")
    document.add_paragraph("<div> is a tag")
    text = extract(samples.save(document), "a.docx").markdown
    assert "&lt;!-- not a comment" in text
    assert "\n\\<div> is a tag" in text


def test_a_table_within_a_table_keeps_its_text() -> None:
    document = docx.Document()
    outer = document.add_table(rows=2, cols=2)
    outer.cell(0, 0).text = "outer"
    inner = outer.cell(1, 1).add_table(rows=1, cols=2)
    inner.cell(0, 0).text, inner.cell(0, 1).text = "left", "right"
    text = extract(samples.save(document), "a.docx").markdown
    assert "left \\| right" in text
    assert text.count("---") == 2


def test_pictures_no_browser_shows_are_noted() -> None:
    data = samples.repack(
        samples.word(), lambda name, content: b"\x01\x00\x00\x00 EMF" if name.endswith(".png") else content
    )
    result = extract(data, "a.docx")
    assert result.figures == ()
    assert "lost:" not in result.markdown
    assert any(note.endswith("left out: 1.") for note in result.notes)


def test_an_archive_that_is_no_word_document_is_refused() -> None:
    data = samples.repack(
        samples.word(), lambda name, content: content if name.startswith("docProps") else None
    )
    with pytest.raises(InvalidInput, match="not a Word document"):
        extract(data, "a.docx")


def test_without_the_extra_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "mammoth", None)
    with pytest.raises(InvalidInput) as caught:
        reader.extract(samples.word(), "a.docx")
    assert caught.value.remedy == "Run: pip install 'kosmos[office]'"


def test_more_markup_than_memory_holds_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docx_parts, "MAX_TEXT_BYTES", 2**10)
    with pytest.raises(TooLarge, match="MB of text markup"):
        extract(samples.word(), "a.docx")
