"""The blocks of a Markdown text, each with its lines."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from kosmos.domain.blocks import Block
from kosmos.ingest.blocks_shortcodes import code_shortcode
from kosmos.ingest.blocks_splits import find_splits
from kosmos.ingest.blocks_titles import is_chinese, needs_language, read_title
from kosmos.ingest.front_matter import split_front_matter

KINDS = {
    "heading_open": "heading",
    "paragraph_open": "paragraph",
    "bullet_list_open": "list",
    "ordered_list_open": "list",
    "blockquote_open": "quote",
    "table_open": "table",
    "fence": "code",
    "code_block": "code",
    "html_block": "html",
    "hr": "rule",
}
_INTERRUPTS = ["paragraph", "reference", "blockquote", "list"]


@dataclass(frozen=True, slots=True)
class Parsed:
    """The parser's view of a text: line 0 of a token is `first_line` of the text.

    `chinese` says in which language headings speak that are written as template calls.
    """

    tokens: list[Token]
    references: Mapping[str, Mapping[str, Any]]
    first_line: int
    chinese: bool


class _Parser(MarkdownIt):
    """A parser that leaves addresses as they are written; who gives them out judges them."""

    def normalizeLink(self, url: str) -> str:  # noqa: N802
        return url

    def validateLink(self, url: str) -> bool:  # noqa: ARG002, N802
        return True


def parse_blocks(text: str) -> list[Block]:
    """The top-level blocks of a canonical text in order. Headings inside lists or quotes open no section."""
    return list_blocks(parse_markdown(text))


def parse_markdown(text: str) -> Parsed:
    """The text without its front matter, parsed into blocks; inline text stays as it is."""
    _, first_line = split_front_matter(text)
    body = text if first_line == 1 else "\n".join(text.split("\n")[first_line - 1 :])
    environment: dict[str, Any] = {}
    tokens = _parser().parse(body, environment)
    chinese = needs_language(text) and is_chinese(text)
    return Parsed(tokens, environment.get("references", {}), first_line, chinese)


def list_blocks(parsed: Parsed) -> list[Block]:
    """The top-level blocks of a parsed text."""
    tokens, first = parsed.tokens, parsed.first_line
    blocks = [Block("front_matter", 1, first - 1)] if first > 1 else []
    tops = [index for index, token in enumerate(tokens) if token.level == 0 and token.type in KINDS]
    for index, after in pairwise([*tops, len(tokens)]):
        blocks.append(_block(tokens[index:after], parsed))
    return blocks


def _block(tokens: list[Token], parsed: Parsed) -> Block:
    kind = KINDS[tokens[0].type]
    start, end = tokens[0].map or [0, 0]
    start, end = start + parsed.first_line, end + parsed.first_line - 1
    if kind == "heading":
        title = read_title(tokens[1].content, chinese=parsed.chinese)
        return Block(kind, start, end, int(tokens[0].tag[1:]), title.text, title.anchor)
    splits = find_splits(tokens, parsed.first_line)
    return Block(kind, start, end, safe_starts=tuple(splits), safe_depths=tuple(splits.values()))


def _parser() -> MarkdownIt:
    """Blocks only: inline text is never parsed, which makes this five times faster."""
    parser = _Parser("commonmark").enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    parser.block.ruler.before("fence", "shortcode", code_shortcode, {"alt": _INTERRUPTS})
    return parser
