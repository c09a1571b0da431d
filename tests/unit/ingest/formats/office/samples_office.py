"""Word, PowerPoint and Excel files made for the tests."""

import io
import zipfile
from collections.abc import Callable
from functools import lru_cache

import docx
import openpyxl
import pptx
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from .samples_pdf import encode, picture_of

MATH = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
PARTS = "<m:num><m:r><m:t>a</m:t></m:r></m:num><m:den><m:r><m:t>b</m:t></m:r></m:den>"
FRACTION = f"<m:oMath {MATH}><m:f>{PARTS}</m:f></m:oMath>"


def save(document: object) -> bytes:
    """The bytes of a document."""
    buffer = io.BytesIO()
    document.save(buffer)  # type: ignore[attr-defined]
    return buffer.getvalue()


@lru_cache(maxsize=1)
def word() -> bytes:
    """A document with headings, lists, a table, an equation, tracked changes, a picture and a header."""
    document = docx.Document()
    document.core_properties.title = "A Word Sample"
    document.sections[0].header.paragraphs[0].text = "Draft header"
    document.add_heading("Introduction", 1)
    document.add_paragraph("Plain text with 10").add_run("2").font.superscript = True
    document.add_paragraph("first item", style="List Bullet")
    document.add_paragraph("second item", style="List Bullet")
    document.add_heading("数据", 2)
    table = document.add_table(rows=2, cols=2)
    for index, text in enumerate(("名称", "值", "甲|乙", "1")):
        table.cell(index // 2, index % 2).text = text
    document.add_paragraph("The ratio is ")._p.append(parse_xml(FRACTION))
    changed = document.add_paragraph("Kept")
    changed._p.append(
        parse_xml(f'<w:ins {nsdecls("w")} w:id="1" w:author="a"><w:r><w:t> inserted</w:t></w:r></w:ins>')
    )
    changed._p.append(
        parse_xml(
            f'<w:del {nsdecls("w")} w:id="2" w:author="a"><w:r><w:delText>gone</w:delText></w:r></w:del>'
        )
    )
    document.add_picture(io.BytesIO(encode(picture_of("chart"))))
    document.add_paragraph("图 1 系统结构")
    return save(document)


@lru_cache(maxsize=1)
def slides() -> bytes:
    """Two slides: bullets with a picture and notes, then a table and a chart, in a group a text."""
    presentation = pptx.Presentation()
    first = presentation.slides.add_slide(presentation.slide_layouts[1])
    first.shapes.title.text = "Welcome 欢迎"
    body = first.placeholders[1].text_frame
    body.text = "Point one"
    nested = body.add_paragraph()
    nested.text, nested.level = "Nested point", 1
    first.shapes.add_picture(io.BytesIO(encode(picture_of("logo"))), Inches(1), Inches(5))
    first.notes_slide.notes_text_frame.text = "Say hello.\nThen wait."
    second = presentation.slides.add_slide(presentation.slide_layouts[5])
    second.shapes.title.text = "Numbers"
    table = second.shapes.add_table(2, 2, Inches(1), Inches(3), Inches(4), Inches(1)).table
    for index, text in enumerate(("Name", "Value", "pi", "3.14")):
        table.cell(index // 2, index % 2).text = text
    data = CategoryChartData()  # type: ignore[no-untyped-call]
    data.categories = ["East", "West"]
    data.add_series("Sales", (1.5, 2))  # type: ignore[no-untyped-call]
    second.shapes.add_chart(XL_CHART_TYPE.PIE, Inches(1), Inches(5), Inches(3), Inches(2), data)
    group = second.shapes.add_group_shape()
    group.shapes.add_textbox(Inches(1), Inches(2), Inches(2), Inches(1)).text_frame.text = "Inside a group"
    return save(presentation)


def workbook(fill: Callable[[openpyxl.Workbook], None]) -> bytes:
    """A workbook filled by a function."""
    book = openpyxl.Workbook()
    fill(book)
    return save(book)


def repack(data: bytes, change: Callable[[str, bytes], bytes | None]) -> bytes:
    """An archive with its parts changed; a part changed to None is left out."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = change(name, old.read(name))
            if content is not None:
                new.writestr(name, content)
    return buffer.getvalue()


def with_part(data: bytes, name: str, content: bytes) -> bytes:
    """An archive with one more part."""
    buffer = io.BytesIO(data)
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr(name, content)
    return buffer.getvalue()
