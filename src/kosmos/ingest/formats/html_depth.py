"""Deep nesting made shallow before a parser sees it: parsers are quadratic in depth, or drop what is deep."""

import re

MAX_DEPTH = 200
# One token at a time, so that no input makes the expression look twice: comments, raw text, tags.
_TOKEN = re.compile(
    r"<!--.*?(?:-->|\Z)|<(script|style|textarea|title)\b[^<>]*>.*?(?:</\1\s*>|\Z)|<(/?)([a-zA-Z][^\s/<>]*)[^<>]*>",
    re.DOTALL | re.IGNORECASE,
)
# Elements that never hold others, and those that a sibling closes.
_FLAT = frozenset(
    [
        "area",
        "base",
        "br",
        "col",
        "embed",
        "hr",
        "img",
        "input",
        "link",
        "meta",
        "param",
        "source",
        "track",
        "wbr",
        "p",
        "li",
        "dt",
        "dd",
        "td",
        "th",
        "tr",
        "thead",
        "tbody",
        "tfoot",
        "colgroup",
        "option",
        "optgroup",
        "rt",
        "rp",
    ]
)


def limit_depth(html: str, most: int = MAX_DEPTH) -> tuple[str, bool]:
    """The page without tags deeper than `most`, whose text stays, and whether there were any."""
    if not _may_be_deep(html, most):
        return html, False
    depth, kept, at, cut = 0, [], 0, False
    for match in _TOKEN.finditer(html):
        closing, tag = match.group(2), (match.group(3) or "").lower()
        if not tag or (tag in _FLAT and depth <= most):
            continue
        if tag not in _FLAT:
            depth = max(0, depth - 1) if closing else depth + 1
        if depth + (closing == "/") > most:
            kept.append(html[at : match.start()])
            at, cut = match.end(), True
    kept.append(html[at:])
    return "".join(kept), cut


def _may_be_deep(html: str, most: int) -> bool:
    """Whether there are so many tags at all, and more of them open than close by then."""
    return html.count("<") - html.count("</") > most
