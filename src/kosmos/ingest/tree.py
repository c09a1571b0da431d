"""The Markdown tree: root, sections, containers and leaves, each an exact range of lines."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from markdown_it.token import Token

from kosmos.domain.blocks import Block
from kosmos.domain.trees import MarkdownTree, Node, NodeType
from kosmos.ingest.anchors import map_anchors
from kosmos.ingest.blocks import KINDS, Parsed, list_blocks, parse_markdown
from kosmos.ingest.links import find_links

_NESTED = {**KINDS, "list_item_open": "list_item", "tr_open": "table_row"}
_CONTAINERS = {"list", "list_item", "table", "quote"}


@dataclass(slots=True)
class _Draft:
    """A node while its end and its children are not known yet."""

    node_type: NodeType
    kind: str
    level: int
    title: str
    start_line: int
    end_line: int
    parent: int | None
    heading_path: tuple[str, ...] = ()
    anchor: str = ""
    children: list[int] = field(default_factory=list)


def parse_tree(text: str) -> MarkdownTree:
    """The tree of a canonical text with its blocks, links and anchors."""
    parsed = parse_markdown(text)
    blocks = list_blocks(parsed)
    links, ids = find_links(parsed)
    names, anchors = map_anchors([block for block in blocks if block.level], ids)
    nodes = _build(parsed, blocks, names, text.count("\n") + 1)
    return MarkdownTree(nodes, tuple(blocks), tuple(links), anchors)


def _build(parsed: Parsed, blocks: Sequence[Block], names: Sequence[str], last_line: int) -> tuple[Node, ...]:
    drafts = [_Draft(NodeType.ROOT, "document", 0, "", 1, last_line, None)]
    headings = iter(zip((block for block in blocks if block.level), names, strict=True))
    sections = [0]
    if blocks and blocks[0].kind == "front_matter":
        _add(drafts, 0, _leaf("front_matter", 1, blocks[0].end_line))
    inside: list[int] = []
    for token in parsed.tokens:
        if token.type == "heading_open" and token.level == 0:
            block, name = next(headings)
            _open_section(drafts, sections, block, name)
        elif token.type in _NESTED and token.map is not None:
            position = _add(drafts, inside[-1] if inside else sections[-1], _nested(token, parsed.first_line))
            if token.nesting == 1 and drafts[position].node_type is NodeType.CONTAINER:
                inside.append(position)
        elif inside and token.nesting == -1 and f"{token.type[:-6]}_open" in _NESTED:
            _close(inside, token)
    return _finish(drafts)


def _open_section(drafts: list[_Draft], sections: list[int], block: Block, name: str) -> None:
    while drafts[sections[-1]].level >= block.level:
        drafts[sections.pop()].end_line = block.start_line - 1
    above = drafts[sections[-1]]
    path = (*above.heading_path, block.title)
    section = _Draft(
        NodeType.SECTION,
        "section",
        block.level,
        block.title,
        block.start_line,
        drafts[0].end_line,
        sections[-1],
    )
    section.heading_path, section.anchor = path, name
    sections.append(_add(drafts, sections[-1], section))


def _nested(token: Token, first_line: int) -> _Draft:
    kind = _NESTED[token.type]
    start, end = token.map or [0, 0]
    draft = _leaf(kind, start + first_line, end + first_line - 1)
    if kind in _CONTAINERS:
        draft.node_type = NodeType.CONTAINER
    return draft


def _leaf(kind: str, start: int, end: int) -> _Draft:
    return _Draft(NodeType.LEAF, kind, -1, "", start, end, None)


def _close(inside: list[int], token: Token) -> None:
    """Leave a container; a leaf that opens and closes, as a paragraph does, was never entered."""
    if _NESTED[f"{token.type[:-6]}_open"] in _CONTAINERS:
        inside.pop()


def _add(drafts: list[_Draft], parent: int, draft: _Draft) -> int:
    draft.parent = parent
    if not draft.heading_path:
        draft.heading_path = drafts[parent].heading_path
    drafts.append(draft)
    drafts[parent].children.append(len(drafts) - 1)
    return len(drafts) - 1


def _finish(drafts: Sequence[_Draft]) -> tuple[Node, ...]:
    left: dict[int, int] = {}
    right: dict[int, int] = {}
    for draft in drafts:
        for one, other in zip(draft.children, draft.children[1:], strict=False):
            left[other], right[one] = one, other
    return tuple(
        Node(
            draft.node_type,
            draft.kind,
            draft.level,
            draft.title,
            draft.start_line,
            draft.end_line,
            draft.parent,
            tuple(draft.children),
            left.get(index),
            right.get(index),
            draft.heading_path,
            draft.anchor,
        )
        for index, draft in enumerate(drafts)
    )
