"""Footnotes: references and the notes they point to, in the form of Markdown."""

import re

from selectolax.lexbor import LexborHTMLParser, LexborNode

from kosmos.ingest.formats.html_nodes import Stash, inside_out

_NOTE_ID = re.compile(r"(?i)(user-content-)?(fn|footnote|cite_note|_ftn)[:_-]?(?!ref)\w")
_LABEL = re.compile(r"\w{1,20}")
_PARAGRAPH = re.compile(r"^\s*<p>((?:(?!<p>).)*)</p>\s*$", re.DOTALL)
_BACK = "a[href^='#fnref'], .footnote-backref, .reversefootnote, aside > span.label, [role=doc-backlink]"


def write_footnotes(page: LexborHTMLParser, stash: Stash) -> None:
    """References as `[^n]`, and the notes they point to as definitions."""
    labels: dict[str, str] = {}
    for link in page.css("a[href^='#']"):
        target = (link.attributes.get("href") or "#")[1:]
        number = link.text().strip().strip("[]")
        if _NOTE_ID.match(target) and _LABEL.fullmatch(number):
            labels.setdefault(target, number)
            holder = link.parent if link.parent and link.parent.tag == "sup" else link
            holder.replace_with(stash.put(f"[^{number}]"))
    for item in inside_out(page, "li[id], p[id], div[id], aside[id]") if labels else ():
        label = labels.get(item.attributes.get("id") or "")
        if label:
            for back in inside_out(item, _BACK):
                back.decompose()
            item.inner_html = stash.put(f"[^{label}]:") + " " + _unwrapped(item.inner_html or "")
            _loosen(item)


def _unwrapped(html: str) -> str:
    """Without the paragraph around it, so that the text stands behind its label."""
    return _PARAGRAPH.sub(r"\1", html)


def _loosen(item: LexborNode) -> None:
    """A note that was an item of a list stands for itself."""
    holder = item.parent
    if item.tag == "li" and holder is not None and holder.tag in ("ol", "ul"):
        item.inner_html = f"<p>{item.inner_html or ''}</p>"
        if all(
            child.tag != "li" or (child.inner_html or "").startswith("<p>\ufdd1") for child in holder.iter()
        ):
            for child in list(holder.iter()):
                child.unwrap()
            holder.unwrap()
