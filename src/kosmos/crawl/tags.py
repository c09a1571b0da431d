"""The tags of an HTML text, one by one, in time that grows only with its length.

A tree is more than links need, and dangerous: the C parser at hand takes 10 seconds for one tag of
340 kB with 50,000 attributes, 7 for 50,000 nested elements, and cannot be stopped.
"""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

_OPEN = re.compile(r"<(?:(!--)|([!?]|/(?![A-Za-z]))|(/?)([A-Za-z][^\s/>]*))")
_ATTRIBUTE = re.compile(
    r"[\s/]*(?:(>)|([^\s/>][^\s/>=]*)(?:\s*=\s*(?:\"([^\"]*)(?:\"|\Z)|'([^']*)(?:'|\Z)|([^\s>\"'][^\s>]*))?)?)"
)
_MOST = 200_000  # a page of more tags is no page
# After a start tag of these comes text up to their end tag, whatever it looks like.
_RAW = {
    name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE)
    for name in ("iframe", "noembed", "noframes", "script", "style", "textarea", "title", "xmp")
}
# Without its semicolon a name is left alone: in `?a=1&copy=2` it is a parameter.
_REFERENCE = re.compile(r"&(?:#[0-9]{1,7};?|#[xX][0-9A-Fa-f]{1,6};?|[A-Za-z][A-Za-z0-9]{0,31};)")


@dataclass(frozen=True, slots=True)
class Tag:
    """A start tag with the first value of each wanted attribute; `text` is what raw elements hold."""

    name: str
    attributes: dict[str, str]
    text: str = ""


def start_tags(text: str, wanted: frozenset[str]) -> Iterator[Tag]:
    """The start tags of a text, comments and raw text left out."""
    at = 0
    for _ in range(_MOST):
        match = _OPEN.search(text, at)
        if match is None:
            return
        if match[1] or match[2]:
            at = _after_comment(text, match.end(), proper=bool(match[1]))
            continue
        attributes, at = _attributes(text, match.end(), wanted)
        if at < 0:  # the text ends inside a tag, which is then none
            return
        if match[3]:
            continue
        name = match[4].lower()
        inside = ""
        if name in _RAW:
            end = _RAW[name].search(text, at)
            stop = end.start() if end else len(text)
            inside, at = text[at:stop], stop
        yield Tag(name, attributes, inside)


def plain(text: str) -> str:
    """A text with its character references resolved."""
    return _REFERENCE.sub(lambda match: html.unescape(match[0]), text)


def _after_comment(text: str, at: int, *, proper: bool) -> int:
    """`<!x>`, `<?x>` and `</ >` are comments up to the next `>`; `<!-->` and `<!--->` end at once."""
    if not proper or text.startswith((">", "->"), at):
        end = text.find(">", at)
        return end + 1 if end >= 0 else len(text)
    # `<!--x--!>` ends a comment too, but nobody writes it.
    end = text.find("-->", at)
    return end + 3 if end >= 0 else len(text)


def _attributes(text: str, at: int, wanted: frozenset[str]) -> tuple[dict[str, str], int]:
    found: dict[str, str] = {}
    while match := _ATTRIBUTE.match(text, at):
        at = match.end()
        if match[1]:
            return found, at
        name = match[2].lower()
        if name in wanted and name not in found:
            found[name] = plain(match[3] or match[4] or match[5] or "")
    return found, -1
