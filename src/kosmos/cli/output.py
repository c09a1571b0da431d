"""How results and errors look: tables for people, JSON with `--json`. The only place for exit codes."""

import dataclasses
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kosmos.errors import ConfigError, InvalidInput, KosmosError

if TYPE_CHECKING:
    from rich.console import Console

# A terminal takes these for commands: it must never get them from names and texts of others.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
INTERRUPTED = 130


def printable(text: str) -> str:
    """The text with control characters shown by their numbers, such as `\\x1b`; lines and tabs stay."""
    return _CONTROL.sub(lambda match: f"\\x{ord(match.group()):02x}", text)


def console() -> "Console":
    """Where people's output goes. Text of documents is never taken for markup or commands."""
    from rich.console import Console

    class Plain(Console):
        def print(self, *objects: Any, **options: Any) -> None:
            """Print texts without control characters."""
            shown = (printable(item) if isinstance(item, str) else item for item in objects)
            super().print(*shown, **options)

    # Into a pipe or file tables go unfolded, so that an id stays in one piece.
    width = None if sys.stdout.isatty() else 10_000
    return Plain(markup=False, highlight=False, soft_wrap=True, width=width)


def as_line(value: Any, *, indent: int | None = None) -> str:
    """JSON that holds no control characters either."""
    text = json.dumps(plain(value), ensure_ascii=False, indent=indent)
    return _CONTROL.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def plain(value: Any) -> Any:
    """A domain value as JSON-like data."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | frozenset | set):
        return [plain(item) for item in value]
    if isinstance(value, Enum):
        return value.value
    return value.isoformat() if isinstance(value, datetime) else value


def show(value: Any, as_json: bool, human: Callable[[], None]) -> None:
    """Print a result in the wanted form."""
    if as_json:
        sys.stdout.write(as_line(value, indent=2) + "\n")
    else:
        human()


def show_rows(values: Sequence[Any], as_json: bool, columns: Mapping[str, Callable[[Any], object]]) -> None:
    """Print a list: a table with one column for each entry of `columns`."""
    show(values, as_json, lambda: _table(values, columns))


def _table(values: Sequence[Any], columns: Mapping[str, Callable[[Any], object]]) -> None:
    from rich.table import Table
    from rich.text import Text

    if not values:
        sys.stdout.write("none\n")
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in columns:
        table.add_column(name, overflow="fold", no_wrap=name == "id")
    for value in values:
        table.add_row(*(Text(printable(str(cell(value)))) for cell in columns.values()))
    console().print(table)


def fail(error: KosmosError) -> int:
    """Say on standard error what went wrong and what to do; the exit code."""
    if "--json" in sys.argv:
        body = {"error": type(error).__name__, "detail": error.message, "remedy": error.remedy}
        sys.stderr.write(as_line(body) + "\n")
    else:
        sys.stderr.write(f"error: {printable(error.message)}\n")
        if error.remedy:
            sys.stderr.write(f"  {printable(error.remedy)}\n")
    return 2 if isinstance(error, ConfigError | InvalidInput) else 1
