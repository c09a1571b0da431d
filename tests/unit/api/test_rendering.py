"""Markdown of anybody becomes HTML that does nothing."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from kosmos.api.rendering import is_harmless, render

ALLOWED = {
    "h3",
    "h4",
    "h5",
    "h6",
    "p",
    "em",
    "strong",
    "a",
    "code",
    "pre",
    "ul",
    "ol",
    "li",
    "blockquote",
    "hr",
}
ALLOWED |= {"br", "table", "thead", "tbody", "tr", "th", "td", "s", "span", "html", "head", "body"}
ATTRIBUTES = {"href", "rel", "target", "class", "start"}
HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java\tscript:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](data:text/html,<script>alert(1)</script>)",
    "[x](vbscript:x)",
    "<javascript:alert(1)>",
    "![x](https://evil.invalid/a.png)",
    '[x](https://a.b "onmouseover=alert(1)")',
    "```<img onerror=x>\n</code><script>\n```",
    '```" onload="alert(1)\nx\n```',
    "| a |\n| :-: |\n| <style>*{}</style> |",
    "[x]: javascript:alert(1)\n\n[x]",
    "<a href='javascript:x'>y</a>",
]


def _check(html: str) -> None:
    for node in LexborHTMLParser(html).root.traverse():  # type: ignore[union-attr]
        assert node.tag in ALLOWED, (node.tag, html)
        assert set(node.attributes) <= ATTRIBUTES, (node.attributes, html)
        href = node.attributes.get("href")
        assert href is None or is_harmless(href), html


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_become_mere_words(text: str) -> None:
    _check(render(text))


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.sampled_from([*HOSTILE, "**", "\n\n", "- ", "> ", "`", "[", "](", "<", "|"]),
            st.text(max_size=12),
        ),
        max_size=12,
    )
)
def test_no_mixture_gets_out_of_the_frame(parts: list[str]) -> None:
    _check(render("".join(parts)))


def test_what_is_rendered() -> None:
    html = render("# A\n\n**b** `c` [d](https://e.f/)\n\n| g | h |\n|-|-:|\n| 1 | 2 |\n\n![fig](asset:00)")
    assert "<h3>A</h3>" in html
    assert "<strong>b</strong> <code>c</code>" in html
    assert 'href="https://e.f/" rel="noopener noreferrer nofollow" target="_blank"' in html
    assert '<td class="to-right">2</td>' in html
    assert '<span class="figure">fig</span>' in html
    assert "style=" not in html


def test_soft_breaks_stay_in_the_text() -> None:
    assert re.search(r"one\ntwo", render("one\ntwo"))
