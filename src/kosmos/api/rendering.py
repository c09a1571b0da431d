"""Markdown as HTML that can do nothing: no tags of its authors, no scripts, no pictures from elsewhere."""

import html
from collections.abc import MutableMapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.renderer import RendererHTML
    from markdown_it.token import Token

_SCHEMES = {"http", "https", "mailto"}
_FIGURE = "asset"  # how canonical text refers to its figures
_SHIFT = 2  # headings of a text stand below those of the page


def render(text: str) -> str:
    """The text as safe HTML; tags in it are shown as they are written."""
    return str(_parser().render(text))


def is_harmless(address: str) -> bool:
    """Whether a link may be followed: it names one of few schemes, so that it cannot be code."""
    return _scheme(address) in {*_SCHEMES, _FIGURE}


def _scheme(address: str) -> str:
    try:
        return urlsplit(address.strip()).scheme.lower()
    except ValueError:
        return ""


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(["table", "strikethrough"])
    vars(parser)["validateLink"] = is_harmless
    parser.add_render_rule("image", _image)
    parser.add_render_rule("link_open", _link)
    parser.add_render_rule("heading_open", _heading)
    parser.add_render_rule("heading_close", _heading)
    parser.add_render_rule("fence", _fence)
    parser.add_render_rule("th_open", _cell)
    parser.add_render_rule("td_open", _cell)
    return parser


def _image(
    _self: "RendererHTML", tokens: "Sequence[Token]", at: int, _options: Any, _env: MutableMapping[str, Any]
) -> str:
    return f'<span class="figure">{html.escape(tokens[at].content or "image")}</span>'


def _link(
    self: "RendererHTML", tokens: "Sequence[Token]", at: int, options: Any, env: MutableMapping[str, Any]
) -> str:
    address = str(tokens[at].attrs.get("href", ""))
    there = {"href": address, "rel": "noopener noreferrer nofollow", "target": "_blank"}
    tokens[at].attrs = dict(there) if _scheme(address) in _SCHEMES else {}
    return str(self.renderToken(tokens, at, options, env))


def _heading(
    self: "RendererHTML", tokens: "Sequence[Token]", at: int, options: Any, env: MutableMapping[str, Any]
) -> str:
    tokens[at].tag = f"h{min(6, int(tokens[at].tag[1]) + _SHIFT)}"
    return str(self.renderToken(tokens, at, options, env))


def _fence(
    _self: "RendererHTML", tokens: "Sequence[Token]", at: int, _options: Any, _env: MutableMapping[str, Any]
) -> str:
    return f"<pre><code>{html.escape(tokens[at].content)}</code></pre>\n"


def _cell(
    self: "RendererHTML", tokens: "Sequence[Token]", at: int, options: Any, env: MutableMapping[str, Any]
) -> str:
    """Alignment as a class: the policy of the page takes no styles from markup."""
    side = str(tokens[at].attrs.get("style", "")).removeprefix("text-align:")
    tokens[at].attrs = {"class": f"to-{side}"} if side in ("left", "center", "right") else {}
    return str(self.renderToken(tokens, at, options, env))
