"""Charts of presentations as tables: their title, series and values."""

from collections.abc import Iterator
from typing import Any

from kosmos.ingest.formats.prose import escape, flatten, render_table

_MOST_ROWS = 500
_MOST_SERIES = 100


def chart_blocks(chart: Any) -> Iterator[str]:
    """The title of a chart and a table of its series, a column each.

    Read from the XML: python-pptx knows only some kinds of charts, but all of them keep their values alike.
    """
    space = chart._chartSpace
    title = flatten("".join(text.text or "" for text in space.xpath("c:chart/c:title//a:t")))
    if title:
        yield escape(title)
    series = space.xpath(".//c:ser")[:_MOST_SERIES]
    if series:
        yield _table(series)


def _table(series: list[Any]) -> str:
    labels = _points(series[0], "c:cat|c:xVal")
    columns = [_points(each, "c:val|c:yVal") for each in series]
    names = [flatten("".join(value.text or "" for value in each.xpath("c:tx//c:v"))) for each in series]
    indexes = sorted({*labels, *(index for column in columns for index in column)})[:_MOST_ROWS]
    rows = [["", *names]]
    rows += [
        [labels.get(index, str(index + 1)), *(column.get(index, "") for column in columns)]
        for index in indexes
    ]
    return render_table(rows)


def _points(series: Any, path: str) -> dict[int, str]:
    """Stored values by their index; of labels with several levels the innermost counts."""
    points: dict[int, str] = {}
    for holder in series.xpath(path):
        for point in holder.xpath(".//c:pt"):
            index, value = point.get("idx", ""), point.xpath("c:v")
            if index.isdigit() and value:
                points.setdefault(int(index), flatten(value[0].text or ""))
    return points
