"""A segment as one file that is mapped into memory: arrays, then a table of contents, then its checksum."""

import json
import mmap
import os
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kosmos.store.columns import Column, ListColumn
from kosmos.store.postings import Postings
from kosmos.store.segments import Segment
from kosmos.store.values import Texts, Values, numbers_json

_ALIGN = 64
_TRAILER = struct.Struct("<QI8s")  # length and checksum of the table of contents, magic
_MAGIC = b"KOSMSEG1"
Take = Callable[[int], NDArray[Any]]


class DamagedFile(Exception):
    """A file of the index is not what it should be."""


def write_segment(path: Path, segment: Segment) -> int:
    """Write the file as a whole or not at all, safe on the disk; how large it is."""
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    with temporary.open("wb") as file:
        _write(file, segment)
        file.flush()
        os.fsync(file.fileno())
        size = file.tell()
    temporary.replace(path)
    sync_folder(path.parent)
    return size


def sync_folder(folder: Path) -> None:
    """Make new names in a folder safe on the disk."""
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def map_file(path: Path) -> NDArray[np.uint8]:
    """The bytes of a file, read when they are looked at."""
    with path.open("rb") as file:
        if not os.fstat(file.fileno()).st_size:
            return np.zeros(0, np.uint8)
        return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)


def open_segment(path: Path) -> Segment:
    """Map a segment; DamagedFile when its table of contents is not intact."""
    data = map_file(path)
    contents = _contents(data, path)

    def take(number: int) -> NDArray[Any]:
        kind, start, count = contents["arrays"][number]
        return np.frombuffer(data, kind, count, start) if count else np.zeros(0, kind)

    return Segment(
        slots=take(contents["slots"]),
        columns={name: Column(_values(take, at), take(at[3])) for name, at in contents["columns"].items()},
        lists={
            name: ListColumn(_values(take, at), take(at[3]), take(at[4]))
            for name, at in contents["lists"].items()
        },
        routes={name: Postings(*map(take, at)) for name, at in contents["routes"].items()},
        deferred=frozenset(contents["deferred"]),
    )


def _contents(data: NDArray[np.uint8], path: Path) -> dict[str, Any]:
    end = len(data) - _TRAILER.size
    if end < 0:
        raise DamagedFile(f"{path.name} is cut short")
    length, checksum, magic = _TRAILER.unpack(data[end:].tobytes())
    text = data[max(0, end - length) : end].tobytes()
    if magic != _MAGIC or len(text) != length or zlib.crc32(text) != checksum:
        raise DamagedFile(f"{path.name} is damaged")
    contents: dict[str, Any] = json.loads(text)
    return contents


def _values(take: Take, at: list[int]) -> Values:
    return Values(tuple(json.loads(take(at[0]).tobytes())), Texts(take(at[1]), take(at[2])))


def _write(file: Any, segment: Segment) -> None:
    arrays: list[tuple[str, int, int]] = []

    def put(array: NDArray[Any]) -> int:
        file.write(b"\0" * (-file.tell() % _ALIGN))
        arrays.append((array.dtype.str, file.tell(), len(array)))
        file.write(np.ascontiguousarray(array).data)
        return len(arrays) - 1

    def put_values(values: Values) -> list[int]:
        numbers = np.frombuffer(numbers_json(values), np.uint8)
        return [put(numbers), put(values.texts.block), put(values.texts.offsets)]

    contents = {
        "slots": put(segment.slots),
        "columns": {name: [*put_values(c.values), put(c.codes)] for name, c in segment.columns.items()},
        "lists": {
            name: [*put_values(c.values), put(c.offsets), put(c.rows)] for name, c in segment.lists.items()
        },
        "routes": {
            name: [put(p.terms), put(p.offsets), put(p.rows), put(p.weights)]
            for name, p in segment.routes.items()
        },
        "deferred": sorted(segment.deferred),
        "arrays": arrays,
    }
    text = json.dumps(contents).encode()
    file.write(text)
    file.write(_TRAILER.pack(len(text), zlib.crc32(text), _MAGIC))
