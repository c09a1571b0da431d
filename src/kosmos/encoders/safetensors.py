"""Reads safetensors files without copying them: a table of contents, then numbers."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kosmos.errors import DataLost
from kosmos.store.rows import Dense

MAX_HEAD = 100 * 2**20
_KINDS = {"F32": np.float32, "F16": np.float16, "F64": np.float64}


class Weights:
    """The tensors of a file by name, mapped into memory; half precision is widened when it is read."""

    def __init__(self, path: Path, *, prefix: str = "") -> None:
        self.path = path
        self._prefix = prefix
        try:
            self._head, self._data = _open(path)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise _damaged(path, str(error)) from None

    def __contains__(self, name: str) -> bool:
        return self._prefix + name in self._head

    def __getitem__(self, name: str) -> Dense:
        """The tensor of that name as float32."""
        told = self._head.get(self._prefix + name)
        if told is None:
            raise _damaged(self.path, f"it has no {name}")
        try:
            (start, end), kind, shape = told["data_offsets"], told["dtype"], told["shape"]
            if not 0 <= start <= end <= len(self._data):
                raise ValueError("it lies outside of the file")
            if kind == "BF16":
                return _widen(self._data[start:end].view(np.uint16)).reshape(shape)
            values = self._data[start:end].view(_KINDS[kind]).reshape(shape)
        except (ValueError, KeyError, TypeError) as error:
            raise _damaged(self.path, f"{name}: {error}") from None
        return values.astype(np.float32, copy=False)


def _open(path: Path) -> tuple[dict[str, Any], NDArray[np.uint8]]:
    mapped: NDArray[np.uint8] = np.memmap(path, dtype=np.uint8, mode="r")
    size = int.from_bytes(mapped[:8].tobytes(), "little")
    if len(mapped) < 8 or size > min(MAX_HEAD, len(mapped) - 8):
        raise ValueError("its table of contents is cut off")
    head = json.loads(mapped[8 : 8 + size].tobytes())
    head.pop("__metadata__", None)
    return head, mapped[8 + size :]


def _widen(halves: NDArray[np.uint16]) -> Dense:
    """bfloat16 is the upper half of a float32."""
    return (halves.astype(np.uint32) << 16).view(np.float32)


def _damaged(path: Path, reason: str) -> DataLost:
    return DataLost(f"The weights {path} cannot be read: {reason}.", remedy="Get the file again.")
