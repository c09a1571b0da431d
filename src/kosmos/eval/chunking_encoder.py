"""A sentence encoder from a folder with `model.onnx` and `tokenizer.json`, for routes by vectors."""

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kosmos.errors import ConfigError, InvalidInput
from kosmos.eval.chunking import Matrix
from kosmos.eval.chunking_routes import Encoder

ENCODED_TOKENS = 256
BATCH = 16
THREADS = 2


def open_encoder(folder: Path) -> Encoder:
    """An encoder whose graph pools and normalises by itself; each text is encoded once."""
    for name in ("model.onnx", "tokenizer.json"):
        if not (folder / name).is_file():
            raise InvalidInput(
                f"{folder} has no {name}.", remedy="Name a folder with a sentence encoder in ONNX."
            )
    runtime, tokenizer = _import("onnxruntime"), _open_tokenizer(folder / "tokenizer.json")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = THREADS
    session = runtime.InferenceSession(str(folder / "model.onnx"), options)
    known: dict[str, Matrix] = {}

    def encode(texts: Sequence[str]) -> Matrix:
        fresh = sorted(set(texts) - known.keys(), key=len)
        for batch in (fresh[at : at + BATCH] for at in range(0, len(fresh), BATCH)):
            encoded = tokenizer.encode_batch(batch)
            ids = np.array([item.ids for item in encoded], dtype=np.int64)
            mask = np.array([item.attention_mask for item in encoded], dtype=np.int64)
            rows = session.run(None, {"input_ids": ids, "attention_mask": mask})[0]
            known.update(zip(batch, rows, strict=True))
        return np.array([known[text] for text in texts], dtype=np.float32)

    return encode


def _open_tokenizer(file: Path) -> Any:
    tokenizer = _import("tokenizers").Tokenizer.from_file(str(file))
    tokenizer.enable_padding()
    tokenizer.enable_truncation(ENCODED_TOKENS)
    return tokenizer


def _import(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ConfigError(
            f"An encoder needs {name}: {error.msg}.", remedy=f"Run: pip install {name}"
        ) from None
