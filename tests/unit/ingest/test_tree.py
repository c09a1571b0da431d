"""The tree: sections, containers and leaves that cover a text and agree with an independent parser."""

import commonmark
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.domain.trees import MarkdownTree, Node, NodeType
from kosmos.ingest.anchors import find_anchor, name_anchors, slugify
from kosmos.ingest.blocks import parse_blocks
from kosmos.ingest.canonical import clean_text
from kosmos.ingest.tree import parse_tree

PROPERTY = settings(max_examples=150, deadline=None)
LINES = st.sampled_from(
    [
        *[
            "",
            "",
            "text",
            "中文段落。",
            "# One",
            "## Two ##",
            "### 三",
            "#none",
            "===",
            "---",
            "***",
            "- item",
        ],
        *["  - nested", "1. first", "10) tenth", "    code", "```", "```py", "~~~", "> quote", "> # quoted"],
        *["- # listed", "> ```", "<div>", "</div>", "<!-- comment", "-->", "<!-- whole -->", "  ", "\\# no"],
        *["* * *", "  # two spaces", "- ", "+ a"],
    ]
)
DOCUMENTS = st.lists(LINES, max_size=40).map(lambda lines: clean_text("\n".join(lines)))
BEFORE = (
    "# A\n\nintro\n\n## B\n\n- x\n  - y\n- z\n\n### C\n\n| h |\n|---|\n| 1 |\n| 2 |\n\n## D\n\n> q\n\n# E"
)


def _headings_elsewhere(text: str) -> list[tuple[int, int, int]]:
    """Top-level headings as another implementation of CommonMark sees them."""
    found: list[tuple[int, int, int]] = []
    node = commonmark.Parser().parse(text).first_child
    while node is not None:
        if node.t == "heading":
            found.append((node.sourcepos[0][0], node.sourcepos[1][0], node.level))
        node = node.nxt
    return found


@PROPERTY
@given(DOCUMENTS)
def test_headings_and_their_lines_agree_with_an_independent_parser(text: str) -> None:
    text = f"start\n\n{text}"
    blocks = [block for block in parse_blocks(text) if block.level]
    assert [(b.start_line, b.end_line, b.level) for b in blocks] == _headings_elsewhere(text)


@PROPERTY
@given(DOCUMENTS)
def test_nodes_form_a_tree_of_line_ranges(text: str) -> None:
    tree = parse_tree(text)
    root = tree.nodes[0]
    assert (root.node_type, root.start_line, root.end_line) == (NodeType.ROOT, 1, text.count("\n") + 1)
    for index, node in enumerate(tree.nodes):
        assert 1 <= node.start_line <= node.end_line <= root.end_line
        for one, other in zip((None, *node.children), (*node.children, None), strict=True):
            assert one is None or tree.nodes[one].right_sibling == other
            assert other is None or tree.nodes[other].left_sibling == one
        for child in node.children:
            below = tree.nodes[child]
            assert below.parent == index
            assert node.start_line <= below.start_line <= below.end_line <= node.end_line


@PROPERTY
@given(DOCUMENTS)
def test_sections_run_to_the_next_heading_that_is_not_below(text: str) -> None:
    tree = parse_tree(text)
    for index, section in enumerate(tree.sections):
        after = [other.start_line for other in tree.sections[index + 1 :] if other.level <= section.level]
        assert section.end_line == (after[0] - 1 if after else tree.nodes[0].end_line)
        above = [other for other in tree.sections[:index] if other.end_line >= section.start_line]
        assert section.heading_path == (*(other.title for other in above), section.title)


@PROPERTY
@given(DOCUMENTS)
def test_safe_starts_are_starts_of_nested_blocks_or_pieces_of_code(text: str) -> None:
    tree = parse_tree(text)
    lines = text.split("\n")
    starts = {node.start_line for node in tree.nodes}
    for block in tree.blocks:
        assert len(block.safe_starts) == len(block.safe_depths)
        assert list(block.safe_starts) == sorted(set(block.safe_starts))
        for line in block.safe_starts:
            assert block.start_line < line <= block.end_line
            if block.kind == "code":
                assert lines[line - 1].strip()
                assert not lines[line - 2].strip()
            elif block.kind in ("list", "quote"):
                assert line in starts


def _find(tree: MarkdownTree, kind: str, title: str = "") -> list[Node]:
    return [node for node in tree.nodes if node.kind == kind and node.title == title]


def test_a_whole_tree() -> None:
    tree = parse_tree(BEFORE)
    assert [(s.title, s.level, s.start_line, s.end_line) for s in tree.sections] == [
        ("A", 1, 1, 21),
        ("B", 2, 5, 17),
        ("C", 3, 11, 17),
        ("D", 2, 18, 21),
        ("E", 1, 22, 22),
    ]
    assert tree.sections[2].heading_path == ("A", "B", "C")
    (table,) = _find(tree, "table")
    assert [tree.nodes[child].start_line for child in table.children] == [13, 15, 16]
    assert table.heading_path == ("A", "B", "C")
    items = _find(tree, "list_item")
    assert [(item.start_line, item.end_line, item.node_type) for item in items] == [
        (7, 8, NodeType.CONTAINER),
        (8, 8, NodeType.CONTAINER),
        (9, 10, NodeType.CONTAINER),
    ]
    assert [node.node_type for node in _find(tree, "quote")] == [NodeType.CONTAINER]


