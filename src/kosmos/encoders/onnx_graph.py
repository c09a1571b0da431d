"""Writes ONNX models: the few message types of the format that a graph needs, without the `onnx` package."""

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

IR_VERSION = 10
OPSET = 20
MICROSOFT = "com.microsoft"  # the fused operators of onnxruntime
_KINDS = {"float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7}
Shape = Sequence[str | int]


class Graph:
    """A graph in the making: constants and nodes in the order in which they are added."""

    def __init__(self) -> None:
        self._nodes: list[bytes] = []
        self._constants: dict[str, bytes] = {}

    def constant(self, name: str, value: NDArray[Any]) -> str:
        """Add a constant; its name, to be used as an input."""
        dims = b"".join(_number(1, size) for size in value.shape)
        raw = np.ascontiguousarray(value).tobytes()
        self._constants[name] = dims + _number(2, _KINDS[str(value.dtype)]) + _text(8, name) + _bytes(9, raw)
        return name

    def node(self, operator: str, inputs: Sequence[str], *outputs: str, **attributes: Any) -> str:
        """Add a node; the name of its first output. `domain` names another set of operators."""
        domain = attributes.pop("domain", "")
        parts = [_text(1, name) for name in inputs]
        parts += [_text(2, name) for name in outputs]
        parts += [_text(3, outputs[0]), _text(4, operator)]
        parts += [_bytes(5, _attribute(name, value)) for name, value in attributes.items()]
        self._nodes.append(b"".join([*parts, _text(7, domain)]))
        return outputs[0]

    def model(
        self, inputs: Mapping[str, tuple[str, Shape]], outputs: Mapping[str, tuple[str, Shape]]
    ) -> bytes:
        """The finished model; inputs and outputs by name, with their kind of number and their shape."""
        body = [_bytes(1, node) for node in self._nodes]
        body += [_text(2, "kosmos")]
        body += [_bytes(5, constant) for constant in self._constants.values()]
        body += [_bytes(11, _value(name, *told)) for name, told in inputs.items()]
        body += [_bytes(12, _value(name, *told)) for name, told in outputs.items()]
        sets = [_text(1, "") + _number(2, OPSET), _text(1, MICROSOFT) + _number(2, 1)]
        parts = [_number(1, IR_VERSION), _text(2, "kosmos"), _bytes(7, b"".join(body))]
        return b"".join([*parts, *(_bytes(8, known) for known in sets)])


def _attribute(name: str, value: Any) -> bytes:
    """Texts, whole numbers, other numbers and lists of whole numbers."""
    if isinstance(value, int):
        return _text(1, name) + _number(3, value) + _number(20, 2)
    if isinstance(value, float):
        return _text(1, name) + _key(2, 5) + struct.pack("<f", value) + _number(20, 1)
    if isinstance(value, str):
        return _text(1, name) + _text(4, value) + _number(20, 3)
    return _text(1, name) + b"".join(_number(8, item) for item in value) + _number(20, 7)


def _value(name: str, kind: str, shape: Shape) -> bytes:
    dims = b"".join(
        _bytes(1, _number(1, size) if isinstance(size, int) else _text(2, size)) for size in shape
    )
    tensor = _number(1, _KINDS[kind]) + _bytes(2, dims)
    return _text(1, name) + _bytes(2, _bytes(1, tensor))


def _varint(value: int) -> Iterator[int]:
    value &= 2**64 - 1
    while value > 0x7F:
        yield value & 0x7F | 0x80
        value >>= 7
    yield value


def _key(field: int, wire: int) -> bytes:
    return bytes(_varint(field << 3 | wire))


def _number(field: int, value: int) -> bytes:
    return _key(field, 0) + bytes(_varint(value))


def _bytes(field: int, value: bytes) -> bytes:
    return _key(field, 2) + bytes(_varint(len(value))) + value


def _text(field: int, value: str) -> bytes:
    return _bytes(field, value.encode())
