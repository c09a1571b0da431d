"""Reading safetensors: every kind of number, and nothing that is damaged."""

import json
from pathlib import Path

import numpy as np
import pytest

from kosmos.encoders.safetensors import Weights
from kosmos.errors import DataLost

from .tiny_models import write_safetensors


def test_numbers_of_every_width(tmp_path: Path) -> None:
    whole = np.array([[1.5, -2.25], [0.0, 3e10]], np.float32)
    path = tmp_path / "a.safetensors"
    halves = (np.array([1.5, -3.0], np.float32).view(np.uint32) >> 16).astype(np.uint16)
    write_safetensors(path, {"w": whole, "x.h": np.array([0.5], np.float16), "b": halves})
    weights = Weights(path)
    assert (weights["w"] == whole).all()
    assert weights["x.h"].tolist() == [0.5]
    assert weights["b"].tolist() == [1.5, -3.0]
    assert {weights[name].dtype for name in ("w", "x.h", "b")} == {np.dtype(np.float32)}
    assert Weights(path, prefix="x.")["h"].tolist() == [0.5]
    assert "h" in Weights(path, prefix="x.")
    assert "h" not in weights


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x01",
        (10**12).to_bytes(8, "little") + b"{}",
        (2).to_bytes(8, "little") + b"[]",
        (2).to_bytes(8, "little") + b"{x",
    ],
)
def test_damaged_files_are_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.safetensors"
    path.write_bytes(data)
    with pytest.raises(DataLost, match="cannot be read"):
        Weights(path)


@pytest.mark.parametrize(
    "told",
    [
        {"dtype": "F32", "shape": [3], "data_offsets": [0, 8]},
        {"dtype": "F32", "shape": [2], "data_offsets": [0, 800]},
        {"dtype": "I64", "shape": [1], "data_offsets": [0, 8]},
        {"dtype": "F32", "shape": [2]},
    ],
)
def test_a_table_that_lies_is_refused(tmp_path: Path, told: object) -> None:
    head = json.dumps({"w": told}).encode()
    path = tmp_path / "a.safetensors"
    path.write_bytes(len(head).to_bytes(8, "little") + head + bytes(8))
    weights = Weights(path)
    with pytest.raises(DataLost):
        weights["w"]
    with pytest.raises(DataLost, match="it has no v"):
        weights["v"]
