"""A folder of files of every format and encoding, good and bad, all made here."""

import io
import json
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from . import office_files as office

FORMATS = ("md", "txt", "rst", "html", "pdf", "docx", "pptx", "xlsx", "csv", "epub", "ipynb", "png", "jpg")
LINE_BYTES = 100 * 10**6  # of one line, which is more than a text may have
HANS = "容器编排系统会自动部署、扩展和管理应用程序。每个节点都运行一个代理。"
HANT = "容器編排系統會自動部署、擴展和管理應用程式。每個節點都執行一個代理。"
JA = "コンテナの配備と管理を自動化する仕組みです。各ノードではエージェントが動作します。"
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 504


@dataclass(frozen=True)
class Sample:
    """A file and what comes of it: a text with these words, or a reason that says this."""

    name: str
    data: bytes = field(repr=False)
    words: str = ""
    reason: str = ""


def write_samples(folder: Path) -> list[Sample]:
    """Make the files."""
    folder.mkdir()
    made = [*_encodings(), *_texts(), *_formats(), *_not_text(), *_broken(), *_bombs()]
    for sample in made:
        (folder / sample.name).write_bytes(sample.data)
    with (folder / "one-line.txt").open("wb") as file:
        for _ in range(LINE_BYTES // 10**6):
            file.write(b"word " * (10**6 // 5))
    return [*made, Sample("one-line.txt", b"", reason="MB of text; at most")]


def _encodings() -> Iterator[Sample]:
    """Markdown, a table and a page in every encoding; UTF-16 with and without its mark."""
    texts = {"utf-8": HANS, "utf-8-sig": JA, "gb18030": HANS, "big5": HANT, "shift_jis": JA}
    for encoding, words in texts.items():
        yield Sample(f"{encoding}.md", f"# A\n\n{words}\n".encode(encoding), words)
        yield Sample(f"{encoding}.csv", f"a,b\n1,{words}\n".encode(encoding), words)
        yield Sample(f"{encoding}.html", f"<html><body><p>{words}</p></body></html>".encode(encoding), words)
    for encoding, mark in {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}.items():
        yield Sample(f"{encoding}.txt", mark + f"A\n{HANS}\n".encode(encoding), HANS)
        yield Sample(f"{encoding}-unmarked.md", f"# A\n\n{HANT}\n".encode(encoding), HANT)


def _texts() -> Iterator[Sample]:
    """Texts that tempt a reader to cut lines wrongly, to nest too deeply, or to give up."""
    newlines = "one\r\ntwo\rthree\nfour\u2028still four\x0cstill four\x85too\u2029too"
    yield Sample("newlines.txt", newlines.encode(), "one\ntwo\nthree\nfour still four still four too too")
    yield Sample("empty.md", b"", "")
    yield Sample("blank.txt", b"\n\n \n", "")
    yield Sample("front.md", f"---\ntitle: [\n---\n# 标题\n\n{HANS}\n".encode(), HANS)
    yield Sample("long-line.txt", b"word " * 200_000, "word word")
    yield Sample("nested.html", b"<div>" * 50_000 + b"<p>deep</p>" + b"</div>" * 50_000, "deep")
    yield Sample("unclosed.html", b"<html><body><table><tr><td><b><p>open" + b"<b>" * 5000, "open")
    yield Sample("brackets.md", b"[" * 20_000 + b"a" + b"](" * 20_000, "[[[")
    yield Sample("quotes.md", b">" * 5000 + b" quoted\n", "quoted")
    yield Sample("called.txt", b"<!doctype html><html><body><p>content decides</p></body></html>", "decides")


def _formats() -> Iterator[Sample]:
    cell = {"cell_type": "code", "source": HANS, "outputs": []}
    book = json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]}).encode()
    yield Sample("doc.rst", f"标题\n====\n\n.. note:: {HANS}\n".encode(), HANS)
    yield Sample("book.ipynb", book, HANS)
    yield Sample("book.epub", _epub(f"<h1>章</h1><p>{HANS}</p>"), HANS)
    yield Sample("page.pdf", office.pdf("Oil the pump", "第一章 概述"), "第一章 概述")
    yield Sample("anybody.pdf", office.pdf("No password needed", password=""), "No password needed")
    yield Sample("word.docx", office.word("泵", HANS), HANS)
    yield Sample("word.txt", office.word("泵", HANS), HANS)
    yield Sample("slides.pptx", office.slides("Welcome 欢迎"), "Welcome 欢迎")
    yield Sample("table.xlsx", office.workbook(["名称", "b"], ["泵", 2.5]), "| 泵 | 2.5 |")
    yield Sample("pump.png", office.picture("Pump", "PNG"), "![pump.png](asset:")
    yield Sample("pump.jpg", office.picture("Pump", "JPEG"), "![pump.jpg](asset:")


