"""The values of a field in order, each with a number: a filter becomes a few spans of numbers."""

import json
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kosmos.store.filters import Scalar

Number = int | float
Span = tuple[int, int]
MISSING = 0  # the code of None
OTHER = 1  # the code of what no filter compares: dictionaries and lists
FIRST = 2


@dataclass(frozen=True, slots=True)
class Texts:
    """Sorted texts as one block of UTF-8, whose order is the order of code points."""

    block: NDArray[np.uint8]
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def raw(self, at: int) -> bytes:
        """One text in UTF-8."""
        return self.block[int(self.offsets[at]) : int(self.offsets[at + 1])].tobytes()

    def all(self) -> list[bytes]:
        """All texts in UTF-8."""
        data = self.block.tobytes()
        return [data[start:end] for start, end in pairwise(self.offsets.tolist())]

    def some(self, at: NDArray[np.signedinteger[Any]]) -> list[str]:
        """Some texts."""
        starts, ends = self.offsets[at].tolist(), self.offsets[at + 1].tolist()
        data = self.block.data
        return [str(data[start:end], "utf-8") for start, end in zip(starts, ends, strict=True)]

    def first(self, holds: Callable[[bytes], bool]) -> int:
        """The first text for which it holds, if it holds for all behind it as well."""
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            if holds(self.raw(middle)):
                high = middle
            else:
                low = middle + 1
        return low


def pack_texts(texts: Sequence[bytes]) -> Texts:
    """A block from sorted texts."""
    offsets = np.zeros(len(texts) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)), out=offsets[1:])
    return Texts(np.frombuffer(b"".join(texts), np.uint8), offsets)


@dataclass(frozen=True, slots=True)
class Values:
    """Numbers in order, then texts in order; the code of a value is its place behind `FIRST`."""

    numbers: tuple[Number, ...]
    texts: Texts

    def __len__(self) -> int:
        return FIRST + len(self.numbers) + len(self.texts)

    def raw(self, code: int) -> Number | bytes:
        """The value of a code that stands for one; texts in UTF-8."""
        at = code - FIRST
        return self.numbers[at] if at < len(self.numbers) else self.texts.raw(at - len(self.numbers))

    def equal(self, value: Scalar) -> Span:
        """The codes of what equals a value; True equals 1, as everywhere in Python."""
        if value is None:
            return MISSING, MISSING + 1
        if isinstance(value, str):
            wanted = _utf8(value)
            at = self.texts.first(lambda text: text >= wanted)
            there = at < len(self.texts) and self.texts.raw(at) == wanted
            return self._texts(at, at + there)
        if value != value:  # NaN  # noqa: PLR0124
            return 0, 0
        return FIRST + bisect_left(self.numbers, value), FIRST + bisect_right(self.numbers, value)

    def between(self, low: Number | str | None, high: Number | str | None) -> list[Span]:
        """The codes of what lies in a range; texts compare with texts, numbers with numbers, bools not."""
        if low is None and high is None:
            return [(OTHER, len(self))]
        if all(bound is None or isinstance(bound, str) for bound in (low, high)):
            return [self._text_range(low, high)]
        if isinstance(low, str) or isinstance(high, str):
            return []
        start = 0 if low is None else bisect_left(self.numbers, low)
        end = len(self.numbers) if high is None else bisect_right(self.numbers, high)
        inside = range(start, end)
        bools = [at for at in self._bools() if at in inside]
        edges = [start - 1, *bools, end]
        return [(FIRST + left + 1, FIRST + right) for left, right in pairwise(edges) if left + 1 < right]

    def starting(self, prefix: str) -> Span:
        """The codes of texts that begin so."""
        wanted = _utf8(prefix)
        start = self.texts.first(lambda text: text >= wanted)
        end = self.texts.first(lambda text: text[: len(wanted)] > wanted)
        return self._texts(start, max(start, end))

    def _texts(self, start: int, end: int) -> Span:
        skip = FIRST + len(self.numbers)
        return skip + start, skip + end

    def _text_range(self, low: Number | str | None, high: Number | str | None) -> Span:
        start, end = 0, len(self.texts)
        if isinstance(low, str):
            least = _utf8(low)
            start = self.texts.first(lambda text: text >= least)
        if isinstance(high, str):
            most = _utf8(high)
            end = self.texts.first(lambda text: text > most)
        return self._texts(start, max(start, end))

    def _bools(self) -> list[int]:
        """Where True and False stand; each is the last of its equals."""
        places = [bisect_right(self.numbers, value) - 1 for value in (False, True)]
        return [at for at in places if at >= 0 and isinstance(self.numbers[at], bool)]


def collect_values(raw: Iterable[Number | bytes]) -> tuple[Values, dict[object, int]]:
    """Values in order, and the code of each by its `value_key`."""
    numbers: dict[object, Number] = {}
    texts: set[bytes] = set()
    for value in raw:
        if isinstance(value, bytes):
            texts.add(value)
        else:
            numbers[value_key(value)] = value
    ordered = sorted(numbers.values(), key=lambda value: (value, isinstance(value, bool)))
    words = sorted(texts)
    keys = [*map(value_key, ordered), *words]
    return Values(tuple(ordered), pack_texts(words)), {key: FIRST + at for at, key in enumerate(keys)}


def value_key(value: Number | bytes) -> object:
    """What tells values apart: bools are no numbers in a range, although they equal some."""
    return ("bool", value) if isinstance(value, bool) else value


def numbers_json(values: Values) -> bytes:
    """The numbers as JSON, which keeps whole numbers, floats and bools apart."""
    return json.dumps(values.numbers).encode()


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
