"""Rewrites of a page that let plain Markdown say what its markup says.

Selections are taken anew for each rewrite and worked from the inside out: setting the inside of an
element throws away the nodes that were there.
"""

import re
from html import escape

from selectolax.lexbor import LexborHTMLParser, LexborNode

from kosmos.ingest.formats.html_footnotes import write_footnotes
from kosmos.ingest.formats.html_nodes import Stash, inside_out
from kosmos.ingest.formats.html_notes import quote_notes
from kosmos.ingest.formats.html_tabs import label_tabs

_LANGUAGE = re.compile(
    r"(?:^|\s)(?:(?:language|lang|highlight-source|highlight)-|brush:\s*)([A-Za-z0-9+#_.-]{1,30})"
)
_NO_LANGUAGE = {
    "none",
    "text",
    "plaintext",
    "plain",
    "default",
    "notranslate",
    "txt",
    "wrapper",
    "code",
    "nohighlight",
}
_GUTTER = ".linenos, .lineno, .linenodiv, .gutter, .line-numbers-rows, .lnt, .ln, .code-line-number"
_NAME = re.compile(r"[a-z0-9+#_.-]{1,30}")


def rewrite(page: LexborHTMLParser, stash: Stash) -> None:
    """All rewrites in the order in which they need each other."""
    _write_math(page, stash)
    _write_code(page)
    label_tabs(page)
    _clean_headings(page)
    write_footnotes(page, stash)
    quote_notes(page)
    _list_definitions(page)
    _tighten_lists(page)


def _write_math(page: LexborHTMLParser, stash: Stash) -> None:
    for script in page.css("script[type^='math/tex']"):
        block = "mode=display" in (script.attributes.get("type") or "")
        script.replace_with(stash.put(_tex(script.text(), block=block)))
    for math in inside_out(page, "math"):
        note = math.css_first("annotation[encoding='application/x-tex']")
        tex = note.text() if note else (math.attributes.get("alttext") or " ".join(math.text().split()))
        math.replace_with(stash.put(_tex(tex, block=math.attributes.get("display") == "block")))
    for span in inside_out(page, "span.math, div.math, .arithmatex, tt.math, pre.math"):
        text = span.text().strip()
        if text.startswith(("\\(", "\\[")) and text.endswith(("\\)", "\\]")):
            span.inner_html = escape(stash.put(_tex(text[2:-2], block=text.startswith("\\["))))
        elif span.tag in ("tt", "pre"):
            formula = page.create_node("p" if span.tag == "pre" else "span")
            formula.inner_html = stash.put(_tex(text, block=span.tag == "pre"))
            span.replace_with(formula)


def _tex(tex: str, *, block: bool) -> str:
    tex = " ".join(tex.split())
    if not tex:
        return ""
    return f"$${tex}$$" if block else f"${tex}$"


def _write_code(page: LexborHTMLParser) -> None:
    """Every `pre` as a single code element with its language and without line numbers."""
    for literal in inside_out(page, "span.literal, tt.literal"):
        inline = page.create_node("code")
        inline.inner_html = escape(literal.text())
        literal.replace_with(inline)
    for table in inside_out(page, "table.highlighttable, table.lntable, .highlight table, table.rouge-table"):
        blocks = table.css("td.code pre, td.rouge-code pre, td.lntd:last-child pre, td:last-child pre")
        if blocks and table.attributes.get("class"):
            table.replace_with(blocks[-1])
    for pre in reversed(page.css("pre")):
        language = _language(pre)
        for node in inside_out(pre, _GUTTER):
            node.decompose()
        for node in pre.css("br"):
            node.replace_with("\n")
        code = pre.text().replace("\xa0", " ").strip("\n")
        pre.inner_html = (
            f'<code class="language-{language}">' + escape(code) + "</code>" if code.strip() else ""
        )


def _language(pre: LexborNode) -> str:
    """The language that the block, its code or something close around it names."""
    inner = pre.css_first("code")
    around: list[LexborNode | None] = [inner, pre]
    for _ in range(3):
        last = around[-1]
        around.append(last.parent if last else None)
    for node in around:
        if node is None or node.tag in ("body", "html", "-undef"):
            continue
        attributes = node.attributes
        named = attributes.get("data-lang") or attributes.get("data-language") or ""
        if node.tag == "pre" and "code" in (attributes.get("class") or "").split():
            named = named or attributes.get("lang") or ""
        match = _LANGUAGE.search(attributes.get("class") or "")
        language = (named or (match.group(1) if match else "")).lower()
        if _NAME.fullmatch(language) and language not in _NO_LANGUAGE:
            return language
    return ""


def _clean_headings(page: LexborHTMLParser) -> None:
    """Headings without the link to themselves."""
    for heading in page.css("h1, h2, h3, h4, h5, h6"):
        for link in reversed(heading.css("a")):
            if not link.text().strip(" \n\t¶#§🔗") and not link.css_first("img"):
                link.decompose()
            elif (link.attributes.get("href") or "#").startswith("#"):
                link.unwrap()


def _list_definitions(page: LexborHTMLParser) -> None:
    """Definition lists as lists: a term in bold with what it means below it."""
    for listing in inside_out(page, "dl"):
        items: list[str] = []
        for part in listing.css("dt, dd"):
            inside = part.inner_html or ""
            if part.tag == "dt":
                items.append(f"<li><p><strong>{inside.strip()}</strong></p>")
            else:
                items.append(f"<div>{inside}</div>" if items else f"<li><div>{inside}</div>")
        html = "".join(f"</li>{item}" if item.startswith("<li>") else item for item in items)
        listing.inner_html = f"<ul>{html.removeprefix('</li>')}</li></ul>" if items else ""


def _tighten_lists(page: LexborHTMLParser) -> None:
    """Lists that are marked as simple, without the paragraph around each item."""
    for paragraph in inside_out(page, "ul.simple > li > p:only-child, ol.simple > li > p:only-child"):
        paragraph.unwrap()
