"""The report as a picture: what became of the pages at each depth, and where the content lies."""

from collections.abc import Iterable
from html import escape

from kosmos.crawl.analysis import Branch, CrawlReport

_WIDTH = 960
_LEFT = 60
_BARS = 220
_ROW = 26
# Colours that stay apart for colour-blind readers.
_GROUPS = (
    ("content", "#0072b2", ("kept", "unchanged")),
    ("elsewhere", "#56b4e9", ("duplicate", "alias", "redirect")),
    ("broken", "#d55e00", ("gone", "failed", "refused")),
    ("left out", "#bbbbbb", ("skipped", "unlisted")),
    ("waiting", "#f0e442", ("pending",)),
)


def draw(report: CrawlReport) -> str:
    """The picture as a complete SVG document."""
    height = 100 + _BARS + 60 + _ROW * 4
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img">',
        '<g font-family="sans-serif" font-size="12">',
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
        _text(_LEFT, 28, f"{report.pages} pages, {report.sizes['total']} bytes", size=18),
        *_legend(),
        *_bars(report),
        _text(_LEFT, 100 + _BARS + 40, "Pages with content by folder", size=14),
        *_folders(report.tree, _LEFT, 100 + _BARS + 52, _WIDTH - 2 * _LEFT),
        "</g></svg>",
    ]
    return "\n".join(parts) + "\n"


def _legend() -> Iterable[str]:
    for number, (name, colour, _) in enumerate(_GROUPS):
        x = _LEFT + number * 120
        yield f'<rect x="{x}" y="44" width="12" height="12" fill="{colour}"/>'
        yield _text(x + 18, 54, name)


def _bars(report: CrawlReport) -> Iterable[str]:
    """One bar for each depth, cut by what became of its pages."""
    if not report.depths:
        return
    deepest = max(report.depths)
    most = max(sum(states.values()) for states in report.depths.values())
    step = (_WIDTH - 2 * _LEFT) / (deepest + 1)
    for depth in range(deepest + 1):
        states = report.depths.get(depth, {})
        x, y = _LEFT + depth * step, 80.0 + _BARS
        for name, colour, members in _GROUPS:
            count = sum(states.get(member, 0) for member in members)
            tall = _BARS * count / most
            y -= tall
            if count:
                yield _box((x + 2, y, step - 4, tall), colour, f"depth {depth}, {name}: {count}")
        if step >= 14 or depth % 5 == 0:
            yield _text(x + step / 2, 80 + _BARS + 16, str(depth), anchor="middle")
        if states and step >= 24:
            yield _text(x + step / 2, y - 4, str(sum(states.values())), anchor="middle")
    yield _text(_LEFT - 8, 80 + _BARS + 16, "depth", anchor="end")


def _folders(branch: Branch, x: float, y: float, width: float, level: int = 0) -> Iterable[str]:
    """Folders under their folder, each as wide as its share of pages."""
    for child in branch.children:
        wide = width * child.pages / max(branch.pages, 1)
        if wide < 2:
            continue
        colour = ("#0072b2", "#3a93c9", "#7fbce0")[level % 3]
        yield _box((x, y, max(wide - 1, 1), _ROW - 2), colour, f"{child.name}: {child.pages}")
        label = child.name[: int(wide / 8)]
        if wide >= 40 and label:
            yield _text(x + 4, y + 16, label, fill="#ffffff" if level < 2 else "#000000")
        yield from _folders(child, x, y + _ROW, wide, level + 1)
        x += wide


def _box(place: tuple[float, float, float, float], colour: str, title: str) -> str:
    x, y, width, height = place
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{colour}">'
        f"<title>{_safe(title)}</title></rect>"
    )


def _text(
    x: float, y: float, text: str, *, size: int = 12, anchor: str = "start", fill: str = "#000000"
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{fill}">'
        f"{_safe(text)}</text>"
    )


def _safe(text: str) -> str:
    """XML knows no control characters, not even escaped."""
    return escape("".join(mark if mark.isprintable() else "�" for mark in text))
