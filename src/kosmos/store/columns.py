"""The fields of many rows as columns of codes, ready to be filtered."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kosmos.store.filters import Scalar
from kosmos.store.values import FIRST, MISSING, OTHER, Number, Span, Values, collect_values, value_key

Mask = NDArray[np.bool_]
_FEW = 8


@dataclass(frozen=True, slots=True)
class Column:
    """One code for each row."""

    values: Values
    codes: NDArray[np.int32]

    def within(self, spans: Sequence[Span]) -> Mask:
        """The rows whose codes lie in one of the spans."""
        spans = [span for span in spans if span[0] < span[1]]
        if len(spans) > _FEW:
            return self._looked_up(spans)
        mask = np.zeros(len(self.codes), bool)
        for low, high in spans:
            mask |= self.codes == low if high == low + 1 else (self.codes >= low) & (self.codes < high)
        return mask

    def _looked_up(self, spans: Sequence[Span]) -> Mask:
        table = np.zeros(len(self.values), bool)
        for low, high in spans:
            table[low:high] = True
        return table[self.codes]

    def equal(self, values: Iterable[Scalar]) -> Mask:
        """The rows that have one of the values."""
        return self.within([self.values.equal(value) for value in values])


@dataclass(frozen=True, slots=True)
class ListColumn:
    """The elements of lists: the rows whose list has the value of code i lie at offsets[i]:offsets[i + 1]."""

    values: Values
    offsets: NDArray[np.int64]
    rows: NDArray[np.int32]

    def containing(self, value: Scalar, count: int) -> Mask:
        """The rows, of so many, whose list has the value."""
        low, high = self.values.equal(value)
        mask = np.zeros(count, bool)
        mask[self.rows[int(self.offsets[low]) : int(self.offsets[high])]] = True
        return mask


def build_column(raw: Sequence[Any]) -> Column:
    """A column from what the rows have in a field."""
    kept = [_scalar(value) for value in raw]
    values, codes = collect_values(value for value in kept if value is not None and value is not Ellipsis)
    known = {**codes, None: MISSING, Ellipsis: OTHER}
    return Column(values, np.fromiter((known[_key(value)] for value in kept), np.int32, len(kept)))


def build_list_column(raw: Sequence[Any]) -> ListColumn | None:
    """The elements of those rows that have lists; None when no row has one."""
    lists = [(row, value) for row, value in enumerate(raw) if isinstance(value, list | tuple)]
    if not lists:
        return None
    pairs = [(row, _scalar(item)) for row, value in lists for item in value]
    pairs = [(row, item) for row, item in pairs if item is not Ellipsis]
    values, codes = collect_values(item for _, item in pairs if item is not None)
    known = {**codes, None: MISSING}
    rows = np.fromiter((row for row, _ in pairs), np.int32, len(pairs))
    return list_column(
        values, rows, np.fromiter((known[_key(item)] for _, item in pairs), np.int32, len(pairs))
    )


def list_column(values: Values, rows: NDArray[np.int32], codes: NDArray[np.int32]) -> ListColumn:
    """Rows ordered by the codes of their elements."""
    order = np.argsort(codes, kind="stable")
    offsets = np.searchsorted(codes[order], np.arange(len(values) + 1)).astype(np.int64)
    return ListColumn(values, offsets, rows[order])


def merge_columns(parts: Sequence[tuple[Column | None, NDArray[np.intp]]]) -> Column:
    """The kept rows of several columns one after another; where there is no column, nothing has a value."""
    used = [_used(column.values, column.codes[rows]) if column else None for column, rows in parts]
    values, codes = collect_values(raw for part in used if part for raw in part[0])
    merged = [
        _recode(part, codes) if part else np.zeros(len(rows), np.int32)
        for part, (_, rows) in zip(used, parts, strict=True)
    ]
    return Column(values, np.concatenate(merged))


def merge_lists(parts: Sequence[tuple[ListColumn | None, NDArray[np.int32]]]) -> ListColumn:
    """The same for lists; each part says by row where it goes, or -1."""
    pieces = [_elements(column, places) for column, places in parts if column]
    used = [_used(column.values, codes) for column, codes, _ in pieces]
    values, known = collect_values(raw for part in used for raw in part[0])
    codes = [_recode(part, known) for part in used]
    rows = [rows for _, _, rows in pieces]
    empty = np.zeros(0, np.int32)
    return list_column(values, np.concatenate([empty, *rows]), np.concatenate([empty, *codes]))


def _elements(
    column: ListColumn, places: NDArray[np.int32]
) -> tuple[ListColumn, NDArray[np.int32], NDArray[np.int32]]:
    codes = np.repeat(np.arange(len(column.values), dtype=np.int32), np.diff(column.offsets))
    rows = places[column.rows]
    kept = rows >= 0
    return column, codes[kept], rows[kept]


_Used = tuple[list[Number | bytes], NDArray[np.int32], NDArray[np.intp]]


def _used(values: Values, codes: NDArray[np.int32]) -> _Used:
    """The values that occur, the codes that occur, and which of these each place has."""
    present, places = np.unique(codes, return_inverse=True)
    return [values.raw(code) for code in present.tolist() if code >= FIRST], present, places


def _recode(part: _Used, known: dict[object, int]) -> NDArray[np.int32]:
    raw, present, places = part
    fresh = present.astype(np.int32, copy=True)
    fresh[len(present) - len(raw) :] = [known[value_key(value)] for value in raw]
    return fresh[places]


def _scalar(value: Any) -> Any:
    """What a filter can compare with: text in UTF-8, numbers, None; Ellipsis stands for everything else."""
    if value is None or isinstance(value, int | float):
        return value
    return value.encode() if isinstance(value, str) else Ellipsis


def _key(value: Any) -> object:
    return ("bool", value) if isinstance(value, bool) else value
