"""Index rows as Milvus keeps them: the 22 fields of the collection, and what Milvus has no column for.

Columns hold what has their type. Everything else lies in `rest`; `filters` holds each value once more, by
its type, so that a filter means the same as everywhere: Milvus itself takes missing, null, true and 1
for this or that, depending on its version.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kosmos.errors import TooLarge
from kosmos.store.checks import fields_json
from kosmos.store.filters import Scalar
from kosmos.store.rows import IndexRow, Sparse

TEXTS = {
    "text": 65_535,
    "source": 4096,
    "title": 8192,
    "parent_id": 512,
    "node_type": 64,
    "left_sibling": 512,
    "right_sibling": 512,
    "nav_next_step": 65_535,
    "nav_see_also": 65_535,
    "summary": 65_535,
}
NUMBERS = ("level", "token_count")
FLAGS = ("from_split", "merged")
LISTS = {"child_ids": 256, "entry_urls": 200}
LIST_ITEM = 2048
LINKS = "related_links"
MAX_TERMS = 4096
MAX_JSON = 65_000
NOTHING = 2**32 - 2  # the term of a row that has none: Milvus takes no empty vector
_LONG = 1000
_KEPT = 200


def to_entity(row: IndexRow, dense: Mapping[str, int], sparse: Sequence[str]) -> dict[str, Any]:
    """What Milvus stores for a row."""
    fields_json(row)  # refuses what is no JSON
    fields = dict(row.fields)
    columns = {name: fields.pop(name) for name in list(fields) if _fits(name, fields[name])}
    entity: dict[str, Any] = {"pk": row.pk, **_blank(), **columns}
    entity["rest"] = {"columns": sorted(columns), "fields": fields, "routes": sorted(row.sparse)}
    _check_size(row.pk, entity["rest"])
    entity["filters"] = filter_values(row.fields)
    for route, dimension in dense.items():
        vector = row.dense.get(route)
        entity[route] = np.zeros(dimension, np.float32) if vector is None else vector
        entity[filled_field(route)] = vector is not None
    for route in sparse:
        entity[route] = dict(row.sparse.get(route) or {NOTHING: 1.0})
        entity[terms_field(route)] = _terms(row, route)
    return entity


def from_entity(entity: Mapping[str, Any], dense: Sequence[str], *, vectors: bool) -> IndexRow:
    """The row again."""
    rest = entity["rest"]
    columns = {name: entity[name] for name in rest["columns"]}
    fields = {name: list(value) if name in LISTS else value for name, value in columns.items()}
    return IndexRow(
        pk=entity["pk"],
        fields={**fields, **rest["fields"]},
        sparse={route: _sparse(entity[route]) for route in rest["routes"]} if vectors else {},
        dense={
            route: np.asarray(entity[route], np.float32)
            for route in dense
            if vectors and entity[filled_field(route)]
        },
    )


def filter_values(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Each value under a key for each way in which a filter may ask for it."""
    values: dict[str, Any] = {}
    for name, value in fields.items():
        if value is not None:
            values[f"x_{name}"] = 1
        if isinstance(value, str):
            values[f"t_{name}"] = brief(value)
        elif isinstance(value, int | float):
            values[f"e_{name}"] = float(value)
            if not isinstance(value, bool):
                values[f"n_{name}"] = float(value)
        elif isinstance(value, list | tuple):
            values[f"l_{name}"] = [tag(item) for item in value if isinstance(item, Scalar)]
    return values


def brief(text: str) -> str:
    """A long text by its beginning and its hash: it can still be compared with."""
    if len(text) <= _LONG:
        return text
    return f"{text[:_KEPT]} {hashlib.sha256(text.encode()).hexdigest()}"


def tag(item: Scalar) -> str:
    """An element of a list as text that tells its type; True is 1."""
    if item is None:
        return "-"
    return f"t{brief(item)}" if isinstance(item, str) else f"n{float(item)!r}"


def filled_field(route: str) -> str:
    """The column that says whether a row has a vector in a dense route."""
    return f"{route}_filled"


def terms_field(route: str) -> str:
    """The column that lists the terms of a sparse route, so that they can be counted."""
    return f"{route}_terms"


def _check_size(pk: str, rest: Mapping[str, Any]) -> None:
    if len(json.dumps(rest, ensure_ascii=False).encode()) > MAX_JSON:
        raise TooLarge(
            f"The fields of the row {pk} are too long: Milvus holds {TEXTS['text']} bytes of a text.",
            remedy="Cut the text into smaller chunks.",
        )


def _fits(name: str, value: Any) -> bool:
    if name in TEXTS:
        return isinstance(value, str) and len(value.encode()) <= TEXTS[name]
    if name in NUMBERS:
        return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63
    if name in FLAGS:
        return isinstance(value, bool)
    if name in LISTS:
        return isinstance(value, list) and len(value) <= LISTS[name] and all(map(_is_item, value))
    return name == LINKS and isinstance(value, list | dict)


def _is_item(value: Any) -> bool:
    return isinstance(value, str) and len(value.encode()) <= LIST_ITEM


def _blank() -> dict[str, Any]:
    lists: dict[str, Any] = {name: [] for name in LISTS}
    return {
        **dict.fromkeys(TEXTS, ""),
        **dict.fromkeys(NUMBERS, 0),
        **dict.fromkeys(FLAGS, False),
        **lists,
        LINKS: [],
    }


def _terms(row: IndexRow, route: str) -> list[int]:
    terms = list(row.sparse.get(route, {}))
    if len(terms) > MAX_TERMS:
        raise TooLarge(
            f"The row {row.pk} has {len(terms)} terms in {route}; Milvus holds {MAX_TERMS}.",
            remedy="Cut the text into smaller chunks.",
        )
    return terms


def _sparse(value: Mapping[int, float]) -> Sparse:
    return {int(term): float(weight) for term, weight in value.items() if int(term) != NOTHING}