def _not_text() -> Iterator[Sample]:
    yield Sample("binary.md", bytes(range(256)) * 40, reason="binary file of an unknown kind")
    yield Sample("zeros.md", b"\x00" * 100_000, reason="binary file of an unknown kind")
    yield Sample("zero.txt", b"text with\x00a zero byte", reason="binary file of an unknown kind")
    yield Sample("program.md", b"\x7fELF\x02\x01\x01" + b"\x00" * 100, reason="is a program")
    yield Sample("old.doc", OLE + "WordDocument\0".encode("utf-16-le"), reason="an old Word document")
    yield Sample("secret.docx", OLE + "EncryptedPackage\0".encode("utf-16-le"), reason="an encrypted Office")
    yield Sample("files.zip", _archive({"a": b"x"}), reason="a ZIP archive")


def _broken() -> Iterator[Sample]:
    yield Sample("cut.pdf", office.pdf("x" * 80)[:700], reason="damaged or cut off")
    yield Sample("noise.pdf", b"%PDF-1.7\n" + bytes(range(256)) * 40, reason="damaged or cut off")
    yield Sample("locked.pdf", office.pdf("Secret", password="password"), reason="is encrypted")
    yield Sample("cut.docx", office.word("a", "b")[:-200], reason="is damaged")
    yield Sample("garbled.pptx", office.garbled(office.slides("a")), reason="cannot be unpacked")
    yield Sample("garbled.xlsx", office.garbled(office.workbook(["a"])), reason="cannot be unpacked")
    yield Sample("cut.epub", _epub("<p>x</p>")[:-30], reason="damaged or incomplete")
    yield Sample("cut.jpg", office.picture("Pump", "JPEG")[:200], reason="is damaged")
    yield Sample("bad.ipynb", b'{"cells": [, "nbformat": 4}', reason="no readable notebook")
    yield Sample("deep.ipynb", b'{"cells": ' + b"[" * 200_000 + b', "nbformat": 4', reason="no readable")
    yield Sample("wide.csv", b"a,b\n" + b"x," * 2000, reason="columns")


def _bombs() -> Iterator[Sample]:
    """Small files that would be large."""
    word = office.repacked(
        office.word("a"), lambda name, data: b" " * 60_000_000 if name == "word/document.xml" else data
    )
    yield Sample("bomb.docx", word, reason="unpacks to far more than it holds")
    yield Sample("bomb.epub", _epub("<p>" + "x" * 60_000_000 + "</p>"), reason="unpacks to more than")
    yield Sample("bomb.png", office.huge_picture(12_000), reason="12000 × 12000 pixels")


def _epub(chapter: str) -> bytes:
    """A book of one chapter."""
    listed = "<item id='a' href='a.xhtml' media-type='application/xhtml+xml'/>"
    package = f"<package><manifest>{listed}</manifest><spine><itemref idref='a'/></spine></package>"
    return _archive(
        {
            "META-INF/container.xml": b"<container><rootfile full-path='b.opf'/></container>",
            "b.opf": package.encode(),
            "a.xhtml": f"<html><body>{chapter}</body></html>".encode(),
        }
    )


def _archive(parts: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return buffer.getvalue()
