"""How the report of a crawl looks to people."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kosmos.cli.output import console

if TYPE_CHECKING:
    from rich.table import Table

    from kosmos.crawl import CrawlReport

SHOWN = 20


def show_report(report: "CrawlReport") -> None:
    """Tables of what was found, and lists of what is wrong."""
    out = console()
    sizes = report.sizes
    out.print(
        f"{report.pages} pages, {report.sitemaps} sitemaps, {report.retried} asked for again; "
        f"{sizes['total']:,} bytes, median {sizes['median']:,}, largest {sizes['largest']:,}"
    )
    out.print(_counts("became", report.states))
    out.print(_counts("status", report.statuses))
    out.print(_depths(report.depths))
    skipped = {reason: group.count for reason, group in report.skipped.items()}
    for title, counts in (("left out because", skipped), ("links ignored because", report.ignored)):
        if counts:
            out.print(_counts(title, counts))
    broken = [
        f"{item.url} ({item.reason or item.state}), links to it: {item.referred}" for item in report.broken
    ]
    _show_list("broken", broken)
    _show_list("duplicates", [f"{url} = {same}" for url, same in report.duplicates])
    _show_list("redirects in a circle", [" → ".join(ring) for ring in report.loops])
    _show_list("lost", [f"{url} → {target}" for url, target in report.lost])


def _table(*columns: str) -> "Table":
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for number, name in enumerate(columns):
        table.add_column(name, justify="right" if number else "left")
    return table


def _counts(title: str, counts: Mapping[str, int]) -> "Table":
    from rich.text import Text

    table = _table(title, "pages")
    for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        table.add_row(Text(name), str(count))
    return table


def _depths(depths: Mapping[int, Mapping[str, int]]) -> "Table":
    table = _table("depth", "pages")
    for depth, states in depths.items():
        table.add_row(str(depth), str(sum(states.values())))
    return table


def _show_list(title: str, lines: Sequence[str]) -> None:
    out = console()
    if lines:
        out.print(f"{title}:", style="bold")
    for line in lines[:SHOWN]:
        out.print(f"  {line}")
    if len(lines) > SHOWN:
        out.print(f"  … and {len(lines) - SHOWN} more; --json lists all")
