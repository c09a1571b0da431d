"""The tree of a Markdown text: sections, what they hold, and where their links lead."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from kosmos.domain.blocks import Block


class NodeType(StrEnum):
    """What a node is: the text, a heading with all below it, a block of blocks, or a block."""

    ROOT = "root"
    SECTION = "section"
    CONTAINER = "container"
    LEAF = "leaf"


class LinkKind(StrEnum):
    """How a link is written."""

    INLINE = "inline"
    REFERENCE = "reference"
    DEFINITION = "definition"
    AUTOLINK = "autolink"
    IMAGE = "image"
    HTML = "html"
    SHORTCODE = "shortcode"


@dataclass(frozen=True, slots=True)
class Node:
    """One node; other nodes are named by their position in the tree.

    `level` is 0 for the root, 1 to 6 for sections, -1 for the rest. A section's lines run to the next
    heading that is not below it. `kind` is `document`, `section` or the block's: `paragraph`, `list`,
    `list_item`, `table`, `table_row`, `quote`, `code`, `html`, `rule`, `heading`, `front_matter`.
    """

    node_type: NodeType
    kind: str
    level: int
    title: str
    start_line: int
    end_line: int
    parent: int | None = None
    children: tuple[int, ...] = ()
    left_sibling: int | None = None
    right_sibling: int | None = None
    heading_path: tuple[str, ...] = ()
    anchor: str = ""


@dataclass(frozen=True, slots=True)
class Link:
    """A link and the line on which it begins. `shortcode` names the template call that made it, if any."""

    kind: LinkKind
    line: int
    target: str
    text: str = ""
    shortcode: str = ""


@dataclass(frozen=True, slots=True)
class ResolvedLink:
    """Where a link leads: `internal` ones stay on the site, and `document_id` is set when it is in the space.

    `other_language` tells that the page lies in another language's folder than the page with the link.
    """

    link: Link
    internal: bool
    document_id: str | None = None
    source: str | None = None
    anchor: str = ""
    other_language: bool = False


@dataclass(frozen=True, slots=True)
class Navigation:
    """What a text says about where to read on, in the words of the index row."""

    nav_next_step: str = ""
    nav_see_also: str = ""
    entry_urls: tuple[str, ...] = ()
    related_links: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class MarkdownTree:
    """A parsed text. `nodes[0]` is the root, the others follow in the order of their lines.

    `anchors` gives the line of each fragment a link may name.
    """

    nodes: tuple[Node, ...]
    blocks: tuple[Block, ...]
    links: tuple[Link, ...]
    anchors: Mapping[str, int] = field(default_factory=dict)

    @property
    def sections(self) -> tuple[Node, ...]:
        """The sections in the order of their headings."""
        return tuple(node for node in self.nodes if node.node_type is NodeType.SECTION)