def test_front_matter_is_a_leaf_and_moves_lines() -> None:
    tree = parse_tree("---\ntitle: x\n---\n# A\n\n[l](/u)")
    assert [(n.kind, n.start_line, n.end_line) for n in tree.nodes] == [
        ("document", 1, 6),
        ("front_matter", 1, 3),
        ("section", 4, 6),
        ("paragraph", 6, 6),
    ]
    assert [(link.line, link.target) for link in tree.links] == [(6, "/u")]


@pytest.mark.parametrize(
    ("text", "starts", "depths"),
    [
        ("- a\n- b\n  - c\n\n  d\n- e", (2, 3, 5, 6), (1, 3, 2, 1)),
        ("| a |\n|---|\n| 1 |\n| 2 |\n| 3 |", (4, 5), (2, 2)),
        ("```\na\n\nb\n\n  c\n```", (4, 6), (1, 2)),
        ("<table>\n<tr>\n  <tr>\n</table>", (2, 3), (1, 3)),
        ("<!--\n<tr>\n<tr>\n-->", (), ()),
        ("> a\n>\n> b", (3,), (1,)),
        ("one\nlong\nparagraph", (), ()),
    ],
)
def test_where_blocks_may_be_cut(text: str, starts: tuple[int, ...], depths: tuple[int, ...]) -> None:
    (block,) = parse_blocks(text)
    assert (block.safe_starts, block.safe_depths) == (starts, depths)


@pytest.mark.parametrize(
    ("heading", "title", "anchor"),
    [
        ("## 安装 {#install}", "安装", "install"),
        ("## Set { #up .note }", "Set", "up"),
        ('## {{% heading "whatsnext" %}}', "What's next", "whats-next"),
        ('## Pods {{< glossary_tooltip text="here" term_id="x" >}}', "Pods here", "pods-here"),
        ('## New {#n} {{< feature-state state="beta" >}}', "New", "n"),
        ("## a {b}", "a {b}", "a-b"),
    ],
)
def test_titles_and_their_ids(heading: str, title: str, anchor: str) -> None:
    (section,) = parse_tree(heading).sections
    assert (section.title, section.anchor) == (title, anchor)


def test_a_template_heading_speaks_the_language_of_the_page() -> None:
    tree = parse_tree(
        '<!--\nA long English original of this page.\n-->\n这是中文页面。\n\n## {{% heading "whatsnext" %}}'
    )
    assert [section.title for section in tree.sections] == ["接下来"]


@pytest.mark.parametrize(
    "text",
    [
        "{{< highlight yaml >}}\n# no heading\n{{< /highlight >}}",
        '{{< tab name="x" codelang="yaml" >}}\na\n---\n{{< /tab >}}',
        "text\n{{< mermaid >}}\n# no\n{{</ mermaid >}}",
    ],
)
def test_code_in_template_calls_holds_no_headings(text: str) -> None:
    assert parse_tree(text).sections == ()


def test_a_template_call_that_is_never_closed_is_text() -> None:
    assert [s.title for s in parse_tree("{{< highlight yaml >}}\n\n# heading").sections] == ["heading"]
    assert [s.title for s in parse_tree("> {{< highlight >}}\n\n# h\n\n{{< /highlight >}}").sections] == ["h"]


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("What's Next?", "whats-next"),
        ("Pod 的 **生命周期**", "pod-的-生命周期"),
        ("`kubectl get` & more", "kubectl-get--more"),
        ("snake_case _emphasis_", "snake_case-emphasis"),
        ("[Link](/x) text", "link-text"),
        ("中文，标点。（括号）", "中文标点括号"),
        ("A &amp; B", "a--b"),
        ("हिन्दी", "हिन्दी"),
        ("🚀 Launch", "-launch"),
    ],
)
def test_slugs(title: str, slug: str) -> None:
    assert slugify(title) == slug


def test_namesakes_are_numbered_and_own_ids_are_kept() -> None:
    headings = [("A", ""), ("A", ""), ("A-1", ""), ("A", ""), ("B", "a"), ("C", "own")]
    assert name_anchors(headings) == ["a", "a-1", "a-1-1", "a-2", "a", "own"]


@PROPERTY
@given(st.lists(st.sampled_from(["A", "A", "a", "A 1", "中", "", "!"]), max_size=12))
def test_generated_anchors_are_never_given_twice(titles: list[str]) -> None:
    names = name_anchors((title, "") for title in titles)
    assert len(set(names)) == len(names)


def test_fragments_are_found_as_sites_write_them() -> None:
    tree = parse_tree('# 快速 开始\n\n# storageclass.io/x\n\n<a id="Mark"></a>\n\ntext <b id="in">x</b>')
    for fragment, line in [
        ("快速-开始", 1),
        ("%E5%BF%AB%E9%80%9F-%E5%BC%80%E5%A7%8B", 1),
        ("storageclassiox", 3),
        ("storageclass-io-x", 3),
        ("mark", 5),
        ("in", 7),
        ("none", None),
    ]:
        assert find_anchor(tree.anchors, fragment) == line


@pytest.mark.parametrize(
    "piece",
    ["[", "![", "]", "<a b='", "<!--", "{{< ", "[a](", "[a](b '", "[a][", "](<", "http://", "`", '<a b="{{<'],
)
def test_hostile_text_ends(piece: str) -> None:
    """Looking ahead to the end from every sign would take minutes, not moments."""
    text = piece * 3_000
    assert parse_tree(text).nodes
    assert parse_tree(f"# {text}").sections[0].level == 1
    assert parse_tree(f"<div>\n{text}").nodes[1].kind == "html"


def test_many_calls_that_are_never_closed_end() -> None:
    assert parse_tree("{{< highlight x >}}\n" * 3_000).sections == ()
