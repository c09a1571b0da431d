"""What of a page is content: its metadata, its main part, and what of that is only furniture."""

import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urljoin

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from kosmos.domain.hints import Hints

# The first that holds a fair part of the page's text is the content.
_MAIN = (
    "main article",
    "[role=main] article",
    "article.markdown-body",
    ".markdown-body",
    ".td-content",
    "[itemprop=articleBody]",
    "div.theme-doc-markdown",
    "div.document div.body",
    "main",
    "[role=main]",
    "article",
    "#main-content",
    "#content",
    "#mw-content-text",
    ".post-content",
    ".entry-content",
    ".article-content",
)
_FAIR = 0.3
# Machinery and furniture of a page. `aside` is not here: many sites use it for notes.
_NOISE = (
    "script, style, template, noscript, iframe, object, embed, canvas, dialog, form, button, select, "
    "textarea, input, nav, "
    "body > header, body > footer, main > footer, article > footer, [role=navigation], [role=banner], "
    "[role=contentinfo], [role=search], [role=complementary], [role=dialog], .sidebar, .toc, #toc, #TOC, "
    ".table-of-contents, .breadcrumb, .breadcrumbs, .navbar, .navigation, .nav-links, .pagination, .pager, "
    ".pagination-nav, .prev-next, .prevnext-links, .headerlink, .anchor-link, .anchorjs-link, .hash-link, "
    ".heading-anchor, .header-anchor, .copybtn, .copy-button, .clipboard, .edit-link, .edit-this-page, "
    ".edit-page-link, "
    ".theme-edit-this-page, .td-page-meta, .page-meta, .feedback, .feedback--prompt, #feedback, .share, "
    ".social-share, .cookie-banner, .skip-link, .skip-to-content, .sr-only, .visually-hidden, "
    ".mw-editsection, "
    ".navbox, .reading-time, .md-source-file, .rst-footer-buttons, .related-pages, .advertisement, .ads, "
    ".katex-html, .MathJax_Preview, .MJX_Assistive_MathML"
)
_EDIT = re.compile(
    r"\s*(edit (this|the) (page|section)|edit (this page )?on git(hub|lab)|improve this page|suggest edits?"
    r"|create (an |documentation )?issue|report an? (issue|bug)|view (page )?source"
    r"|print (entire section|this page)|编辑(此|本|这个|该)页面?|在 ?git(hub|lab) ?上编辑(此页)?|编辑本节"
    r"|提交问题|报告问题|查看源(码|代码)|編輯(此|本)頁)\s*[.。]?\s*",
    re.IGNORECASE,
)


def find_base(page: LexborHTMLParser, hints: Hints) -> str:
    """The address against which relative links of the page are read; empty when nothing says it."""
    canonical = page.css_first("link[rel=canonical]")
    url = hints.url or (canonical.attributes.get("href") if canonical else "") or ""
    declared = page.css_first("base[href]")
    base = join_address(url, (declared.attributes.get("href") or "") if declared else "")
    return base if base.startswith(("http://", "https://")) else ""


def join_address(base: str, address: str) -> str:
    """The address seen from the base; as it stands when it makes no sense."""
    try:
        return urljoin(base, address.strip()) if base else address.strip()
    except ValueError:
        return address.strip()


def read_metadata(page: LexborHTMLParser) -> Mapping[str, Any]:
    """What the head says: description, author, language, dates, canonical address."""
    root = page.root
    found = {
        "description": _meta(page, "meta[name=description]", "meta[property='og:description']"),
        "author": _meta(page, "meta[name=author]"),
        "keywords": _meta(page, "meta[name=keywords]"),
        "date": _meta(page, "meta[property='article:published_time']", "meta[name=date]"),
        "language": (root.attributes.get("lang") or "") if root else "",
        "canonical_url": _attribute(page, "link[rel=canonical]", "href"),
    }
    return {key: " ".join(value.split())[:2000] for key, value in found.items() if value.strip()}


def find_title(page: LexborHTMLParser, content: LexborNode) -> str:
    """The only first-level heading of the content, or what the head calls the page."""
    headings = [node.text() for node in content.css("h1")]
    if len(headings) == 1 and headings[0].strip(" \n\t¶#"):
        return headings[0].strip(" \n\t¶#")
    title = page.css_first("head title")
    return _meta(page, "meta[property='og:title']") or (title.text() if title else "")


def choose_content(page: LexborHTMLParser, hints: Hints) -> LexborNode | None:
    """The element that holds the content, after noise was dropped from the page."""
    for selector in hints.content:
        if found := _select(page, selector):
            return max(found, key=_weight)
    body = page.body
    total = _weight(body) if body else 0
    for selector in _MAIN:
        if found := _select(page, selector):
            best = max(found, key=_weight)
            # Several articles are a list of articles: then what holds them all is the content.
            if _weight(best) >= _FAIR * total and (len(found) == 1 or _weight(best) > 0.8 * total):
                return best
    return body


def drop_noise(page: LexborHTMLParser, hints: Hints) -> None:
    """Remove what no reader came for."""
    for node in _unnested(page.css(_NOISE)):
        if not _is_kept(node):
            node.decompose()
    for selector in hints.noise:
        for node in _unnested(_select(page, selector)):
            node.decompose()
    for link in page.css("a"):
        if _EDIT.fullmatch(link.text()[:80]):
            link.decompose()


def _is_kept(node: LexborNode) -> bool:
    """Scripts hold formulas, and controls hold the labels of tabs."""
    kind = node.attributes.get("type") or ""
    return (
        kind.startswith("math/tex") or (node.attributes.get("role") == "tab") or node.tag in ("html", "body")
    )


def _unnested(nodes: Iterable[LexborNode]) -> list[LexborNode]:
    """Inner ones first, each once, so that none is touched after it or what holds it is gone."""
    return list({node.mem_id: node for node in nodes}.values())[::-1]


def _select(page: LexborHTMLParser, selector: str) -> list[LexborNode]:
    try:
        return page.css(selector)
    except SelectolaxError:
        return []


def _weight(node: LexborNode) -> int:
    return len(node.text())


def _meta(page: LexborHTMLParser, *selectors: str) -> str:
    return next((text for selector in selectors if (text := _attribute(page, selector, "content"))), "")


def _attribute(page: LexborHTMLParser, selector: str, name: str) -> str:
    node = page.css_first(selector)
    return (node.attributes.get(name) or "") if node else ""
