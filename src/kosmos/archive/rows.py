"""Rows as lines of JSON: the same line on every engine, and nothing taken that a column cannot hold.

A column that is NULL is left out, so that the JSON value `null` stays something else. Bytes are base64.
"""

import base64
import binascii
import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from kosmos.db.types import UtcDateTime
from kosmos.domain.values import storable
from kosmos.errors import InvalidInput

MOST_DEPTH = 200  # of JSON in a column; deeper ones are an attack
_SMALL, _BIG = 2**31, 2**63
_REMEDY = "Get an intact copy of the archive, made by Kosmos."
Values = dict[str, Any]


def refused(message: str) -> InvalidInput:
    """What is said of an archive that cannot be taken."""
    return InvalidInput(f"The archive is refused: {message}.", remedy=_REMEDY)


def dump_row(table: sa.Table, row: Mapping[str, Any]) -> str:
    """A row of a table as one line; `row` leaves out what is NULL."""
    plain = {name: _plain(table.c[name].type, value) for name, value in row.items()}
    line = json.dumps(plain, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    # Half a character is no UTF-8, but JSON has a spelling for it.
    return line if _whole(line) else json.dumps(plain, sort_keys=True, separators=(",", ":"))


def load_row(table: sa.Table, line: str, *, strict: bool = True) -> Values:
    """The row that a line holds, or InvalidInput; what is NULL is left out.

    What was stored once is stored again, so that only lines of others are read in the `strict` way.
    """
    given = load_json(line, strict=strict)
    if not isinstance(given, dict):
        raise refused(f"a row of {table.name} is no object")
    for name in given:
        if name not in table.c:
            raise refused(f"a row of {table.name} has the unknown field {name[:60]!r}")
    return {name: _value(table.c[name], value) for name, value in given.items()}


def load_json(text: str, *, strict: bool = True) -> Any:
    """JSON without numbers that are none; `strict`: without odd texts and endless depths as well."""
    try:
        value = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise refused("it holds what is no JSON") from None
    for part in walk(value) if strict else ():
        if isinstance(part, str) and not storable(part):
            raise refused("a text in it has characters that cannot be stored")
        if isinstance(part, float) and not math.isfinite(part):
            raise refused("a number in it is too large")
    return value


def walk(value: Any) -> Iterator[Any]:
    """A JSON value with all that is inside, keys too."""
    open_, depth = [value], 0
    while open_:
        yield from open_
        open_ = [part for item in open_ for part in _inside(item)]
        depth += 1
        if depth > MOST_DEPTH:
            raise refused("it is nested too deeply")


def row_digest(line: str) -> int:
    """A number that tells rows apart; it is the same for numbers that engines only write differently."""
    same = json.dumps(_same(json.loads(line)), ensure_ascii=False, sort_keys=True)
    return int.from_bytes(hashlib.sha256(same.encode("utf-8", "surrogatepass")).digest(), "big")


def _same(value: Any) -> Any:
    """PostgreSQL writes 1e22 as an integer, and knows no negative zero."""
    if isinstance(value, dict):
        return {key: _same(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_same(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _inside(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [*value.keys(), *value.values()]
    return value if isinstance(value, list) else []


def _whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _no_number(name: str) -> Any:
    raise ValueError(name)


def _plain(kind: sa.types.TypeEngine[Any], value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(kind, sa.LargeBinary):
        return base64.b64encode(value).decode()
    return value


def _value(column: sa.Column[Any], value: Any) -> Any:
    """The value for a column, if it is of its kind and fits."""
    for kind, read in _READERS:
        if isinstance(column.type, kind):
            try:
                return read(column.type, value)
            except (TypeError, ValueError, OverflowError, binascii.Error):
                break
    shown = json.dumps(value, ensure_ascii=False)[:60]
    raise refused(f"{shown} is no value for {column.table.name}.{column.name}")


def _text(kind: Any, value: Any) -> str:
    if not isinstance(value, str) or (kind.length is not None and len(value) > kind.length):
        raise ValueError
    return value


def _number(kind: Any, value: Any) -> int:
    most = _BIG if isinstance(kind, sa.BigInteger) else _SMALL
    if type(value) is not int or not -most <= value < most:
        raise ValueError
    return value


def _truth(_kind: Any, value: Any) -> bool:
    if type(value) is not bool:
        raise ValueError
    return value


def _float(_kind: Any, value: Any) -> float:
    if type(value) not in (int, float):
        raise ValueError
    return float(value)


def _bytes(_kind: Any, value: Any) -> bytes:
    if not isinstance(value, str):
        raise TypeError
    return base64.b64decode(value, validate=True)


def _moment(_kind: Any, value: Any) -> datetime:
    if not isinstance(value, str):
        raise TypeError
    moment = datetime.fromisoformat(value)
    if moment.tzinfo is None:
        raise ValueError
    return moment.astimezone(UTC)


def _json(_kind: Any, value: Any) -> Any:
    return value


# The first that fits counts: a Text is a String, too.
_READERS: tuple[tuple[Any, Callable[[Any, Any], Any]], ...] = (
    (UtcDateTime, _moment),
    (sa.JSON, _json),
    (sa.LargeBinary, _bytes),
    (sa.Boolean, _truth),
    (sa.Integer, _number),
    (sa.Float, _float),
    (sa.String, _text),
)
