"""The graph of a BERT encoder, made from its weights: rows of words in, one vector of unit length out.

There is no mask: one text is encoded at a time, so nothing is ever padded. See docs/design/encoders.md for
why these operators and not the fused attention of onnxruntime.
"""

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kosmos.encoders.onnx_graph import MICROSOFT, Graph
from kosmos.encoders.safetensors import Weights
from kosmos.store.rows import Dense

INPUT, OUTPUT = "inputs_embeds", "vectors"


class Pooling(StrEnum):
    """Which of a text's tokens its vector is made of."""

    MEAN = "mean"
    FIRST = "cls"
    LAST = "lasttoken"


@dataclass(frozen=True, slots=True)
class Shape:
    """The measures of a BERT encoder."""

    layers: int
    heads: int
    width: int
    positions: int
    epsilon: float

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> "Shape":
        """As a `config.json` gives them."""
        return cls(
            layers=int(config["num_hidden_layers"]),
            heads=int(config["num_attention_heads"]),
            width=int(config["hidden_size"]),
            positions=int(config["max_position_embeddings"]),
            epsilon=float(config.get("layer_norm_eps", 1e-12)),
        )


@dataclass(frozen=True, slots=True)
class _Maker:
    """Puts the parts of one encoder together. `steps` is 0 for float32, else the steps of a weight."""

    graph: Graph
    weights: Weights
    shape: Shape
    steps: int

    def linear(self, value: str, names: list[str], out: str) -> str:
        """A layer that multiplies and adds; several of them side by side in one go."""
        matrix = np.concatenate([self.weights[f"{name}.weight"].T for name in names], axis=1)
        bias = self.graph.constant(
            f"{out}.bias", np.concatenate([self.weights[f"{name}.bias"] for name in names])
        )
        if not self.steps:
            made = self.graph.node("MatMul", [value, self.graph.constant(f"{out}.m", matrix)], f"{out}.x")
            return self.graph.node("Add", [made, bias], out)
        whole, scales = quantize(matrix, self.steps)
        given = [value, self.graph.constant(f"{out}.q", whole), self.graph.constant(f"{out}.s", scales)]
        return self.graph.node("DynamicQuantizeMatMul", [*given, "", bias], out, domain=MICROSOFT)

    def norm(self, value: str, name: str, out: str) -> str:
        """A layer norm."""
        gain = self.graph.constant(f"{out}.gain", self.weights[f"{name}.weight"])
        bias = self.graph.constant(f"{out}.bias", self.weights[f"{name}.bias"])
        epsilon = self.shape.epsilon
        return self.graph.node("LayerNormalization", [value, gain, bias], out, epsilon=epsilon, axis=-1)

    def words(self) -> str:
        """The rows of the words with those of their places."""
        places = self.weights["embeddings.position_embeddings.weight"]
        kinds = self.weights["embeddings.token_type_embeddings.weight"]
        graph = self.graph
        graph.constant("zero", np.array([0], np.int64))
        graph.constant("one", np.array([1], np.int64))
        graph.node("Shape", [INPUT], "length", start=1, end=2)
        table = graph.constant("places", places + kinds[0])
        graph.node("Slice", [table, "zero", "length", "zero"], "here")
        return self.norm(graph.node("Add", [INPUT, "here"], "words"), "embeddings.LayerNorm", "h0")

    def layer(self, number: int, value: str) -> str:
        """One layer: attention, then two linear ones, each added to what came in."""
        name, graph, out = f"encoder.layer.{number}", self.graph, f"l{number}"
        parts = [f"{name}.attention.self.{part}" for part in ("query", "key", "value")]
        three = self.linear(value, parts, f"{out}.qkv")
        split = [f"{out}.q", f"{out}.k", f"{out}.v"]
        graph.node("Split", [three], *split, axis=-1, num_outputs=3)
        heads = self.shape.heads
        seen = graph.node("MultiHeadAttention", split, f"{out}.seen", domain=MICROSOFT, num_heads=heads)
        value = self.added(seen, value, f"{name}.attention.output", f"{out}.a")
        wide = self.linear(value, [f"{name}.intermediate.dense"], f"{out}.wide")
        bent = graph.node("Gelu", [wide], f"{out}.bent")
        return self.added(bent, value, f"{name}.output", f"{out}.b")

    def added(self, value: str, before: str, name: str, out: str) -> str:
        """A linear layer, added to what came before, and the norm of both."""
        made = self.linear(value, [f"{name}.dense"], f"{out}.d")
        both = self.graph.node("Add", [made, before], f"{out}.sum")
        return self.norm(both, f"{name}.LayerNorm", out)


def bert_model(weights: Weights, shape: Shape, *, pooling: Pooling = Pooling.MEAN, steps: int = 0) -> bytes:
    """The model, in float32 or with weights of so many steps to either side."""
    maker = _Maker(Graph(), weights, shape, steps)
    value = maker.words()
    for number in range(shape.layers):
        value = maker.layer(number, value)
    graph = maker.graph
    if pooling is Pooling.MEAN:
        pooled = graph.node("ReduceMean", [value, "one"], "pooled", keepdims=0)
    else:
        place = graph.constant("place", np.array(0 if pooling is Pooling.FIRST else -1, np.int64))
        pooled = graph.node("Gather", [value, place], "pooled", axis=1)
    graph.node("LpNormalization", [pooled], OUTPUT, axis=-1, p=2)
    width = shape.width
    return graph.model(
        {INPUT: ("float32", ("texts", "tokens", width))}, {OUTPUT: ("float32", ("texts", width))}
    )


def quantize(matrix: Dense, steps: int) -> tuple[NDArray[np.int8], Dense]:
    """The matrix in whole numbers, and what each column must be multiplied with."""
    scales = np.abs(matrix).max(axis=0) / np.float32(steps)
    scales[scales == 0] = 1.0
    return np.rint(matrix / scales).astype(np.int8), scales.astype(np.float32)


def safe_steps() -> int:
    """How many steps a weight may have so that sums do not overflow in the processor's registers.

    x86 without VNNI adds two products in 16 bits, which holds for weights of 7 bits only.
    """
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return 127
    try:
        return 127 if "vnni" in Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace") else 63
    except OSError:
        return 63
