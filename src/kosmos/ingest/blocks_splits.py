"""Lines before which a large block may be cut without breaking what it means."""

import re
from collections.abc import Iterator, Sequence

from markdown_it.token import Token

from kosmos.domain.blocks import blank_comments

_NESTED = {
    "list_item_open",
    "paragraph_open",
    "fence",
    "code_block",
    "blockquote_open",
    "table_open",
    "heading_open",
}
_PIECE = re.compile(
    r"( *)<(?:tr|li|p|div|h[1-6]|dt|dd|table|tbody|ul|ol|dl|pre|section|article|details)\b", re.IGNORECASE
)


def find_splits(tokens: Sequence[Token], first_line: int) -> dict[int, int]:
    """The safe lines of one top-level block in order, each with its depth."""
    top = tokens[0]
    start, end = top.map or [0, 0]
    if top.type == "html_block":
        found = _html_splits(top)
    elif top.type in ("fence", "code_block"):
        found = _code_splits(top)
    else:
        found = _nested_splits(tokens)
    splits: dict[int, int] = {}
    for line, depth in found:
        if start < line < end and depth < splits.get(line, depth + 1):
            splits[line] = depth
    return {line + first_line: splits[line] for line in sorted(splits)}


def _nested_splits(tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """Items, blocks inside items and quotes, and table rows but the first, which stays with its head."""
    first_row = 0
    for token in tokens:
        if token.map is None:
            continue
        if token.type == "table_open":
            first_row = token.map[0] + 2
        row = token.type == "tr_open" and token.map[0] > first_row
        if row or (token.type in _NESTED and token.level):
            yield token.map[0], token.level


def _code_splits(token: Token) -> Iterator[tuple[int, int]]:
    """Lines after an empty one; better where they are not indented."""
    lines = token.content.split("\n")
    first = (token.map or [0, 0])[0] + (token.type == "fence")
    for number in range(1, len(lines)):
        line = lines[number]
        if line.strip() and not lines[number - 1].strip():
            yield first + number, 2 if line[0] in " \t" else 1


def _html_splits(token: Token) -> Iterator[tuple[int, int]]:
    """Lines that begin with a tag of structure, outside comments."""
    first = (token.map or [0, 0])[0]
    for number, line in enumerate(blank_comments(token.content).split("\n")):
        piece = _PIECE.match(line)
        if piece:
            yield first + number, 1 + len(piece.group(1))
