"""Jupyter notebooks: cells in order, output behind its code, pictures as figures."""

import base64
import hashlib
import json
from typing import Any

import pytest

from kosmos.errors import InvalidInput
from kosmos.ingest.formats.ipynb import MAX_OUTPUT_CHARS, extract

PICTURE = b"\x89PNG picture"
DIGEST = hashlib.sha256(PICTURE).hexdigest()
ENCODED = base64.b64encode(PICTURE).decode()


def _notebook(*cells: Any, **metadata: Any) -> bytes:
    return json.dumps({"nbformat": 4, "metadata": metadata, "cells": cells}).encode()


def _code(*outputs: Any, source: Any = "f()") -> dict[str, Any]:
    return {"cell_type": "code", "source": source, "outputs": list(outputs)}


def test_cells_in_order() -> None:
    data = _notebook(
        {"cell_type": "markdown", "source": ["# 标题\n", "\n", "text"]},
        _code({"output_type": "stream", "text": ["1\n", "2\n"]}, source="print(1)\nprint(2)"),
        {"cell_type": "code", "source": "", "outputs": []},
        {"cell_type": "raw", "source": "as it is"},
        kernelspec={"language": "julia"},
    )
    result = extract(data, "a.ipynb")
    assert result.markdown.rstrip("\n").split("\n\n") == [
        "# 标题",
        "text",
        "```julia\nprint(1)\nprint(2)\n```",
        "```\n1\n2\n```",
        "```\nas it is\n```",
    ]
    assert [(origin.line, origin.kind, origin.place) for origin in result.origins] == [
        (1, "cell", 1),
        (5, "cell", 2),
        (15, "cell", 4),
    ]


@pytest.mark.parametrize(
    ("output", "shown"),
    [
        ({"data": {"image/png": ENCODED, "text/plain": "<Figure>"}}, f"![output](asset:{DIGEST})"),
        ({"png": ENCODED}, f"![output](asset:{DIGEST})"),
        ({"data": {"text/markdown": ["**b**"], "text/plain": "b"}}, "**b**"),
        (
            {"data": {"text/html": "<table><tr><th>a</th></tr><tr><td>1</td></tr></table>"}},
            "| a |\n| --- |\n| 1 |",
        ),
        ({"data": {"text/html": "<b>x</b>", "text/plain": "x"}}, "```\nx\n```"),
        ({"traceback": ["\x1b[31mError\x1b[0m", "line"]}, "```\nError\nline\n```"),
        ({"data": {"image/png": "***", "text/plain": "x"}}, "```\nx\n```"),
        ({}, ""),
        (7, ""),
    ],
)
def test_outputs(output: Any, shown: str) -> None:
    markdown = extract(_notebook(_code(output)), "a.ipynb").markdown
    assert markdown.removeprefix("```python\nf()\n```").strip("\n") == shown


def test_pictures_are_figures_on_their_lines() -> None:
    attached = {"cell_type": "markdown", "source": "a\n\n![x](attachment:p.png)"}
    attached["attachments"] = {"p.png": {"image/png": ENCODED}}  # type: ignore[assignment]
    result = extract(_notebook(attached), "a.ipynb")
    (figure,) = result.figures
    assert result.markdown.split("\n")[figure.line - 1] == f"![x](asset:{DIGEST})"
    assert figure.data == PICTURE


def test_old_notebooks() -> None:
    cells = [
        {"cell_type": "heading", "level": 2, "source": "Old"},
        {"cell_type": "code", "input": "x", "outputs": []},
    ]
    data = json.dumps({"nbformat": 3, "worksheets": [{"cells": cells}]}).encode()
    assert extract(data, "a.ipynb").markdown.rstrip() == "## Old\n\n```python\nx\n```"


def test_a_huge_output_is_cut_and_said_so() -> None:
    result = extract(_notebook(_code({"text": "x" * (MAX_OUTPUT_CHARS + 1)})), "a.ipynb")
    assert len(result.markdown) < MAX_OUTPUT_CHARS + 100
    assert "was cut" in result.notes[0]


@pytest.mark.parametrize(
    "data",
    [b"{", b"[]", b"7", b'"x"', b'{"cells": 7}', b'{"worksheets": [7]}', b"[" * 100_000, b'{"cells": null}'],
)
def test_what_is_no_notebook_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidInput, match="no readable notebook"):
        extract(data, "a.ipynb")


@pytest.mark.parametrize("cell", [7, None, [], {}, {"cell_type": "code", "source": {"a": 1}, "outputs": "x"}])
def test_strange_cells_are_passed_over(cell: Any) -> None:
    assert extract(_notebook(cell), "a.ipynb").markdown == ""
