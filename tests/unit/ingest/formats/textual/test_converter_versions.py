"""The same bytes give the same text for as long as a converter keeps its version.

When one of these fails, the text of stored documents would change: raise CONVERTER_VERSION of that format
and pin the new digest.
"""

import base64
import hashlib
import json

import pytest

from kosmos.ingest.extraction import extract_canonical
from kosmos.ingest.limits import Limits

from .test_epub_books import book

TEXT = "# 标题\n\nText with *emphasis*, `code` and a [link](https://example.org/).\n\n"
TEXT += "| a | b |\n| - | - |\n| 1 | 2 |\n"
HTML = """<html><head><title>T</title></head><body><nav>n</nav><main><h1>标题</h1><p>Text <em>e</em> <code>c</code>
<a href="https://example.org/">l</a></p><pre><code class="language-py">x = 1</code></pre><ul><li>a<ol><li>b</li></ol></li></ul>
<table><tr><th>a</th></tr><tr><td>1</td></tr></table><div class="note"><p>n</p></div><dl><dt>t</dt><dd>d</dd></dl>
<blockquote>q</blockquote><img src="https://example.org/i.png" alt="i"></main></body></html>"""  # noqa: E501
RST = "标题\n====\n\n- a\n- b\n\n.. note:: n\n\n.. code-block:: py\n\n   x = 1\n\n"
RST += "*e* ``c`` :ref:`r`\n\n=== ===\na   b\n=== ===\n"
NOTEBOOK = json.dumps(
    {
        "nbformat": 4,
        "metadata": {"kernelspec": {"language": "r"}},
        "cells": [
            {"cell_type": "markdown", "source": "# 标题"},
            {"cell_type": "code", "source": "x", "outputs": [{"data": {"text/plain": "1"}}, {"text": "2"}]},
            {
                "cell_type": "code",
                "source": "y",
                "outputs": [{"data": {"image/png": base64.b64encode(b"p").decode()}}],
            },
        ],
    }
)


@pytest.mark.parametrize(
    ("kind", "name", "data", "converter", "digest"),
    [
        ("markdown", "a.md", TEXT.encode(), "markdown/1", "37a018ec98305a5b"),
        ("text", "a.txt", TEXT.encode(), "text/1", "37a018ec98305a5b"),
        ("text", "a.py", b"x = 1\n", "text/1", "8eee9de7bbb1592c"),
        ("html", "a.html", HTML.encode(), "html/1", "704c5dbf47dc4735"),
        ("rst", "a.rst", RST.encode(), "rst/1", "02d9e1f3082267ad"),
        ("csv", "a.csv", '甲,乙\n1,"a|b"\n'.encode(), "csv/1", "a1d2336579eadf8d"),
        ("ipynb", "a.ipynb", NOTEBOOK.encode(), "ipynb/1", "7a24cc6c3c0a7ef8"),
        ("epub", "a.epub", book("<h1>章</h1><p>a <b>b</b></p>"), "epub/1", "3c172e93ae0f87b6"),
    ],
)
def test_a_version_is_a_promise(kind: str, name: str, data: bytes, converter: str, digest: str) -> None:
    canonical, _ = extract_canonical(kind, data, name, limits=Limits())
    assert canonical.converter == converter
    assert hashlib.sha256(canonical.text.encode()).hexdigest()[:16] == digest, canonical.text
