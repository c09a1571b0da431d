"""A filter as SQL over a column of JSON, with everything that comes from outside as a parameter."""

import json
from typing import Any

from kosmos.store.filters import And, Contains, Eq, Filter, In, Not, Or, Prefix, Range, Scalar


class Conditions:
    """Compiles filters and collects their parameters."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}

    def sql(self, where: Filter) -> str:
        """Holds for exactly the rows that match; never null, so that `NOT` means not."""
        match where:
            case Not(part):
                return f"NOT ({self.sql(part)})"
            case And(parts):
                return " AND ".join(f"({self.sql(part)})" for part in parts) or "TRUE"
            case Or(parts):
                return " OR ".join(f"({self.sql(part)})" for part in parts) or "FALSE"
            case Eq(field, value):
                return self._equal(field, value)
            case In(field, values):
                return self._in(field, values)
            case Range(field, low, high):
                return self._range(field, low, high)
            case Contains(field, value):
                return self._contains(field, value)
            case Prefix(field, value):
                return f"coalesce(starts_with({self._text(field)}, {self._put(escape(value))}), FALSE)"

    def _put(self, value: Any) -> str:
        name = f"p{len(self.values)}"
        self.values[name] = value
        return f":{name}"

    def _json(self, value: Any) -> str:
        return f"CAST({self._put(json.dumps(escape_all(value)))} AS jsonb)"

    def _equal(self, field: str, value: Scalar) -> str:
        if field == "pk":
            return f"pk = {self._put(escape(value))}" if isinstance(value, str) else "FALSE"
        if value is None:
            return f"coalesce(fields -> {self._put(escape(field))}, 'null') = 'null'"
        # An object contains another one only where types are equal: no list contains a value here.
        alike = [value, *_equals(value)]
        return " OR ".join(f"fields @> {self._json({field: each})}" for each in alike)

    def _in(self, field: str, values: frozenset[Scalar]) -> str:
        if field == "pk":
            texts = sorted(escape(value) for value in values if isinstance(value, str))
            return f"pk = ANY({self._put(texts)})"
        return " OR ".join(f"({self._equal(field, value)})" for value in values) or "FALSE"

    def _range(self, field: str, low: int | float | str | None, high: int | float | str | None) -> str:
        bounds = [(sign, bound) for sign, bound in ((">=", low), ("<=", high)) if bound is not None]
        if not bounds:
            return f"NOT ({self._equal(field, None)})"
        texts = [isinstance(bound, str) for _, bound in bounds]
        if any(texts) and not all(texts):
            return "FALSE"
        if texts[0]:
            value = self._text(field)
            tests = [f'{value} COLLATE "C" {sign} {self._put(escape(str(bound)))}' for sign, bound in bounds]
            return f"coalesce({' AND '.join(tests)}, FALSE)"
        if field == "pk":
            return "FALSE"
        value = f"fields -> {self._put(escape(field))}"
        tests = [f"({value}) {sign} {self._json(bound)}" for sign, bound in bounds]
        return f"coalesce(jsonb_typeof({value}) = 'number' AND {' AND '.join(tests)}, FALSE)"

    def _contains(self, field: str, value: Scalar) -> str:
        if field == "pk":
            return "FALSE"
        alike = [value, *_equals(value)]
        return " OR ".join(f"fields @> {self._json({field: [each]})}" for each in alike)

    def _text(self, field: str) -> str:
        """The field if it is a text, or null."""
        if field == "pk":
            return "pk"
        name = self._put(escape(field))
        return f"(CASE WHEN jsonb_typeof(fields -> {name}) = 'string' THEN fields ->> {name} END)"


def _equals(value: Scalar) -> list[Scalar]:
    """What else equals a value in Python, but not in JSON."""
    if value is None or isinstance(value, str):
        return []
    if isinstance(value, bool):
        return [int(value)]
    return [bool(value)] if value in (0, 1) else []


ESCAPE = "\ue000"  # stands in every text that was changed to be stored


def escape(text: str) -> str:
    """PostgreSQL holds no NUL in texts: it becomes two characters of the private area."""
    return text.replace("\ue000", "\ue000\ue001").replace("\0", "\ue000\ue002") if _special(text) else text


def unescape(text: str) -> str:
    """The text again."""
    return text.replace("\ue000\ue002", "\0").replace("\ue000\ue001", "\ue000") if _special(text) else text


def _special(text: str) -> bool:
    return "\0" in text or "\ue000" in text


def escape_all(value: Any) -> Any:
    """The same for all texts inside a value."""
    return _texts(value, escape)


def unescape_all(value: Any) -> Any:
    """The value again."""
    return _texts(value, unescape)


def _texts(value: Any, change: Any) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(key): _texts(each, change) for key, each in value.items()}
    return [_texts(each, change) for each in value] if isinstance(value, list | tuple) else value
