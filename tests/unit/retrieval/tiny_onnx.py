"""Tiny ONNX files, written byte by byte: nothing has to be installed to make them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

FLOAT, INT64 = 1, 7


def _varint(number: int) -> bytes:
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def _field(number: int, value: int | bytes | str) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def node(kind: str, inputs: Sequence[str], output: str, **numbers: int) -> bytes:
    """An operator with whole numbers as attributes."""
    body = b"".join(_field(1, name) for name in inputs) + _field(2, output) + _field(4, kind)
    for name, value in numbers.items():
        body += _field(5, _field(1, name) + _field(3, value) + _field(20, 2))
    return _field(1, body)


def constant(name: str, array: NDArray[np.float32] | NDArray[np.int64]) -> bytes:
    """A tensor that is part of the model."""
    kind = FLOAT if array.dtype == np.float32 else INT64
    dims = b"".join(_field(1, size) for size in array.shape)
    return _field(5, dims + _field(2, kind) + _field(8, name) + _field(9, array.tobytes()))


def _value(name: str, kind: int, shape: Sequence[str | int]) -> bytes:
    sizes = [_field(1, size) if isinstance(size, int) else _field(2, size) for size in shape]
    dims = b"".join(_field(1, size) for size in sizes)
    return _field(1, name) + _field(2, _field(1, _field(1, kind) + _field(2, dims)))


def model(parts: Sequence[bytes], inputs: Sequence[str], output: tuple[str, Sequence[str | int]]) -> bytes:
    """A model whose inputs are whole numbers by batch and place."""
    graph = b"".join(parts) + _field(2, "tiny")
    graph += b"".join(_field(11, _value(name, INT64, ["b", "s"])) for name in inputs)
    graph += _field(12, _value(output[0], FLOAT, output[1]))
    return _field(1, 8) + _field(8, _field(1, "") + _field(2, 13)) + _field(7, graph)


def pair_classifier(weights: NDArray[np.float32], outputs: int = 1) -> bytes:
    """Adds up a weight for each token; with two outputs the first is always 0."""
    parts = [
        constant("w", weights),
        constant("axis", np.array([1], np.int64)),
        node("Gather", ["w", "input_ids"], "g"),
        node("Cast", ["attention_mask"], "m", to=FLOAT),
        node("Mul", ["g", "m"], "p"),
        node("ReduceSum", ["p", "axis"], "one" if outputs == 2 else "logits", keepdims=1),
    ]
    if outputs == 2:
        parts += [
            constant("zero", np.zeros((1,), np.float32)),
            node("Mul", ["one", "zero"], "none"),
            node("Concat", ["none", "one"], "logits", axis=1),
        ]
    return model(parts, ["input_ids", "attention_mask"], ("logits", ["b", outputs]))


def language_model(table: NDArray[np.float32]) -> bytes:
    """After each place, the sum of the rows of all tokens up to there."""
    parts = [
        constant("t", table),
        constant("axis", np.array(1, np.int64)),
        node("Gather", ["t", "input_ids"], "g"),
        node("CumSum", ["g", "axis"], "logits"),
    ]
    inputs = ["input_ids", "attention_mask", "position_ids"]
    return model(parts, inputs, ("logits", ["b", "s", table.shape[1]]))
