"""Tables in text files: rows as Markdown tables, each with the line of the file it came from."""

import csv
import io
from collections.abc import Iterator
from itertools import islice

from kosmos.domain.extracts import Extract, Origin
from kosmos.errors import InvalidInput, TooLarge
from kosmos.ingest.encoding import decode_text
from kosmos.ingest.formats.markdown import break_lines, decoding_notes

CONVERTER_VERSION = 1
WARM = ("chardet",)
MAX_COLUMNS = 1000
# The header comes again after so many rows, so that no part of a long table stands without it.
ROWS = 100
_DELIMITERS = (",", "\t", ";", "|")
_PROBE = 50


def extract(data: bytes, name: str) -> Extract:
    """The rows of the file; the first is taken for the header."""
    decoded = decode_text(data, name)
    text = break_lines(decoded.text)
    try:
        lines, origins = _tables(_records(text, find_delimiter(text)), name)
    except csv.Error as error:
        raise InvalidInput(
            f"{name} is no readable CSV file: {error}.", remedy="Save it as CSV anew."
        ) from error
    return Extract("\n".join(lines), origins=tuple(origins), notes=decoding_notes(decoded))


def find_delimiter(text: str) -> str:
    """The delimiter that cuts the first records into the most columns, most of them alike."""
    return max(_DELIMITERS, key=lambda delimiter: _fitness(text[: 64 * 1024], delimiter))


def _fitness(sample: str, delimiter: str) -> float:
    try:
        widths = [len(row) for _, row in islice(_records(sample, delimiter), _PROBE)]
    except csv.Error:
        return 0.0
    if not widths or widths[0] < 2:
        return 0.0
    alike = sum(width == widths[0] for width in widths) / len(widths)
    return alike * (2 - 1 / widths[0])


def _records(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Each record that is not blank with the number of its first line."""
    # The limit is one for the whole process; what is here is in memory already.
    csv.field_size_limit(2**31 - 1)
    reader = csv.reader(io.StringIO(text, newline="\n"), delimiter=delimiter, skipinitialspace=True)
    start = 1
    for row in reader:
        if any(field.strip() for field in row):
            yield start, row
        start = reader.line_num + 1


def _tables(records: Iterator[tuple[int, list[str]]], name: str) -> tuple[list[str], list[Origin]]:
    lines: list[str] = []
    origins: list[Origin] = []
    first = next(records, None)
    if first is None:
        return lines, origins
    width = len(first[1])
    head = [_line(first[1], width), "|" + " --- |" * width]
    expected = -1
    for count, (place, row) in enumerate(records):
        if len(row) > MAX_COLUMNS or width > MAX_COLUMNS:
            raise TooLarge(f"{name} has more than {MAX_COLUMNS} columns.", remedy="Split the table.")
        if count % ROWS == 0:
            origins.append(Origin(len(lines) + (2 if lines else 1), "line", first[0]))
            lines += ["", *head] if lines else head
            expected = -1
        lines.append(_line(row, width))
        if place != expected:
            origins.append(Origin(len(lines), "line", place))
        expected = place + 1
    return (lines, origins) if lines else (head, [Origin(1, "line", first[0])])


def _line(row: list[str], width: int) -> str:
    cells = [_cell(field) for field in row] + [""] * (width - len(row))
    return "| " + " | ".join(cells) + " |"


def _cell(field: str) -> str:
    return field.strip().replace("\\", "\\\\").replace("|", "\\|").replace("\n", "<br>")
