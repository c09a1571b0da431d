"""Values of cells as text."""

import datetime
from typing import Any

from kosmos.ingest.formats.prose import flatten

_MIDNIGHT = datetime.time()


def spell_value(value: Any) -> str:
    """The value as it is written: dates in ISO form, whole numbers without a point, texts line by line."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.15g}"
    if isinstance(value, datetime.datetime):
        whole_day = value.time() == _MIDNIGHT
        return value.date().isoformat() if whole_day else value.isoformat(sep=" ", timespec="seconds")
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return "\n".join(filter(None, (flatten(line) for line in str(value).replace("\r", "\n").split("\n"))))
