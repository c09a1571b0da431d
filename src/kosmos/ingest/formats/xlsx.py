"""Excel workbooks: a section and a table a sheet, with values as they were last calculated."""

import io
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kosmos.domain.extracts import Extract
from kosmos.ingest.formats.composer import Composer
from kosmos.ingest.formats.office_properties import read_properties
from kosmos.ingest.formats.prose import flatten, render_table
from kosmos.ingest.formats.refusals import needs_extra, reading
from kosmos.ingest.formats.xlsx_cells import spell_value
from kosmos.ingest.formats.xlsx_pictures import read_pictures
from kosmos.ingest.formats.xlsx_sheets import SheetFacts, read_sheet_facts
from kosmos.ingest.formats.zip_limits import open_archive

if TYPE_CHECKING:
    from openpyxl.workbook.workbook import Workbook

KIND = "Excel workbook (.xlsx)"
MAX_ROWS = 20_000
MAX_COLUMNS = 256
MAX_CELLS = 1_000_000


def extract(data: bytes, name: str) -> Extract:
    """The sheets of a workbook as tables."""
    with reading(name, KIND), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            import openpyxl
        except ModuleNotFoundError:
            raise needs_extra(name, KIND, "office") from None
        archive = open_archive(data, name, KIND)
        properties = read_properties(archive, name)
        workbook = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
        try:
            composer = Composer()
            _write(workbook, composer, archive, name)
        finally:
            workbook.close()
        return composer.finish(title=properties.pop("title", ""), metadata=properties)


def _write(workbook: "Workbook", composer: Composer, archive: zipfile.ZipFile, name: str) -> None:
    left = MAX_CELLS
    for number, sheet in enumerate(workbook.worksheets, start=1):
        composer.mark("sheet", number, flatten(sheet.title))
        composer.add(f"## {flatten(sheet.title)}")
        left -= _write_sheet(sheet, composer, archive, name, most_cells=left)
    hidden = [flatten(sheet.title) for sheet in workbook.worksheets if sheet.sheet_state != "visible"]
    if hidden:
        composer.note(f"Hidden sheets are in the text: {', '.join(hidden)}.")
    charts = [flatten(sheet.title) for sheet in workbook.chartsheets]
    if charts:
        composer.note(f"Chart sheets were left out: {', '.join(charts)}.")


def _write_sheet(
    sheet: Any, composer: Composer, archive: zipfile.ZipFile, name: str, *, most_cells: int
) -> int:
    """Adds the table and the pictures of a sheet and says how many cells it has."""
    part = sheet._worksheet_path  # openpyxl alone knows which part of the archive it is
    facts = read_sheet_facts(archive, part, name)
    sheet.reset_dimensions()
    rows = _read_rows(sheet, facts, most_cells)
    if rows:
        composer.add(render_table(rows))
    _note_limits(composer, flatten(sheet.title), facts, rows)
    pictures, lost = read_pictures(archive, part, name)
    for picture in pictures:
        composer.add_figure(picture, "")
    if facts.has_drawing and (lost or not pictures):
        composer.note(f"Sheet “{flatten(sheet.title)}”: charts and unreadable pictures were left out.")
    return sum(len(row) for row in rows)


def _read_rows(sheet: Any, facts: SheetFacts, most_cells: int) -> list[list[str]]:
    """The rows that hold anything, without empty columns at their sides."""
    rows: list[list[str]] = []
    for cells in _filled_rows(sheet, facts):
        if most_cells <= 0:
            break
        rows.append(cells)
        most_cells -= len(cells)
        if len(rows) >= MAX_ROWS:
            break
    return _trim(rows)


def _filled_rows(sheet: Any, facts: SheetFacts) -> Iterator[list[str]]:
    width = min(MAX_COLUMNS, facts.last_column)
    if not width:
        return
    for number, cells in enumerate(sheet.iter_rows(max_col=width, values_only=True), start=1):
        if number > facts.last_row:
            return
        texts = [spell_value(value) for value in cells]
        facts.fill_merged(number, texts)
        if any(texts):
            yield texts


def _trim(rows: list[list[str]]) -> list[list[str]]:
    used = [index for row in rows for index, text in enumerate(row) if text]
    if not used:
        return []
    first, last = min(used), max(used)
    return [[*row, *([""] * (last + 1 - len(row)))][first : last + 1] for row in rows]


def _note_limits(composer: Composer, title: str, facts: SheetFacts, rows: Sequence[Sequence[str]]) -> None:
    if facts.filled_rows > len(rows):
        composer.note(f"Sheet “{title}”: {len(rows):,} of {facts.filled_rows:,} rows with values were read.")
    if facts.last_column > MAX_COLUMNS:
        composer.note(f"Sheet “{title}”: columns {MAX_COLUMNS + 1} to {facts.last_column} were left out.")
    if facts.uncalculated:
        composer.note(
            f"Sheet “{title}”: {facts.uncalculated:,} formulas have no stored result and are empty. "
            "Open and save it in Excel to store them."
        )
