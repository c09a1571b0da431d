"""What no store takes: names that could leave their place, numbers that are none, rows that do not fit."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from kosmos.errors import InvalidInput
from kosmos.store.rows import Dense, IndexRow, Sparse

MAX_DIMENSION = 16_000
MAX_TERM = 2**32 - 3  # Milvus takes no more, and the last one stands for an empty vector there
_NAME = re.compile(r"[a-z0-9_]{1,64}")


def check_name(name: str, what: str = "collection") -> str:
    """The name of a collection or route, which becomes part of file and table names."""
    if not _NAME.fullmatch(name):
        raise InvalidInput(f"{name!r} is no name for a {what}.", remedy="Use a-z, 0-9 and _.")
    return name


def check_routes(dense: Mapping[str, int] | None) -> dict[str, int]:
    """Dense routes with their dimensions."""
    routes = dict(dense or {})
    for name, dimension in routes.items():
        check_name(name, "route")
        if not 1 <= dimension <= MAX_DIMENSION:
            raise InvalidInput(
                f"{dimension} is no dimension for the route {name}.", remedy=f"Use 1 to {MAX_DIMENSION}."
            )
    return routes


def check_dimension(route: str, known: int | None, wanted: int) -> None:
    """Refuse to give a route that has a dimension another one."""
    if known is not None and known != wanted:
        raise InvalidInput(
            f"The route {route} has {known} dimensions, not {wanted}.",
            remedy="Empty the route first: vectors of two encoders never mix.",
        )


def check_dense(route: str, vector: Dense, dimensions: Mapping[str, int]) -> Dense:
    """A dense vector as float32, if the route is there, the length fits and every number is one."""
    if route not in dimensions:
        there = ", ".join(sorted(dimensions)) or "none"
        raise InvalidInput(
            f"There is no dense route {route}; there is: {there}.", remedy="Make it with `ensure` first."
        )
    try:
        numbers = np.ascontiguousarray(vector, dtype=np.float32)
    except (TypeError, ValueError):
        raise InvalidInput(f"What was given for the route {route} is no vector.") from None
    if numbers.shape != (dimensions[route],):
        shape = "x".join(str(size) for size in numbers.shape) or "no"
        raise InvalidInput(
            f"The route {route} has {dimensions[route]} dimensions, the vector has {shape}.",
            remedy="Use the encoder that filled the route, or empty it and fill it anew.",
        )
    if not np.isfinite(numbers).all():
        raise InvalidInput(
            f"A vector for the route {route} has numbers that are none (NaN or infinite).",
            remedy="Check the encoder.",
        )
    return numbers


def check_sparse(route: str, vector: Sparse) -> None:
    """Refuse terms out of range and weights that are no numbers."""
    check_name(route, "route")
    if any(not 0 <= term <= MAX_TERM for term in vector):
        raise InvalidInput(f"A term of the route {route} is not between 0 and {MAX_TERM}.")
    if vector and not np.isfinite(np.fromiter(vector.values(), np.float32, len(vector))).all():
        raise InvalidInput(
            f"A weight of the route {route} is no number (NaN or infinite).", remedy="Check the encoder."
        )


def check_rows(rows: Iterable[IndexRow], dimensions: Mapping[str, int]) -> list[IndexRow]:
    """The rows with float32 vectors, the last of each pk, if all of them can be stored."""
    checked: dict[str, IndexRow] = {}
    for row in rows:
        _check_pk(row.pk)
        for route, vector in row.sparse.items():
            check_sparse(route, vector)
        dense = {route: check_dense(route, vector, dimensions) for route, vector in row.dense.items()}
        checked.pop(row.pk, None)
        checked[row.pk] = IndexRow(row.pk, row.fields, row.sparse, dense)
    return list(checked.values())


def _check_pk(pk: str) -> None:
    try:
        pk.encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"{pk!r} is no id: it cannot be written as UTF-8.") from None
    if not pk:
        raise InvalidInput("A row has an empty id.")


def fields_json(row: IndexRow) -> str:
    """The fields of a row as JSON that every engine reads."""
    try:
        text = json.dumps(dict(row.fields), ensure_ascii=False, allow_nan=False)
        text.encode()
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"The fields of the row {row.pk} cannot be stored: {error}.") from None
    return text


def sort_scores(found: Sequence[tuple[float, Any]]) -> list[tuple[float, Any]]:
    """Best first, ties by pk."""
    return sorted(found, key=lambda pair: (-pair[0], pair[1]))
