"""The links of a Markdown text, each with its line; none from code or comments."""

import re
from collections.abc import Iterable, Iterator
from urllib.parse import unquote

from markdown_it.token import Token

from kosmos.domain.trees import Link, LinkKind
from kosmos.ingest.blocks import Parsed
from kosmos.ingest.links_html import Found, scan_html
from kosmos.ingest.links_inline import scan_inline

_MAY_LINK = re.compile(r"[\[<]|://|\{\{")
# Addresses that run something or carry their own content lead nowhere.
_NO_PLACE = re.compile(r"(?:javascript|vbscript|data|file):", re.IGNORECASE)


def find_links(parsed: Parsed) -> tuple[list[Link], list[tuple[str, int]]]:
    """The links in the order of their lines, and the ids given in HTML with theirs."""
    links = [_definition(reference, parsed.first_line) for reference in parsed.references.values()]
    ids: list[tuple[str, int]] = []
    for found, line in _find(parsed):
        if found.kind is None:
            ids.append((found.target, line))
        else:
            links.append(Link(found.kind, line, found.target.strip(), found.text, found.shortcode))
    # An address is made of no line breaks and no control characters, whatever the text says.
    kept = [link for link in links if link.target and not _NO_PLACE.match(_visible(link.target))]
    return sorted(kept, key=lambda link: link.line), ids


def _find(parsed: Parsed) -> Iterator[tuple[Found, int]]:
    for token in parsed.tokens:
        if token.map is None or token.type not in ("inline", "html_block"):
            continue
        if _MAY_LINK.search(token.content):
            yield from _with_lines(_scan(token, parsed), token.content, token.map[0] + parsed.first_line)


def _scan(token: Token, parsed: Parsed) -> Iterable[Found]:
    return (
        scan_html(token.content)
        if token.type == "html_block"
        else scan_inline(token.content, parsed.references)
    )


def _with_lines(found: Iterable[Found], content: str, line: int) -> Iterator[tuple[Found, int]]:
    """Lines counted from one link to the next, never from the start."""
    counted = 0
    for item in found:
        line += content.count("\n", counted, item.offset)
        counted = item.offset
        yield item, line


def _definition(reference: object, first_line: int) -> Link:
    given = reference if isinstance(reference, dict) else {}
    line = int(given.get("map", [0])[0]) + first_line
    return Link(LinkKind.DEFINITION, line, str(given.get("href", "")), str(given.get("title", "")))


def _visible(target: str) -> str:
    return re.sub(r"[\x00-\x20]", "", unquote(target))
