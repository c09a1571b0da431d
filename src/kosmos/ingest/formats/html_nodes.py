"""What every rewrite of a page uses: nodes from the inside out, and text that passes unchanged."""

import re
from html import escape

from selectolax.lexbor import LexborHTMLParser, LexborNode

_MARKED = re.compile("\ufdd1(\\d+)\ufdd2")


class Stash:
    """Text that must come through the conversion unchanged: a mark stands for it until the end."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    def put(self, text: str) -> str:
        """The mark for a text."""
        self._texts.append(text)
        return f"\ufdd1{len(self._texts) - 1}\ufdd2"

    def restore(self, markdown: str) -> str:
        """The Markdown with every mark replaced by its text."""
        return _MARKED.sub(self._text, markdown)

    def _text(self, match: re.Match[str]) -> str:
        number = int(match.group(1)) if len(match.group(1)) < 9 else len(self._texts)
        return self._texts[number] if number < len(self._texts) else ""


def inside_out(page: LexborHTMLParser | LexborNode, selector: str) -> list[LexborNode]:
    """What the selector finds, inner ones first and each once, though it may fit two of its parts."""
    return list({node.mem_id: node for node in page.css(selector)}.values())[::-1]


def strong(text: str) -> str:
    """A paragraph in bold: the label of what follows."""
    return f"<p><strong>{escape(text)}</strong></p>"
