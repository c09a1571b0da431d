"""Where a text says to read on: "What's next" and "See also" sections, its addresses, its related pages."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from kosmos.domain.blocks import without_comments
from kosmos.domain.documents import slice_lines
from kosmos.domain.trees import Link, LinkKind, MarkdownTree, Navigation, Node, ResolvedLink
from kosmos.ingest.anchors import slugify

MAX_ENTRY_URLS = 200
MAX_RELATED_LINKS = 200
# More are no help to a reader, and keep the work in bounds on a text made of such headings.
MAX_SECTIONS = 50
_NEXT = re.compile(
    "what(s|-is)?-next|next(-steps?)?|where-to(-go)?-next|(接下[来來]|下一步)(做什么)?|接下来的步骤|[后後][续續](步[骤驟])?"
)
_SEE = re.compile(
    "see-also|also-see|related(-(links|topics|pages|content|resources|information|reading|documentation))?|"
    "further-reading|additional-resources|(learn|read)-more|more-information|"
    "[参參][见見阅閱]|请参阅|另[见見]|另[请請](参见|参阅|參閱|查看)|(相关|相關)(链接|連結|内容|主题|文档|资源|阅读)|"
    "延伸[阅閱][读讀]|(扩展|进一步)阅读|更多信息|了解更多"
)
_NUMBER = re.compile(r"^[\d.\-–—、)）(（]+|[:：!！。.…]+$")
_HYPERLINKS = {LinkKind.INLINE, LinkKind.REFERENCE, LinkKind.DEFINITION, LinkKind.AUTOLINK, LinkKind.HTML}


def read_navigation(tree: MarkdownTree, text: str, resolved: Sequence[ResolvedLink] = ()) -> Navigation:
    """The navigation of a whole text; `resolved` are its links after resolution, when that was done."""
    next_steps = find_next_steps(tree)
    see_also = find_see_also(tree)
    return Navigation(
        nav_next_step=_content(next_steps, text),
        nav_see_also=_content(see_also, text),
        entry_urls=entry_urls(tree.links),
        related_links=tuple(related_links(tree, resolved)),
    )


def find_next_steps(tree: MarkdownTree) -> list[Node]:
    """Sections that say what to read or do next."""
    return _named(tree, _NEXT)


def find_see_also(tree: MarkdownTree) -> list[Node]:
    """Sections that name related pages."""
    return _named(tree, _SEE)


def links_between(links: Iterable[Link], start_line: int, end_line: int) -> list[Link]:
    """The links that begin on these lines, as those of one chunk."""
    return [link for link in links if start_line <= link.line <= end_line]


def entry_urls(links: Iterable[Link], *, most: int = MAX_ENTRY_URLS) -> tuple[str, ...]:
    """The addresses that a text links to, each once, in their order; images and included files are none."""
    seen = dict.fromkeys(
        link.target for link in links if link.kind in _HYPERLINKS and not link.target.startswith("#")
    )
    return tuple(seen)[:most]


def related_links(tree: MarkdownTree, resolved: Iterable[ResolvedLink]) -> Iterator[dict[str, Any]]:
    """Links that lead to documents of the space, as JSON: "next" and "see also" before mentions.

    A document is named once for each part of it that is linked to.
    """
    relations = _relations(tree)
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for item in sorted(resolved, key=lambda item: _rank(_relation(item.link.line, relations))):
        place = (item.document_id or "", item.anchor)
        # A link inside the same text is no relation between documents.
        if item.document_id is None or item.link.target.startswith("#") or place in found:
            continue
        found[place] = _as_json(item, _relation(item.link.line, relations))
    yield from list(found.values())[:MAX_RELATED_LINKS]


def _as_json(item: ResolvedLink, relation: str) -> dict[str, Any]:
    return {
        "relation": relation,
        "document_id": item.document_id,
        "source": item.source,
        "anchor": item.anchor,
        "text": item.link.text,
        "url": item.link.target,
        "line": item.link.line,
    }


def _relations(tree: MarkdownTree) -> list[tuple[int, int, str]]:
    steps = [(node.start_line, node.end_line, "next_step") for node in find_next_steps(tree)]
    return steps + [(node.start_line, node.end_line, "see_also") for node in find_see_also(tree)]


def _relation(line: int, relations: Sequence[tuple[int, int, str]]) -> str:
    return next((name for start, end, name in relations if start <= line <= end), "mention")


def _rank(relation: str) -> int:
    return ("next_step", "see_also", "mention").index(relation)


def _content(sections: Sequence[Node], text: str) -> str:
    """What stands below the headings; a section inside another of them is there already."""
    parts: list[str] = []
    last = 0
    for section in sections:
        if section.start_line > last:
            body = slice_lines(text, section.start_line, section.end_line).split("\n", 1)
            parts.append(without_comments(body[1]).strip() if len(body) > 1 else "")
            last = section.end_line
    return "\n\n".join(part for part in parts if part)


def _named(tree: MarkdownTree, names: re.Pattern[str]) -> list[Node]:
    return [section for section in tree.sections if names.fullmatch(_name(section.title))][:MAX_SECTIONS]


def _name(title: str) -> str:
    return slugify(_NUMBER.sub("", title.replace("’", "'").strip()).strip())
