"""A BERT encoder in float32 by numpy alone: where onnxruntime cannot be had, slower and just as good."""

from collections.abc import Callable

import numpy as np

from kosmos.encoders.bert_graph import Pooling, Shape
from kosmos.encoders.runtime import Run
from kosmos.encoders.safetensors import Weights
from kosmos.store.rows import Dense


def run_numpy(weights: Weights, shape: Shape, *, pooling: Pooling = Pooling.MEAN) -> Run:
    """The same encoder in float32 by numpy alone."""
    layers = [_Layer(weights, shape, number) for number in range(shape.layers)]
    places = weights["embeddings.position_embeddings.weight"]
    places = places + weights["embeddings.token_type_embeddings.weight"][0]
    first = _norm(weights, "embeddings.LayerNorm", shape)

    def run(rows: Dense) -> Dense:
        value = first(rows + places[: len(rows)])
        for layer in layers:
            value = layer(value)
        pooled = (
            value.mean(axis=0) if pooling is Pooling.MEAN else value[0 if pooling is Pooling.FIRST else -1]
        )
        vector: Dense = pooled / np.linalg.norm(pooled)
        return vector

    return run


class _Layer:
    """One layer of BERT."""

    def __init__(self, weights: Weights, shape: Shape, number: int) -> None:
        name = f"encoder.layer.{number}"
        inner = [f"{name}.attention.self.{part}" for part in ("query", "key", "value")]
        self._three = [_linear(weights, part) for part in inner]
        self._seen = _linear(weights, f"{name}.attention.output.dense")
        self._wide = _linear(weights, f"{name}.intermediate.dense")
        self._back = _linear(weights, f"{name}.output.dense")
        self._first = _norm(weights, f"{name}.attention.output.LayerNorm", shape)
        self._last = _norm(weights, f"{name}.output.LayerNorm", shape)
        self._heads = shape.heads

    def __call__(self, value: Dense) -> Dense:
        count, width = value.shape
        split = (count, self._heads, width // self._heads)
        query, key, content = (part(value).reshape(split).swapaxes(0, 1) for part in self._three)
        scores = query @ key.swapaxes(1, 2) / np.float32(np.sqrt(split[2]))
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        scores /= scores.sum(axis=-1, keepdims=True)
        seen = (scores @ content).swapaxes(0, 1).reshape(count, width)
        value = self._first(value + self._seen(seen))
        return self._last(value + self._back(_gelu(self._wide(value))))


def _linear(weights: Weights, name: str) -> Callable[[Dense], Dense]:
    matrix, bias = np.array(weights[f"{name}.weight"].T, order="C"), weights[f"{name}.bias"]
    return lambda value: value @ matrix + bias


def _norm(weights: Weights, name: str, shape: Shape) -> Callable[[Dense], Dense]:
    gain, bias = weights[f"{name}.weight"], weights[f"{name}.bias"]
    epsilon = np.float32(shape.epsilon)

    def norm(value: Dense) -> Dense:
        centred = value - value.mean(axis=-1, keepdims=True)
        spread = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + epsilon)
        scaled: Dense = centred / spread * gain + bias
        return scaled

    return norm


def _gelu(value: Dense) -> Dense:
    """x·Φ(x); the error function by a polynomial that is right to seven digits (Abramowitz and Stegun)."""
    size = np.abs(value) * np.float32(0.7071067811865476)
    part = 1 / (1 + np.float32(0.3275911) * size)
    terms = (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)
    total = np.zeros_like(part)
    for term in terms:
        total = (total + np.float32(term)) * part
    erf = np.copysign(1 - total * np.exp(-size * size), value)
    bent: Dense = value * (1 + erf) * np.float32(0.5)
    return bent
