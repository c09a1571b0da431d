"""Notes, tips and warnings as quotes that begin with their title."""

import re

from selectolax.lexbor import LexborHTMLParser, LexborNode

from kosmos.ingest.formats.html_nodes import inside_out, strong

_NOTES = (
    ".admonition, .theme-admonition, .admonitionblock, .markdown-alert, .callout, .alert, .pageinfo, "
    "aside.note, aside.tip, aside.warning, aside.caution, aside.important, aside.danger, "
    "div.note, div.tip, div.warning, div.caution, div.important, div.danger, div.seealso, "
    "div.versionadded, div.versionchanged, div.deprecated, [role=note]"
)
_NOTE_TITLE = (
    ".admonition-title, .admonition-heading, .alert-heading, .callout-title, .markdown-alert-title, "
    "[class*=admonitionHeading], td.icon .title"
)
_OWN_TITLE = re.compile(r"\s*(<p>)?\s*<(strong|b)>")
_NOTE_KINDS = (
    "note",
    "tip",
    "warning",
    "caution",
    "important",
    "danger",
    "info",
    "hint",
    "attention",
    "error",
)


def quote_notes(page: LexborHTMLParser) -> None:
    """Notes, tips and warnings as quotes that begin with their title."""
    for note in inside_out(page, _NOTES):
        title = note.css_first(_NOTE_TITLE)
        label = " ".join(title.text().split()) if title else ""
        if title and title.mem_id != note.mem_id:
            title.decompose()
        inside = note.inner_html or ""
        if not inside.strip() or note.tag in ("td", "tr", "li", "table"):
            continue
        label = label or _note_kind(note)
        has_own = _OWN_TITLE.match(inside)
        note.inner_html = f"<blockquote>{strong(label) if label and not has_own else ''}{inside}</blockquote>"


def _note_kind(note: LexborNode) -> str:
    names = re.split(r"[\s_-]+", (note.attributes.get("class") or "").lower())
    return next((kind.capitalize() for kind in _NOTE_KINDS if kind in names), "")
