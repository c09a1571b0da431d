"""Local rerankers on tiny models that are made here."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from kosmos.errors import ConfigError
from kosmos.retrieval.cross_encoder import BATCH, LONGEST, CrossEncoder

from .tiny_onnx import language_model, pair_classifier

READY = all(importlib.util.find_spec(name) for name in ("onnxruntime", "tokenizers"))
needs_libraries = pytest.mark.skipif(not READY, reason="onnxruntime and tokenizers are not installed")
WORDS = ["[UNK]", "pump", "oil", "zebra", "yes", "no", "[SEP]", "day"]


def _folder(tmp_path: Path, model: bytes) -> Path:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A", pair="$A [SEP] $B:1", special_tokens=[("[SEP]", 6)]
    )
    (tmp_path / "model.onnx").write_bytes(model)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    return tmp_path


def _sigmoid(value: float) -> float:
    return float(1 / (1 + np.exp(-value)))


@needs_libraries
@pytest.mark.parametrize("outputs", [1, 2])
async def test_a_pair_classifier(tmp_path: Path, outputs: int) -> None:
    weights = np.array([0, 0, 1.5, -2, 0, 0, 0, 0.5], np.float32)
    encoder = CrossEncoder(_folder(tmp_path, pair_classifier(weights, outputs)), threads=1)
    scores = await encoder.score("pump", ["oil", "zebra", "oil oil day", "", *["day"] * BATCH])
    expected = [_sigmoid(x) for x in (1.5, -2, 3.5, 0, *[0.5] * BATCH)]
    assert scores == pytest.approx(expected, abs=1e-5)
    assert encoder.name == tmp_path.name
    assert await encoder.score("pump", []) == []


@needs_libraries
async def test_long_passages_are_cut(tmp_path: Path) -> None:
    weights = np.zeros(len(WORDS), np.float32)
    weights[WORDS.index("day")] = 0.001
    encoder = CrossEncoder(_folder(tmp_path, pair_classifier(weights)), threads=1)
    (score,) = await encoder.score("pump", ["day " * 100_000])
    assert score == pytest.approx(_sigmoid(0.001 * (LONGEST - 2)), abs=1e-5)


@needs_libraries
async def test_a_language_model_that_says_yes_or_no(tmp_path: Path) -> None:
    table = np.zeros((len(WORDS), len(WORDS)), np.float32)
    table[WORDS.index("oil"), WORDS.index("yes")] = 2.0
    table[WORDS.index("zebra"), WORDS.index("no")] = 3.0
    encoder = CrossEncoder(_folder(tmp_path, language_model(table)), threads=1)
    nothing, oil, zebra = await encoder.score("pump", ["", "oil", "zebra zebra day"])
    assert oil == pytest.approx(_sigmoid(_logit(nothing) + 2))
    assert zebra == pytest.approx(_sigmoid(_logit(nothing) - 6))


def _logit(score: float) -> float:
    return float(np.log(score / (1 - score)))


@needs_libraries
@pytest.mark.parametrize("broken", ["model.onnx", "tokenizer.json"])
async def test_files_that_cannot_be_read(tmp_path: Path, broken: str) -> None:
    folder = _folder(tmp_path, pair_classifier(np.zeros(len(WORDS), np.float32)))
    (folder / broken).write_bytes(b"\x00nonsense")
    with pytest.raises(ConfigError, match="cannot be read") as caught:
        await CrossEncoder(folder).score("a", ["b"])
    assert "KOSMOS_RERANKER" in (caught.value.remedy or "")


@needs_libraries
async def test_a_folder_with_nothing_in_it(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no model\.onnx"):
        await CrossEncoder(tmp_path).score("a", ["b"])


async def test_without_the_libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "onnxruntime", None)
    with pytest.raises(ConfigError, match="pip install onnxruntime tokenizers"):
        await CrossEncoder(tmp_path).score("a", ["b"])
