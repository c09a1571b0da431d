"""Models of folders, opened for real: tiny ones made here."""

import sys
import types
import zipfile
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kosmos.encoders import folder_models, folder_tokens
from kosmos.encoders.contract import SparseEncoder
from kosmos.encoders.folder import load_folder, open_folder
from kosmos.encoders.folder_card import Choices, read_folder
from kosmos.encoders.folder_models import BertModel, OnnxModel, TorchModel
from kosmos.encoders.folder_sparse import read_head
from kosmos.encoders.vectors import unit
from kosmos.errors import ConfigError

from .tiny_models import (
    WIDTH,
    WORDS,
    make_bert,
    make_folder,
    put_graph,
    put_tokenizer,
    token_table,
    write_safetensors,
)

TEXT = "the blue pump"
TOKENS = [2, WORDS.index("the"), WORDS.index("blue"), WORDS.index("pump"), 3]


def onnx_folder(folder: Path, *, pooling: str | None = "mean_tokens", **options: Any) -> Path:
    make_folder(folder, pooling=pooling, model_type="xlm-roberta")
    put_tokenizer(folder)
    put_graph(folder / "onnx" / "model.onnx", **options)
    return folder


@pytest.mark.parametrize(
    ("pooling", "pooled"),
    [
        ("mean_tokens", lambda rows: rows.mean(axis=0)),
        ("cls_token", lambda rows: rows[0]),
        ("lasttoken", lambda rows: rows[-1]),
    ],
)
def test_pooling_of_a_graph(tmp_path: Path, pooling: str, pooled: Any) -> None:
    model = load_folder(read_folder(onnx_folder(tmp_path / "m", pooling=pooling)))
    assert isinstance(model, OnnxModel)
    np.testing.assert_allclose(model.encode(TEXT), unit(pooled(token_table()[TOKENS])), atol=1e-6)


def test_inputs_that_go_with_the_tokens(tmp_path: Path) -> None:
    names = ("attention_mask", "token_type_ids", "position_ids")
    folder = onnx_folder(tmp_path / "m", pooling="lasttoken", extra=names, past=True)
    expected = token_table()[TOKENS[-1]] + 1 + 0 + (len(TOKENS) - 1)
    np.testing.assert_allclose(load_folder(read_folder(folder)).encode(TEXT), unit(expected), atol=1e-6)


def test_a_graph_that_pools_by_itself(tmp_path: Path) -> None:
    folder = onnx_folder(tmp_path / "m", output="sentence_embedding")
    expected = token_table()[TOKENS].max(axis=0)
    np.testing.assert_allclose(load_folder(read_folder(folder)).encode(TEXT), unit(expected), atol=1e-6)


def test_long_texts_keep_their_end(tmp_path: Path) -> None:
    folder = onnx_folder(tmp_path / "m", pooling="lasttoken")
    model = load_folder(read_folder(folder))
    np.testing.assert_allclose(model.encode("pump " * 500), unit(token_table()[3]), atol=1e-6)
    assert model.encode("").shape == (WIDTH,)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"extra": ("pixel_values",)}, "pixel_values"), ({"output": "logits"}, "gives logits")],
)
def test_graphs_that_do_not_fit(tmp_path: Path, options: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_folder(read_folder(onnx_folder(tmp_path / "m", **options))).encode(TEXT)


def test_a_graph_of_another_width_is_refused(tmp_path: Path) -> None:
    folder = onnx_folder(tmp_path / "m")
    make_folder(folder, model_type="xlm-roberta", hidden_size=WIDTH + 1)
    with pytest.raises(ConfigError, match="9 numbers were expected"):
        load_folder(read_folder(folder)).encode(TEXT)


def test_missing_parts_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = onnx_folder(tmp_path / "m")
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(ConfigError) as caught:
        load_folder(read_folder(folder))
    assert folder_tokens.EXTRA in (caught.value.remedy or "")
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ConfigError, match="no tokenizer"):
        load_folder(read_folder(folder))
    monkeypatch.setattr(folder_models, "has_onnxruntime", lambda: False)
    with pytest.raises(ConfigError, match="needs onnxruntime"):
        load_folder(read_folder(folder))


@pytest.mark.parametrize("prefix", ["", "bert."])
def test_a_bert_needs_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prefix: str) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    card = read_folder(make_bert(tmp_path / "m", prefix=prefix, pooling="cls_token"))
    fast = load_folder(card)
    monkeypatch.setattr(folder_models, "has_onnxruntime", lambda: False)
    slow = load_folder(card)
    assert isinstance(fast, BertModel)
    for text in (TEXT, "泵 油!", "", "pumps " * 100):
        np.testing.assert_allclose(fast.encode(text), slow.encode(text), atol=2e-6)
    assert not np.allclose(fast.encode(TEXT), fast.encode("泵 油!"))


async def test_an_encoder_of_a_folder(tmp_path: Path) -> None:
    card = read_folder(make_bert(tmp_path / "m"), Choices(query_prompt="oil "))
    encoder = open_folder(card, threads=1)
    assert (encoder.name, encoder.dimension) == (card.name, WIDTH)
    passages, queries = await encoder.encode_passages(["oil pump"]), await encoder.encode_queries(["pump"])
    assert np.array_equal(passages, queries)
    assert not isinstance(encoder, SparseEncoder)
    await encoder.close()


