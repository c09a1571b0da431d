"""Sparse vectors as bytes: a line of JSON with the routes and their sizes, then terms and weights."""

import json
import struct
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from kosmos.store.rows import Sparse


def pack_vectors(vectors: Mapping[str, Sparse]) -> bytes:
    """The vectors of all routes of a row; the same ones give the same bytes on every machine."""
    head = json.dumps({route: len(vector) for route, vector in vectors.items()}).encode()
    numbers = [struct.pack(_form(len(vector)), *vector, *vector.values()) for vector in vectors.values()]
    return b"".join([head, b"\n", *numbers])


def unpack_vectors(data: object) -> dict[str, Sparse]:
    """What was packed; struct.error or JSONDecodeError when it is damaged, or was written in another form."""
    if not isinstance(data, bytes):
        raise struct.error("the vectors of a row are not bytes")
    head, _, body = data.partition(b"\n")
    vectors: dict[str, Sparse] = {}
    start = 0
    for route, count in json.loads(head).items():
        numbers = struct.unpack_from(_form(count), body, start)
        vectors[route] = dict(zip(numbers[:count], numbers[count:], strict=True))
        start += struct.calcsize(_form(count))
    return vectors


def unpack_arrays(data: object) -> Iterator[tuple[str, NDArray[np.uint32], NDArray[np.float64]]]:
    """The same as arrays: route, terms and weights."""
    if not isinstance(data, bytes):
        raise struct.error("the vectors of a row are not bytes")
    start = data.find(b"\n") + 1
    sizes = json.loads(data[:start])
    if len(data) != start + 12 * sum(sizes.values()):
        raise struct.error("the vectors of a row are cut short")
    for route, count in sizes.items():
        terms = np.frombuffer(data, "<u4", count, start)
        yield route, terms, np.frombuffer(data, "<f8", count, start + 4 * count)
        start += 12 * count


def _form(count: int) -> str:
    """Terms of 4 bytes, then weights of 8, little end first."""
    return f"<{count}I{count}d"
