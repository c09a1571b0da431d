"""No bytes make a converter fail in a way of its own, and the same bytes always give the same text."""

import io
import json
import zipfile
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kosmos.errors import KosmosError
from kosmos.ingest.canonical import is_canonical
from kosmos.ingest.extraction import extract_canonical
from kosmos.ingest.limits import Limits

PROPERTY = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
KINDS = ["markdown", "text", "rst", "html", "csv", "ipynb", "epub"]
HTML = """<p> </p> <div|class='note|admonition'> </div> <pre> <code|class=language-x> <dl> <dt> <dd>
<table> <tr> <td> <a|href='#fn1'>1</a> <li|id=fn1> <sup> <math> <svg> <!-- -->
<script|type=math/tex> <h1> <a|href=x> <img|src=y> <ul|role=tablist> <b|role=tab>
<div|role=tabpanel|hidden> <template> <main> <article> </ &lt; &#0; <base|href='//['>
<span|class='math'>\\( \\) <br> <img|src='data:image/png;base64,AAAA'> \ufdd10\ufdd2"""
RST = """..|note:: === --- Title :: `` * [1]_ ..|[1]| :role:` `_ +--+ ..|code:: ..|x::| :f:| -| 1.|
..|_a:|b ..|math:: || ..|include::|x"""
TOKENS = {
    "html": [token.replace("|", " ") for token in HTML.split()],
    "rst": [
        "\n\n",
        "\n",
        "   ",
        "|x|",
        ".. |x| replace:: ",
        *(token.replace("|", " ") for token in RST.split()),
    ],
    "csv": ['"', ",", ";", "\t", "\n", "\r", "|", "\\", "a"],
    "markdown": ["---\n", "a: 1\n", "# ", "```", "<!--", "\n", "\r", "\u2028"],
    "text": ["\x0c", "\x1b[", "\n", "```", "---\n"],
}


def _check(kind: str, data: bytes) -> None:
    with suppress(KosmosError):
        canonical, extract = extract_canonical(kind, data, f"a.{kind}", limits=Limits())
        assert is_canonical(canonical.text)
        assert canonical.title.strip()
        assert canonical.converter.startswith(f"{kind}/")
        last = len(canonical.lines)
        assert all(1 <= origin.line <= last and origin.place >= 1 for origin in extract.origins)
        assert all(1 <= figure.line <= last for figure in extract.figures)
        assert extract_canonical(kind, data, f"a.{kind}", limits=Limits()) == (canonical, extract)


@pytest.mark.parametrize("kind", KINDS)
@PROPERTY
@given(data=st.binary(max_size=200))
def test_any_bytes(kind: str, data: bytes) -> None:
    _check(kind, data)


@pytest.mark.parametrize("kind", sorted(TOKENS))
@PROPERTY
@given(data=st.data())
def test_any_mixture_of_its_own_marks(kind: str, data: st.DataObject) -> None:
    token = st.one_of(st.sampled_from(TOKENS[kind]), st.text(max_size=3))
    text = "".join(data.draw(st.lists(token, max_size=25)))
    _check(kind, text.encode(errors="replace"))


KEYS = [
    "cells",
    "source",
    "cell_type",
    "outputs",
    "data",
    "image/png",
    "text",
    "text/html",
    "attachments",
    "level",
    "traceback",
    "metadata",
    "kernelspec",
    "language",
    "worksheets",
    "input",
    "text/markdown",
    "title",
]
WORDS = st.sampled_from(["AAAA", "code", "markdown"])
LEAVES = st.none() | st.booleans() | st.integers(-3, 9) | st.text(max_size=5) | WORDS
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=15,
)


@PROPERTY
@given(VALUES, st.lists(VALUES, max_size=4))
def test_any_json_as_a_notebook(value: object, cells: list[object]) -> None:
    _check("ipynb", json.dumps(value).encode())
    _check("ipynb", json.dumps({"cells": cells, "metadata": value}).encode())


@PROPERTY
@given(
    st.sampled_from(["<package>", "<manifest>", "x", "<item id='a' href='b'/>", "</package>"]),
    st.text(max_size=20),
    st.integers(0, 400),
)
def test_any_book(opf: str, chapter: str, cut: int) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("META-INF/container.xml", "<c><rootfile full-path='b.opf'/></c>")
        archive.writestr("b.opf", f"<p><item id='a' href='c.html'/>{opf}<itemref idref='a'/></p>")
        archive.writestr("c.html", chapter.encode(errors="replace"))
    _check("epub", buffer.getvalue())
    _check("epub", buffer.getvalue()[:-cut] if cut else b"")
