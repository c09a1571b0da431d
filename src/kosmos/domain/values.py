"""What may be stored as free text or JSON: anything that both database engines can give back unchanged."""

import json
from collections.abc import Mapping
from typing import Any

from kosmos.errors import InvalidInput


def check_text(text: str, *, what: str, most: int) -> str:
    """The text, or InvalidInput when it is too long or cannot be stored."""
    if len(text) > most:
        raise InvalidInput(
            f"The {what} has {len(text)} characters; at most {most} are allowed.", remedy="Shorten it."
        )
    if "\x00" in text or not _encodable(text):
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
        raise InvalidInput(
            f"The {what} holds something that is no JSON (NaN, Infinity, or nested too deeply).",
            remedy="Use plain JSON values.",
        ) from None
    check_text(text, what=f"{what} as JSON", most=most)
    if "\\u0000" in text:
        raise InvalidInput(f"The {what} contains U+0000, which cannot be stored.", remedy="Remove it.")
    return dict(value)


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
