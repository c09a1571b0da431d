"""Models that we write are models to onnxruntime."""

import numpy as np
import pytest

from kosmos.encoders.onnx_graph import MICROSOFT, Graph
from kosmos.encoders.runtime import Port, Session
from kosmos.errors import ConfigError


def test_a_graph_with_every_kind_of_attribute_runs() -> None:
    graph = Graph()
    matrix = graph.constant("m", np.arange(6, dtype=np.float32).reshape(2, 3))
    product = graph.node("MatMul", ["x", matrix], "product")
    turned = graph.node("Transpose", [product], "turned", perm=[1, 0])
    leaky = graph.node("LeakyRelu", [turned], "leaky", alpha=0.5)
    graph.node("Gelu", [leaky], "bent", approximate="none")
    graph.node("Split", [turned], "first", "rest", axis=0, num_outputs=2)
    graph.node("BiasGelu", ["x", graph.constant("b", np.zeros(2, np.float32))], "fused", domain=MICROSOFT)
    outputs = dict.fromkeys(("turned", "bent", "first", "rest", "fused"), ("float32", ("a", "b")))
    session = Session(graph.model({"x": ("float32", ("n", 2))}, outputs))

    given = np.array([[1.0, -1.0], [-2.0, 0.5]], np.float32)
    turned_to, bent, first, rest, fused = session.run({"x": given})

    expected = (given @ np.arange(6, dtype=np.float32).reshape(2, 3)).T
    np.testing.assert_allclose(turned_to, expected)
    np.testing.assert_allclose(np.concatenate([first, rest]), expected)
    assert (np.sign(bent) == np.sign(expected)).all()
    assert fused.shape == (2, 2)
    assert session.inputs == {"x": Port("tensor(float)", ("n", 2))}
    assert list(session.outputs) == list(outputs)


def test_kinds_of_numbers_and_sizes_survive() -> None:
    graph = Graph()
    big = np.arange(300, dtype=np.int64) - 150
    graph.node("Add", ["x", graph.constant("big", big)], "y")
    for name, kind in (("i8", np.int8), ("u8", np.uint8), ("i32", np.int32)):
        graph.node("Identity", [graph.constant(name, np.array([1, 2], kind))], f"{name}.out")
    kinds = {"y": "int64", "i8.out": "int8", "u8.out": "uint8", "i32.out": "int32"}
    outputs = {name: (kind, ("n",)) for name, kind in kinds.items()}
    found = Session(graph.model({"x": ("int64", (1,))}, outputs)).run({"x": np.array([-5])})
    assert (found[0] == big - 5).all()
    assert [str(item.dtype) for item in found] == list(kinds.values())


def test_what_is_no_model_is_refused_with_a_remedy() -> None:
    with pytest.raises(ConfigError) as caught:
        Session(b"no model")
    assert caught.value.remedy
    graph = Graph()
    graph.node("Relu", ["x"], "y")
    session = Session(graph.model({"x": ("float32", (2,))}, {"y": ("float32", (2,))}))
    with pytest.raises(ConfigError, match="cannot be run"):
        session.run({"x": np.zeros(3, np.float32)})
