"""Files of every text-like format and encoding, good and bad, made here."""

import base64
import io
import json
import zipfile
from dataclasses import dataclass

HANS = "容器编排系统会自动部署、扩展和管理应用程序。每个节点都运行一个代理。"
HANT = "容器編排系統會自動部署、擴展和管理應用程式。每個節點都執行一個代理。"
JA = "コンテナの配備と管理を自動化する仕組みです。各ノードではエージェントが動作します。"
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@dataclass(frozen=True)
class Sample:
    """A file and what comes of it: text with these words, or an error that says this."""

    name: str
    data: bytes
    words: str = ""
    reason: str = ""


def archive(**members: str | bytes) -> bytes:
    """A ZIP archive; in names, `__` stands for a slash."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(name.replace("__", "/"), data)
    return buffer.getvalue()


def epub(chapter: str, **members: str | bytes) -> bytes:
    """A book of one chapter."""
    parts: dict[str, str | bytes] = {
        "META-INF__container.xml": "<container><rootfile full-path='b.opf'/></container>",
        "b.opf": "<package><metadata><title>书名</title></metadata><manifest><item id='a' href='a.xhtml' "
        "media-type='application/xhtml+xml'/></manifest><spine><itemref idref='a'/></spine></package>",
        "a.xhtml": f"<html><body>{chapter}</body></html>",
    }
    return archive(**{**parts, **members})


def notebook(*cells: object) -> bytes:
    """A notebook of these cells."""
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}).encode()


def page(body: str, charset: str = "utf-8") -> bytes:
    """A page that declares its charset."""
    return f"<!doctype html><html><head><meta charset={charset}></head><body>{body}</body></html>".encode(
        charset
    )


OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 504
PLOT = {"output_type": "display_data", "data": {"image/png": base64.b64encode(PNG).decode()}}

GOOD = [
    Sample("utf8.md", f"---\ntitle: T\n---\n# 标题\n\n{HANS}\n".encode(), HANS),
    Sample("bom.md", f"# 标题\n\n{HANS}\n".encode("utf-8-sig"), HANS),
    Sample("gb18030.md", f"# 标题\n\n{HANS}\n".encode("gb18030"), HANS),
    Sample("gb2312.txt", HANS.encode("gb2312"), HANS),
    Sample("big5.txt", HANT.encode("big5"), HANT),
    Sample("shift-jis.txt", JA.encode("cp932"), JA),
    Sample("euc-jp.txt", JA.encode("euc-jp"), JA),
    Sample("iso2022.txt", JA.encode("iso2022_jp"), JA),
    Sample("utf16.md", f"# 标题\n\n{HANS}".encode("utf-16"), HANS),
    Sample("utf16-no-mark.txt", f"one\n{HANS}".encode("utf-16-le"), HANS),
    Sample("utf16-be.csv", f"甲,乙\n1,{HANS}\n".encode("utf-16-be"), HANS),
    Sample(
        "cp1252.txt",
        "A naïve café – the scheduler’s rôle, the façade’s naïveté.".encode("cp1252"),
        "café – the",
    ),
    Sample("empty.md", b"", ""),
    Sample("blank.txt", b"\n\n \n", ""),
    Sample(
        "newlines.txt",
        b"one\r\ntwo\rthree\nfour\xe2\x80\xa8still four\x0cstill four\xc2\x85too",
        "still four too",
    ),
    Sample("ansi.log", b"\x07" + b"\x1b[31mred\x1b[0m text\n" * 30, "red"),
    Sample("long-line.txt", b"word " * 400_000, "word word"),
    Sample("code.py", b"def f():\n    return '# not a heading'\n", "```python\ndef f():"),
    Sample("data.json", b'{"a": [1, 2]}', "```json"),
    Sample("drawing.svg", b"<svg xmlns='x'><text>label</text></svg>", "label"),
    Sample("page.html", page(f"<nav>NAV</nav><main><h1>标题</h1><p>{HANS}</p></main>"), HANS),
    Sample("page-gbk.html", page(f"<p>{HANS}</p>", "gbk"), HANS),
    Sample("page-big5.html", page(f"<p>{HANT}</p>", "big5"), HANT),
    Sample("page-sjis.html", page(f"<p>{JA}</p>", "shift_jis"), JA),
    Sample("page-undeclared.html", f"<html><body><p>{HANS}</p></body></html>".encode("gb18030"), HANS),
    Sample("page-called.txt", page("<p>content decides</p>"), "content decides"),
    Sample("nested.html", b"<div>" * 50_000 + b"<p>deep</p>" + b"</div>" * 50_000, "deep"),
    Sample("unclosed.html", b"<html><body><table><tr><td><b><p>open" + b"<b>" * 5000, "open"),
    Sample("doc.rst", f"标题\n====\n\n.. note:: {HANS}\n".encode(), HANS),
    Sample("semicolon.csv", f"名称;说明\n甲;{HANS}\n".encode("gb18030"), HANS),
    Sample("tabs.tsv", b"a\tb\n1\t2\n", "| 1 | 2 |"),
    Sample("quotes.csv", b'a,b\n"x\ny","unclosed\n', "x<br>y"),
    Sample("book.ipynb", notebook({"cell_type": "code", "source": HANS, "outputs": [PLOT]}), HANS),
    Sample("notebook.txt", notebook({"cell_type": "markdown", "source": HANS}), HANS),
    Sample("book.epub", epub(f"<h1>章</h1><p>{HANS}</p><img src='p.png' alt='图'/>", **{"p.png": PNG}), HANS),
    Sample("book.zip", epub("<p>content decides</p>"), "content decides"),
]

BAD = [
    Sample("picture.md", bytes(range(256)) * 8, reason="picture.md is"),
    Sample("zero.txt", b"text with\x00a zero byte", reason="binary file of an unknown kind"),
    Sample("program.md", b"\x7fELF\x02\x01\x01" + b"\x00" * 100, reason="is a program"),
    Sample("old.doc", OLE + "WordDocument".encode("utf-16-le") + b"\x00" * 50, reason="old Word document"),
    Sample(
        "secret.docx", OLE + "EncryptedPackage".encode("utf-16-le") + b"\x00" * 50, reason="encrypted Office"
    ),
    Sample("files.zip", archive(a="x"), reason="ZIP archive"),
    Sample("bomb.epub", epub("<p>" + "x" * 60_000_000 + "</p>"), reason="unpacks to more than"),
    Sample("drm.epub", epub("<p>x</p>", **{"META-INF__rights.xml": "<r/>"}), reason="DRM"),
    Sample("cut.epub", epub("<p>x</p>")[:-30], reason="damaged or incomplete"),
    Sample(
        "entities.epub",
        epub("x", **{"b.opf": "<!DOCTYPE a [<!ENTITY b 'c'>]><package/>"}),
        reason="no readable EPUB",
    ),
    Sample("bad.ipynb", b'{"cells": [, "nbformat": 4}', reason="no readable notebook"),
    Sample("deep.ipynb", b'{"cells": ' + b"[" * 200_000 + b', "nbformat": 4', reason="no readable notebook"),
    Sample("wide.csv", b"a,b\n" + b"x," * 2000, reason="columns"),
    Sample("noise.html", b"<html>" + bytes([1, 2, 3, 4]) * 100, reason="noise.html is"),
    Sample("story.rtf", b"{\\rtf1 hello}", reason="RTF"),
]
