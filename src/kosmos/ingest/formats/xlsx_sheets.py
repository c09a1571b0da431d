"""What openpyxl does not tell of a sheet it only reads: merged cells, formulas without results, extent."""

import re
import zipfile
from collections import defaultdict
from dataclasses import dataclass, field
from xml.etree import ElementTree

from kosmos.errors import InvalidInput
from kosmos.ingest.formats.refusals import SAVE_AGAIN

_REFERENCE = re.compile(r"([A-Z]{1,3})(\d{1,7})")
_MOST_MERGES = 20_000
_WIDEST_FILL = 256
_TALLEST_FILL = 2_000


@dataclass(frozen=True, slots=True)
class Merge:
    """A merged cell; rows and columns count from 1 and include both ends."""

    top: int
    left: int
    bottom: int
    right: int


@dataclass(slots=True)
class SheetFacts:
    """Extent, merged cells and formulas of a sheet; fills merged cells as rows come by."""

    last_row: int = 0
    last_column: int = 0
    filled_rows: int = 0
    uncalculated: int = 0
    has_drawing: bool = False
    merges: dict[int, list[Merge]] = field(default_factory=lambda: defaultdict(list))
    _open: dict[Merge, str] = field(default_factory=dict)

    def fill_merged(self, row: int, texts: list[str]) -> None:
        """Writes the value of merged cells into each cell they cover; across a whole row it is a title."""
        for merge in self.merges.get(row, ()):
            if merge.left <= len(texts) and not (merge.left == 1 and merge.right >= self.last_column):
                self._open[merge] = texts[merge.left - 1]
        for merge, text in list(self._open.items()):
            if merge.bottom < row:
                del self._open[merge]
                continue
            for column in range(merge.left, min(merge.right, len(texts)) + 1):
                texts[column - 1] = texts[column - 1] or text


def read_sheet_facts(archive: zipfile.ZipFile, part: str, name: str) -> SheetFacts:
    """The facts of a sheet, read in one pass and in little memory."""
    facts = SheetFacts()
    try:
        with archive.open(part.lstrip("/")) as stream:
            for _, element in ElementTree.iterparse(stream):  # noqa: S314  (entities were refused)
                _take(element, facts)
    except (ElementTree.ParseError, KeyError, ValueError, LookupError, zipfile.BadZipFile, EOFError, OSError):
        raise InvalidInput(f"{name} is damaged: a sheet of it cannot be read.", remedy=SAVE_AGAIN) from None
    return facts


def _take(element: ElementTree.Element, facts: SheetFacts) -> None:
    kind = str(element.tag).rpartition("}")[2]
    if kind == "row":
        _take_row(element, facts)
        element.clear()
    elif kind == "mergeCell":
        _take_merge(element.get("ref", ""), facts)
    elif kind in ("drawing", "legacyDrawing", "picture"):
        facts.has_drawing = facts.has_drawing or kind == "drawing"


def _take_row(row: ElementTree.Element, facts: SheetFacts) -> None:
    filled = False
    for cell in row:
        parts = {str(part.tag).rpartition("}")[2]: part for part in cell}
        value = parts.get("v")
        has_value = (value is not None and bool(value.text)) or "is" in parts
        facts.uncalculated += "f" in parts and not has_value
        filled = filled or has_value
        reference = _REFERENCE.match(cell.get("r", ""))
        if reference and has_value:
            facts.last_column = max(facts.last_column, _column(reference.group(1)))
    if filled:
        number = row.get("r", "")
        facts.filled_rows += 1
        facts.last_row = max(facts.last_row + 1, int(number) if number.isdigit() else 0)


def _take_merge(reference: str, facts: SheetFacts) -> None:
    found = re.fullmatch(r"([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})", reference)
    if found is None or len(facts.merges) >= _MOST_MERGES:
        return
    top, bottom = int(found.group(2)), int(found.group(4))
    merge = Merge(top, _column(found.group(1)), min(bottom, top + _TALLEST_FILL), _column(found.group(3)))
    if merge.right - merge.left < _WIDEST_FILL:
        facts.merges[top].append(merge)


def _column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number
