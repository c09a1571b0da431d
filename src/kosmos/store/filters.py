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


Filter = Eq | In | And | Or | Not


def matches(condition: Filter, fields: Mapping[str, Any]) -> bool:
    """Whether a row's fields (and its `pk`) satisfy the filter; a missing field is None."""
    match condition:
        case Eq(field, value):
            return bool(fields.get(field) == value)
        case In(field, values):
            value = fields.get(field)
            return isinstance(value, Scalar) and value in values
        case And(parts):
            return all(matches(part, fields) for part in parts)
        case Or(parts):
            return any(matches(part, fields) for part in parts)
        case Not(part):
            return not matches(part, fields)
