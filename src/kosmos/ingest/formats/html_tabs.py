"""Tabs: the label of each into its pane, so that plain text tells them apart."""

from selectolax.lexbor import LexborHTMLParser, LexborNode

from kosmos.ingest.formats.html_nodes import inside_out, strong


def label_tabs(page: LexborHTMLParser) -> None:
    """The label of each tab into its pane, and panes that a script would show made visible."""
    labels = {}
    for tab in page.css("[role=tab], .nav-tabs a[href^='#']"):
        text, attributes = " ".join(tab.text().split()), tab.attributes
        for key in ("aria-controls", "href", "data-bs-target", "data-target"):
            if (target := attributes.get(key)) and text:
                labels[target.removeprefix("#")] = text
        if tab_id := attributes.get("id"):
            labels.setdefault(f"by {tab_id}", text)
    for pane in inside_out(page, "[role=tabpanel], .tab-pane"):
        attributes = pane.attributes
        label = labels.get(attributes.get("id") or "-") or labels.get(
            f"by {attributes.get('aria-labelledby')}"
        )
        label = label or _nth_label(pane) or ""
        for key in ("hidden", "style", "aria-hidden"):
            if key in pane.attrs:
                del pane.attrs[key]
        pane.inner_html = (strong(label) if label else "") + (pane.inner_html or "")
    _label_ordered_tabs(page)
    for bar in inside_out(page, "[role=tablist], ul.nav-tabs, .tabbed-labels"):
        bar.decompose()


def _nth_label(pane: LexborNode) -> str:
    """The label of a pane by its place, where tabs and panes name each other in no way."""
    parent = pane.parent
    for _ in range(3):
        if parent is None:
            return ""
        tabs, panes = parent.css("[role=tab]"), parent.css("[role=tabpanel]")
        if tabs and len(tabs) == len(panes):
            return " ".join(tabs[[one.mem_id for one in panes].index(pane.mem_id)].text().split())
        parent = parent.parent
    return ""


def _label_ordered_tabs(page: LexborHTMLParser) -> None:
    for tabs in inside_out(page, ".tabbed-set"):
        labels = [
            " ".join(label.text().split())
            for label in tabs.css(".tabbed-labels > label, .tabbed-set > label")
        ]
        for label, pane in zip(labels, tabs.css(".tabbed-block"), strict=False):
            pane.inner_html = strong(label) + (pane.inner_html or "")
    for mark in page.css("label.sd-tab-label, .sphinx-tabs-tab"):
        mark.inner_html = strong(" ".join(mark.text().split()))
