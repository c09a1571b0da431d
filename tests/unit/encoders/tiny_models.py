"""Tiny models, made on the spot: a BERT of safetensors, graphs of ONNX, tokenizers."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
from numpy.typing import NDArray

from kosmos.encoders.onnx_graph import Graph

WIDTH = 8
WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "pump", "oil", "the", "blue", "泵", "油", "##s", "!")
CONFIG = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "hidden_size": WIDTH,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "max_position_embeddings": 32,
    "layer_norm_eps": 1e-12,
}


def write_json(path: Path, value: Any) -> None:
    """A small file of a model folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


def write_safetensors(path: Path, tensors: Mapping[str, NDArray[Any]]) -> None:
    """Tensors in the form that safetensors gives them; uint16 stands for bfloat16."""
    kinds = {"float32": "F32", "float16": "F16", "uint16": "BF16"}
    head: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    parts, done = [], 0
    for name, value in tensors.items():
        raw = value.tobytes()
        place = [done, done + len(raw)]
        head[name] = {"dtype": kinds[str(value.dtype)], "shape": list(value.shape), "data_offsets": place}
        parts.append(raw)
        done += len(raw)
    text = json.dumps(head).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(parts))


def bert_tensors(seed: int = 0) -> dict[str, NDArray[np.float32]]:
    """The weights of a BERT that has learnt nothing."""
    rng = np.random.default_rng(seed)

    def some(*shape: int) -> NDArray[np.float32]:
        return (rng.standard_normal(shape) * 0.3).astype(np.float32)

    found = {
        "embeddings.word_embeddings.weight": some(len(WORDS), WIDTH),
        "embeddings.position_embeddings.weight": some(32, WIDTH),
        "embeddings.token_type_embeddings.weight": some(2, WIDTH),
    }
    sizes = {f"attention.self.{part}": (WIDTH, WIDTH) for part in ("query", "key", "value")}
    sizes |= {"attention.output.dense": (WIDTH, WIDTH)}
    sizes |= {"intermediate.dense": (16, WIDTH), "output.dense": (WIDTH, 16)}
    norms = ["embeddings.LayerNorm"]
    for layer in range(2):
        for name, size in sizes.items():
            found[f"encoder.layer.{layer}.{name}.weight"] = some(*size)
            found[f"encoder.layer.{layer}.{name}.bias"] = some(size[0])
        norms += [f"encoder.layer.{layer}.{part}.LayerNorm" for part in ("attention.output", "output")]
    for name in norms:
        found[f"{name}.weight"] = 1 + some(WIDTH)
        found[f"{name}.bias"] = some(WIDTH)
    return found


def make_folder(folder: Path, *, pooling: str | None = "mean_tokens", **config: Any) -> Path:
    """A folder as sentence-transformers writes it, without a model in it yet."""
    write_json(folder / "config.json", {**CONFIG, **config})
    if pooling is not None:
        kinds = [("", "Transformer"), ("1_Pooling", "Pooling")]
        modules = [{"path": at, "type": f"sentence_transformers.models.{kind}"} for at, kind in kinds]
        write_json(folder / "modules.json", modules)
        write_json(folder / "1_Pooling" / "config.json", {f"pooling_mode_{pooling}": True})
    return folder


def make_bert(folder: Path, *, prefix: str = "", **options: Any) -> Path:
    """A whole folder of a tiny BERT."""
    make_folder(folder, **options)
    tensors = {prefix + name: value for name, value in bert_tensors().items()}
    write_safetensors(folder / "model.safetensors", tensors)
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n", encoding="utf-8")
    return folder


def put_tokenizer(folder: Path) -> None:
    """Words are tokens; a start and an end stand around them."""
    words = {word: number for number, word in enumerate(WORDS)}
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="[UNK]"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    made.add_special_tokens(["[PAD]", "[CLS]", "[SEP]"])
    made.save(str(folder / "tokenizer.json"))


def token_table() -> NDArray[np.float32]:
    """What the tiny graph makes of each token, before its place is added."""
    return np.random.default_rng(3).standard_normal((len(WORDS), WIDTH)).astype(np.float32)


def put_graph(
    path: Path, *, extra: tuple[str, ...] = (), past: bool = False, output: str = "last_hidden_state"
) -> None:
    """A graph that looks each token up; with more inputs, their sum is added, so that a wrong one shows."""
    graph = Graph()
    value = graph.node("Gather", [graph.constant("table", token_table()), "input_ids"], "rows", axis=0)
    inputs: dict[str, tuple[str, Any]] = {"input_ids": ("int64", ("b", "s"))}
    for name in extra:
        inputs[name] = ("int64", ("b", "s"))
        cast = graph.node("Cast", [name], f"{name}.f", to=1)
        wide = graph.node("Unsqueeze", [cast, graph.constant(f"{name}.a", np.array([2]))], f"{name}.w")
        value = graph.node("Add", [value, wide], f"{name}.sum")
    if past:
        inputs["past_key_values.0.key"] = ("float32", ("b", 2, "past", WIDTH))
        total = graph.node("ReduceSum", ["past_key_values.0.key"], "nothing", keepdims=0)
        value = graph.node("Add", [value, total], "with_past")
    shape: tuple[str | int, ...] = ("b", "s", WIDTH)
    if output == "sentence_embedding":
        value = graph.node("ReduceMax", [value, graph.constant("one", np.array([1]))], "best", keepdims=0)
        shape = ("b", WIDTH)
    graph.node("Identity", [value], output)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(graph.model(inputs, {output: ("float32", shape)}))
