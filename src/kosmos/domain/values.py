"""What may be stored as free text or JSON: anything that both database engines can give back unchanged."""

import json
from collections.abc import Mapping
from typing import Any

from kosmos.errors import InvalidInput

MAX_DEPTH = 100


def check_text(text: str, *, what: str, most: int) -> str:
    """The text, or InvalidInput when it is too long or cannot be stored."""
    if len(text) > most:
        raise InvalidInput(
            f"The {what} has {len(text)} characters; at most {most} are allowed.", remedy="Shorten it."
        )
    if not storable(text):
        raise InvalidInput(
            f"The {what} contains U+0000 or half a surrogate pair, which cannot be stored.",
            remedy="Remove those characters.",
        )
    return text


def check_json(value: Mapping[str, Any], *, what: str, most: int) -> dict[str, Any]:
    """The object, or InvalidInput when it is too large or cannot be stored."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (ValueError, RecursionError, TypeError):
        raise _no_json(what) from None
    check_text(text, what=f"{what} as JSON", most=most)
    if _too_deep(value):
        raise _no_json(what)
    # An escaped backslash may stand before the letters u0000, which are harmless then.
    if "\\u0000" in text.replace("\\\\", ""):
        raise InvalidInput(f"The {what} contains U+0000, which cannot be stored.", remedy="Remove it.")
    return dict(value)


def storable(text: str) -> bool:
    """Whether both engines can hold the text, or look for it."""
    return "\x00" not in text and _encodable(text)


def _too_deep(value: object) -> bool:
    """One limit for all: where Python gives up depends on who calls, and drivers call from deeper down."""
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        if not level:
            return False
        inside = [item.values() if isinstance(item, Mapping) else item for item in level]
        level = [child for item in inside for child in item if isinstance(child, Mapping | list | tuple)]
    return bool(level)


def _no_json(what: str) -> InvalidInput:
    return InvalidInput(
        f"The {what} holds something that is no JSON (NaN, Infinity, or nested too deeply).",
        remedy="Use plain JSON values.",
    )


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
