"""One encoder, made twice: as a graph for onnxruntime and in numpy."""

import platform
from pathlib import Path

import numpy as np
import pytest

from kosmos.encoders.bert_graph import Pooling, Shape, bert_model, quantize, safe_steps
from kosmos.encoders.bert_numpy import run_numpy
from kosmos.encoders.runtime import run_graph
from kosmos.encoders.safetensors import Weights

from .tiny_models import CONFIG, WIDTH, make_bert

SHAPE = Shape.of(CONFIG)


@pytest.fixture
def weights(tmp_path: Path) -> Weights:
    return Weights(make_bert(tmp_path / "bert") / "model.safetensors")


@pytest.mark.parametrize("pooling", list(Pooling))
@pytest.mark.parametrize("length", [1, 2, 32])
def test_both_give_the_same(weights: Weights, pooling: Pooling, length: int) -> None:
    rows = np.random.default_rng(length).standard_normal((length, WIDTH)).astype(np.float32)
    graph = run_graph(bert_model(weights, SHAPE, pooling=pooling))(rows)
    plain = run_numpy(weights, SHAPE, pooling=pooling)(rows)
    np.testing.assert_allclose(graph, plain, atol=2e-6)
    assert np.linalg.norm(graph) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("steps", [127, 63])
def test_whole_numbers_come_close(weights: Weights, steps: int) -> None:
    rows = np.random.default_rng(5).standard_normal((20, WIDTH)).astype(np.float32)
    exact = run_numpy(weights, SHAPE)(rows)
    rounded = run_graph(bert_model(weights, SHAPE, steps=steps))(rows)
    assert 0.99 < float(exact @ rounded) < 1 + 1e-6
    assert not np.array_equal(exact, rounded)


def test_quantizing_keeps_columns_apart() -> None:
    matrix = np.array([[1.0, 1000.0, 0.0], [-0.5, 10.0, 0.0]], np.float32)
    whole, scales = quantize(matrix, 127)
    assert whole.dtype == np.int8
    assert np.abs(whole).max() == 127
    np.testing.assert_allclose(whole * scales, matrix, atol=np.abs(matrix).max(axis=0).max() / 254)
    assert abs(float(whole[1, 0] * scales[0]) + 0.5) < 0.01  # the large column costs the small one nothing


def test_steps_depend_on_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    told = "flags : avx2"
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: told)
    for machine, text, expected in (
        ("x86_64", "flags : avx2", 63),
        ("x86_64", "flags : avx512_vnni", 127),
        ("aarch64", "flags : avx2", 127),
    ):
        told = text
        monkeypatch.setattr(platform, "machine", lambda machine=machine: machine)
        assert safe_steps() == expected
