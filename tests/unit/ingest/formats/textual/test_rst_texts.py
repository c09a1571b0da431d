"""reStructuredText: what it says comes out; files, raw output and dates do not come in."""

import pytest

from kosmos.ingest.formats.rst import extract


def _markdown(text: str) -> str:
    return extract(text.encode(), "a.rst").markdown


def test_headings_lists_tables_and_literals() -> None:
    text = (
        "标题\n====\n\nSub\n---\n\n- one\n- two\n\n=== ===\nA   B\n=== ===\n1   2\n=== ===\n\n"
        "So::\n\n    x < y\n\n"
        "``lit`` *em* **strong** `link <https://x.example/>`_\n"
    )
    assert _markdown(text).split("\n\n") == [
        "# 标题",
        "## Sub",
        "- one\n- two",
        "| A | B |\n| --- | --- |\n| 1 | 2 |",
        "So:",
        "```\nx < y\n```",
        "`lit` *em* **strong** [link](https://x.example/)",
    ]


@pytest.mark.parametrize("name", ["code-block", "code", "sourcecode"])
def test_code_whatever_its_options(name: str) -> None:
    text = f".. {name}:: python\n   :linenos:\n   :emphasize-lines: 1\n\n   def f():\n       return 1\n"
    assert _markdown(text) == "```python\ndef f():\n    return 1\n```"


def test_notes_and_versions_are_quotes() -> None:
    assert _markdown(".. note:: Mind *this*.\n") == "> **Note**\n>\n> Mind *this*."
    expected = "> **Added in version 3.2**\n>\n> New thing."
    assert _markdown(".. versionadded:: 3.2\n   New thing.\n") == expected


def test_unknown_directives_and_roles_keep_their_text() -> None:
    text = (
        ".. py:function:: foo(a, b)\n   :noindex:\n\n   Does foo.\n\n"
        ":py:func:`~os.path.join` :ref:`a label <target>` :kbd:`Ctrl` :strange:`thing`\n"
    )
    markdown = _markdown(text)
    assert markdown.startswith("`foo(a, b)`\n\nDoes foo.\n\n`join` a label ")
    assert markdown.endswith("`thing`")


def test_math_and_footnotes() -> None:
    assert _markdown("so :math:`a_b^2`\n\n.. math:: x^2\n") == "so $a_b^2$\n\n$$x^2$$"
    assert _markdown("Said [1]_.\n\n.. [1] By whom.\n") == "Said [^1].\n\n[^1]: By whom."


@pytest.mark.parametrize(
    "text",
    [
        ".. include:: /etc/hostname",
        ".. csv-table:: x\n   :file: /etc/hostname",
        ".. raw:: html\n\n   <script>x</script>",
        ".. raw:: html\n   :file: /etc/hostname",
        ".. role:: raw-html(raw)\n   :format: html\n\n:raw-html:`<script>x</script>`",
        ".. date::",
        ".. |today| date::\n\n|today|",
    ],
)
def test_nothing_comes_in_from_outside(text: str) -> None:
    markdown = _markdown(f"before\n\n{text}\n\nafter\n")
    assert markdown.startswith("before")
    assert markdown.endswith("after")
    assert "root" not in markdown
    assert "<script" not in markdown.replace("\\<", "").replace("`<", "")
    assert "20" not in markdown


def test_other_encodings() -> None:
    result = extract(("标题\n====\n\n正文里有一些汉字，足够辨认。\n").encode("gb18030"), "a.rst")
    assert result.markdown == "# 标题\n\n正文里有一些汉字，足够辨认。"
    assert result.notes == ("Read as gb18030.",)
