"""The kind of a file is what is in it, whatever it is called."""

import io
import zipfile
from contextlib import suppress
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.errors import InvalidInput
from kosmos.ingest.sniffing import KINDS, READABLE, sniff

PROPERTY = settings(max_examples=200, deadline=None)
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 504
NAMES = ["a.md", "a.txt", "a", "a.html", "a.csv", "a.ipynb", "a.pdf", "A.MD"]


def _zip(*names: str, method: int = zipfile.ZIP_DEFLATED, comment: bytes = b"") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name in names:
            archive.writestr(name, "content " * 20)
        archive.comment = comment
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"%PDF-1.7\n", "pdf"),
        (b"junk before\n\x00" + b"%PDF-1.4", "pdf"),
        (b"\x89PNG\r\n\x1a\n....", "image"),
        (b"\xff\xd8\xff\xe0..", "image"),
        (b"GIF89a..", "image"),
        (b"RIFF\x10\x00\x00\x00WEBPVP8 ", "image"),
        (b"BM\x36\x00\x00\x00\x00\x00\x00\x00\x36\x00\x00\x00\x28\x00\x00\x00", "image"),
        (b"II*\x00\x08\x00", "image"),
        (b"MM\x00*\x00\x00", "image"),
        (_zip("[Content_Types].xml", "word/document.xml"), "docx"),
        (_zip("[Content_Types].xml", "ppt/presentation.xml"), "pptx"),
        (_zip("[Content_Types].xml", "xl/workbook.xml"), "xlsx"),
        (_zip("mimetype", "META-INF/container.xml"), "epub"),
        (_zip("word/document.xml", comment=b"a comment at the end"), "docx"),
        (b"<!DOCTYPE html><title>x</title>", "html"),
        (b"\xef\xbb\xbf\n <!-- c --> <HTML lang=x>", "html"),
        (b"<?xml version='1.0'?><html xmlns='x'>", "html"),
        ("<html><p>宽</p>".encode("utf-16"), "html"),
        (b'{"cells": [], "metadata": {}, "nbformat": 4}', "ipynb"),
    ],
)
@pytest.mark.parametrize("name", NAMES)
def test_content_decides(data: bytes, kind: str, name: str) -> None:
    assert sniff(data, name) == kind


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.md", "markdown"),
        ("A.MARKDOWN", "markdown"),
        ("a.rst", "rst"),
        ("a.csv", "csv"),
        ("a.tsv", "csv"),
        ("a.txt", "text"),
        ("README", "text"),
        ("a.py", "text"),
        ("a.json", "text"),
        ("a.html", "text"),
        ("a.docx", "text"),
    ],
)
@pytest.mark.parametrize(
    "data", [b"a, b\nc, d\n", b"", "中文，一\n二，三".encode(), "中文，一".encode("gb18030")]
)
def test_the_name_decides_between_kinds_of_text(data: bytes, name: str, kind: str) -> None:
    assert sniff(data, name) == kind


def test_a_fragment_is_a_page_only_by_its_name() -> None:
    assert sniff(b"<p>hello <b>you</b></p>", "a.html") == "html"
    assert sniff(b"<p>hello <b>you</b></p>", "a.md") == "markdown"


def test_words_that_look_like_signatures_are_words() -> None:
    assert sniff(b"MZ is how programs begin, and ID3 is a tag.", "a.txt") == "text"
    assert sniff(b"ID3 tags explained", "a.md") == "markdown"
    assert sniff(b"BM25 explained", "a.md") == "markdown"


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (OLE + "WordDocument".encode("utf-16-le") + b"\x00\x00", "old Word document"),
        (OLE + "Workbook".encode("utf-16-le") + b"\x00\x00", "old Excel workbook"),
        (OLE + "PowerPoint Document".encode("utf-16-le") + b"\x00\x00", "old PowerPoint"),
        (OLE + "EncryptedPackage".encode("utf-16-le") + b"\x00\x00", "encrypted Office document"),
        (OLE, "old Office file"),
        (_zip("a.txt"), "ZIP archive"),
        (_zip("content.xml", "mimetype"), "OpenDocument"),
        (_zip("xl/workbook.bin"), "binary Excel"),
        (_zip("a.txt" * 20, method=zipfile.ZIP_STORED)[:90], "damaged or incomplete ZIP"),
        (b"\x1f\x8b\x08\x00data", "gzip"),
        (b"{\\rtf1\\ansi hello}", "RTF"),
        (b"\x7fELF\x02\x01\x01\x00", "program"),
        (b"SQLite format 3\x00more", "SQLite"),
        (b"\x00\x00\x00\x20ftypheic\x00", "HEIC"),
        (b"MZ\x90\x00\x03\x00\x00\x00", "Windows program"),
        (Random(1).randbytes(1000), "binary file of an unknown kind"),
        (b"text and\x00one zero byte", "binary file of an unknown kind"),
    ],
)
@pytest.mark.parametrize("name", ["notes.md", "x.docx"])
def test_what_cannot_be_read_is_called_by_its_name(data: bytes, what: str, name: str) -> None:
    with pytest.raises(InvalidInput, match=what) as caught:
        sniff(data, name)
    assert name in caught.value.message
    assert READABLE in (caught.value.remedy or "")


def test_a_truncated_office_file_is_still_recognised() -> None:
    whole = _zip("word/document.xml", "word/styles.xml", method=zipfile.ZIP_STORED)
    assert sniff(whole[: len(whole) // 2], "a") == "docx"


def test_an_archive_inside_a_document_does_not_rename_it() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("word/embeddings/book.xlsx", _zip("xl/workbook.xml"))
        archive.writestr("ppt/presentation.xml", "x")
    assert sniff(buffer.getvalue(), "a") == "pptx"


def test_head_and_tail_are_enough() -> None:
    padded = io.BytesIO()
    with zipfile.ZipFile(padded, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("media/video", b"\x00" * 300_000)
        archive.writestr("ppt/presentation.xml", "x")
    data = padded.getvalue()
    assert sniff(data[:65536], "a", tail=data[-1000:]) == "pptx"


@PROPERTY
@given(
    st.sampled_from(
        [b"", b"PK\x03\x04", b"PK\x05\x06", OLE[:8], b"%PDF-", b"<html", b"{", b"\xff\xfe", b"BM"]
    ),
    st.binary(max_size=200),
    st.sampled_from(NAMES),
)
def test_any_bytes_have_a_kind_or_a_refusal(start: bytes, rest: bytes, name: str) -> None:
    with suppress(InvalidInput):
        assert sniff(start + rest, name) in KINDS