def write_torch(path: Path, weight: Any, bias: Any, kind: str) -> None:
    """An archive as torch writes it; its pickle names the kind of number and is not to be run."""
    pickle = b"\x80\x02ctorch\n" + kind.encode() + b"\nq\x00cposix\nsystem\nX\x04\x00\x00\x00exit\x85R."
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("sparse_linear/data.pkl", pickle)
        archive.writestr("sparse_linear/data/0", weight.tobytes())
        archive.writestr("sparse_linear/data/1", bias.tobytes())
        archive.writestr("sparse_linear/version", b"3\n")


async def test_sparse_weights_beside_a_graph(tmp_path: Path) -> None:
    folder = onnx_folder(tmp_path / "m", pooling="cls_token")
    head = np.arange(WIDTH, dtype=np.float32) / 10
    write_torch(
        folder / "sparse_linear.pt", head.astype(np.float16), np.array([0.5], np.float16), "HalfStorage"
    )
    encoder = open_folder(read_folder(folder), threads=1)
    assert isinstance(encoder, SparseEncoder)
    (found, empty) = await encoder.encode_sparse(["pump the pump oil", ""])
    rounded = head.astype(np.float16).astype(np.float32)
    expected = {
        number: float(token_table()[number] @ rounded + 0.5)
        for number in (WORDS.index(word) for word in ("pump", "the", "oil"))
    }
    assert found == pytest.approx({token: weight for token, weight in expected.items() if weight > 0})
    assert found
    assert empty == {}
    assert (await encoder.encode_passages(["pump"])).shape == (1, WIDTH)
    await encoder.close()


def test_heads_are_read_and_never_run(tmp_path: Path) -> None:
    assert read_head(tmp_path, WIDTH) is None
    head = np.arange(WIDTH, dtype=np.float32)
    path = tmp_path / "sparse_linear.pt"
    write_torch(path, head, np.array([-1], np.float32), "FloatStorage")
    found = read_head(tmp_path, WIDTH)
    assert found is not None
    assert found.tolist() == [*head.tolist(), -1.0]
    with pytest.raises(ConfigError, match="8 weights for vectors of 9"):
        read_head(tmp_path, WIDTH + 1)
    write_torch(path, head, np.array([-1], np.float32), "BFloat16Storage")
    with pytest.raises(ConfigError, match="one kind"):
        read_head(tmp_path, WIDTH)
    path.write_bytes(b"no archive")
    with pytest.raises(ConfigError):
        read_head(tmp_path, WIDTH)
    tensors = {"weight": head[None], "bias": np.array([2], np.float32)}
    write_safetensors(tmp_path / "sparse_linear.safetensors", tensors)
    found = read_head(tmp_path, WIDTH)
    assert found is not None
    assert found[-1] == 2


def test_layers_behind_the_pooling_need_a_graph(tmp_path: Path) -> None:
    from .tiny_models import write_json

    folder = make_bert(tmp_path / "m")
    kinds = {"": "Transformer", "1_Pooling": "Pooling", "2_Dense": "Dense"}
    write_json(folder / "modules.json", [{"path": at, "type": kind} for at, kind in kinds.items()])
    write_json(folder / "2_Dense" / "config.json", {"out_features": WIDTH})
    with pytest.raises(ConfigError, match="behind its pooling"):
        load_folder(read_folder(folder))
    put_tokenizer(folder)
    put_graph(folder / "model.onnx", output="sentence_embedding")
    assert load_folder(read_folder(folder)).encode(TEXT).shape == (WIDTH,)


def test_other_models_need_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_folder(tmp_path / "m", pooling=None, model_type="qwen3")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ConfigError) as caught:
        load_folder(read_folder(folder))
    assert "kosmos[torch]" in (caught.value.remedy or "")


class FakeTensor:
    """As much of a tensor as is used."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __getitem__(self, place: int) -> "FakeTensor":
        return FakeTensor(self.value[place])

    def numpy(self) -> Any:
        return self.value


def test_how_transformers_is_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """torch is too large to be installed for this: a stand-in takes the calls and checks them."""
    folder = make_folder(tmp_path / "m", pooling=None, model_type="qwen3")
    seen: dict[str, Any] = {}

    class Loader:
        @staticmethod
        def from_pretrained(path: str, **options: Any) -> Any:
            seen[path] = options
            return Loader()

        def float(self) -> "Loader":
            return self

        def eval(self) -> "Loader":
            return self

        def __call__(self, *texts: str, **options: Any) -> Any:
            if texts:
                seen["tokenizer"] = (texts, options)
                return {"input_ids": FakeTensor([[7, 8]])}
            seen["model"] = list(options)
            hidden = FakeTensor(np.array([[[1.0] * WIDTH, [2.0] * WIDTH]], np.float32))
            return types.SimpleNamespace(last_hidden_state=hidden)

    torch = types.SimpleNamespace(
        set_num_threads=lambda count: seen.update(threads=count), inference_mode=nullcontext
    )
    monkeypatch.setitem(sys.modules, "torch", torch)
    loaders = types.SimpleNamespace(AutoTokenizer=Loader, AutoModel=Loader)
    monkeypatch.setitem(sys.modules, "transformers", loaders)
    model = load_folder(read_folder(folder))
    assert isinstance(model, TorchModel)
    assert model.encode("text").tolist() == pytest.approx([1 / np.sqrt(WIDTH)] * WIDTH)
    assert seen["tokenizer"] == (("text",), {"truncation": True, "max_length": 32, "return_tensors": "pt"})
    assert seen["model"] == ["input_ids"]
    assert seen[str(folder)] == {"local_files_only": True}
    assert seen["threads"] == 1
