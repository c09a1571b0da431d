"""Filters: a small tree, compiled by each engine, never a raw string."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Scalar = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Eq:
    """The field has this value."""

    field: str
    value: Scalar


@dataclass(frozen=True, slots=True)
class In:
    """The field has one of these values."""

    field: str
    values: frozenset[Scalar]


@dataclass(frozen=True, slots=True)
class Range:
    """The field is a number or a text between these, both included; None leaves a side open."""

    field: str
    low: int | float | str | None = None
    high: int | float | str | None = None


@dataclass(frozen=True, slots=True)
class Contains:
    """The field is a list that has this value."""

    field: str
    value: Scalar


@dataclass(frozen=True, slots=True)
class Prefix:
    """The field is a text that begins so."""

    field: str
    value: str


@dataclass(frozen=True, slots=True)
class And:
    """All of them hold; an empty one always does."""

    parts: tuple["Filter", ...]


@dataclass(frozen=True, slots=True)
class Or:
    """At least one of them holds; an empty one never does."""

    parts: tuple["Filter", ...]


@dataclass(frozen=True, slots=True)
class Not:
    """It does not hold."""

    part: "Filter"


Filter = Eq | In | Range | Contains | Prefix | And | Or | Not


def matches(condition: Filter, fields: Mapping[str, Any]) -> bool:
    """Whether a row's fields (and its `pk`) satisfy the filter; a missing field is None."""
    match condition:
        case Eq(field, value):
            return bool(fields.get(field) == value)
        case In(field, values):
            value = fields.get(field)
            return isinstance(value, Scalar) and value in values
        case Range(field, low, high):
            return _between(fields.get(field), low, high)
        case Contains(field, value):
            listed = fields.get(field)
            return isinstance(listed, list | tuple) and value in listed
        case Prefix(field, value):
            text = fields.get(field)
            return isinstance(text, str) and text.startswith(value)
        case And(parts):
            return all(matches(part, fields) for part in parts)
        case Or(parts):
            return any(matches(part, fields) for part in parts)
        case Not(part):
            return not matches(part, fields)


def _between(value: object, low: int | float | str | None, high: int | float | str | None) -> bool:
    """Texts compare with texts and numbers with numbers; anything else is outside."""
    if value is None:
        return False
    for bound, above in ((low, True), (high, False)):
        if isinstance(bound, str):
            if not isinstance(value, str) or (value < bound if above else value > bound):
                return False
        elif bound is not None:
            if isinstance(value, bool) or not isinstance(value, int | float):
                return False
            if value < bound if above else value > bound:
                return False
    return True
