"""A local reranker: an ONNX model in a folder that reads question and passage together.

The folder holds `model.onnx` (or `onnx/model.onnx`) and `tokenizer.json`. A model whose output is one number
or two for each pair is a cross-encoder, as BGE and Jina rerankers are; one that gives a number for every
token of its vocabulary is a language model that answers yes or no, as Qwen3-Reranker is.
"""

import asyncio
import importlib
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kosmos.errors import ConfigError

BATCH = 8
LONGEST = 512  # tokens of question and passage together
LONGEST_JUDGED = 1024
_INSTRUCTION = "Given a web search query, retrieve relevant passages that answer the query"
# The form in which Qwen3-Reranker was trained to be asked.
_HEAD = (
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the "
    'Instruct provided. Note that the answer can only be "yes" or "no".<|im_end|>\n<|im_start|>user\n'
)
_TAIL = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"

Ids = list[list[int]]
Floats = NDArray[np.float32]


class CrossEncoder:
    """A model that is loaded when it is first used, and works off the event loop."""

    def __init__(self, folder: Path, *, threads: int = 0) -> None:
        self._folder = folder
        self._threads = threads
        self._lock = threading.Lock()
        self._score: Callable[[str, Sequence[str]], list[float]] | None = None

    @property
    def name(self) -> str:
        """The name of the folder."""
        return self._folder.name

    async def score(self, query: str, passages: Sequence[str]) -> list[float]:
        """How well each passage fits, from 0 to 1; ConfigError when the folder cannot be used."""
        return await asyncio.to_thread(self._run, query, passages)

    def _run(self, query: str, passages: Sequence[str]) -> list[float]:
        with self._lock:  # one at a time: the model uses the cores that it is given
            if self._score is None:
                self._score = load_reranker(self._folder, threads=self._threads)
            return self._score(query, passages)


def load_reranker(folder: Path, *, threads: int = 0) -> Callable[[str, Sequence[str]], list[float]]:
    """A function that scores the passages of a question."""
    session, tokenizer = _open(folder, threads)
    wanted = [item.name for item in session.get_inputs()]
    if unknown := sorted(set(wanted) - {"input_ids", "attention_mask", "token_type_ids", "position_ids"}):
        raise _unusable(folder, f"its model wants {unknown[0]!r}, which is not known here")
    judge = len(session.get_outputs()[0].shape) == 3
    answers = [tokenizer.token_to_id(word) for word in ("no", "yes")] if judge else []
    if None in answers:
        raise _unusable(folder, "its tokenizer has no tokens for yes and no")

    def score(query: str, passages: Sequence[str]) -> list[float]:
        scores: list[float] = []
        for start in range(0, len(passages), BATCH):
            batch = passages[start : start + BATCH]
            ids, types = _judged(tokenizer, query, batch) if judge else _paired(tokenizer, query, batch)
            inputs, lengths = _pad(ids, types, wanted)
            logits = np.asarray(session.run(None, inputs)[0], dtype=np.float32)
            scores += _answered(logits, lengths, answers) if judge else _classified(logits, folder)
        return scores

    return score


def _open(folder: Path, threads: int) -> tuple[Any, Any]:
    try:
        onnxruntime: Any = importlib.import_module("onnxruntime")
        tokenizers: Any = importlib.import_module("tokenizers")
    except ImportError as error:
        install = "run: pip install onnxruntime tokenizers"
        raise _unusable(folder, f"{error.name} is not installed; {install}") from None
    files = [path for path in (folder / "model.onnx", folder / "onnx" / "model.onnx") if path.is_file()]
    if not files or not (folder / "tokenizer.json").is_file():
        raise _unusable(folder, "it holds no model.onnx with a tokenizer.json")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    try:
        session = onnxruntime.InferenceSession(str(files[0]), options, providers=["CPUExecutionProvider"])
        tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    except Exception as error:  # noqa: BLE001 - both libraries raise classes of their own
        reason = str(error).split("\n", maxsplit=1)[0][:200]
        raise _unusable(folder, f"its files cannot be read ({reason})") from None
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return session, tokenizer


def _paired(tokenizer: Any, query: str, passages: Sequence[str]) -> tuple[Ids, Ids]:
    """Question and passage as one text with a mark between them; the passage is cut where it is too long."""
    tokenizer.enable_truncation(LONGEST, strategy="only_second")
    try:
        encoded = tokenizer.encode_batch([(query[:2000], passage) for passage in passages])
    finally:
        tokenizer.no_truncation()
    return [item.ids for item in encoded], [item.type_ids for item in encoded]


def _judged(tokenizer: Any, query: str, passages: Sequence[str]) -> tuple[Ids, Ids]:
    """The question whether the passage fits, put to a language model."""
    plain = {"add_special_tokens": False}
    head, tail = tokenizer.encode(_HEAD, **plain).ids, tokenizer.encode(_TAIL, **plain).ids
    ids = []
    for passage in passages:
        asked = f"<Instruct>: {_INSTRUCTION}\n<Query>: {query[:2000]}\n<Document>: {passage}"
        room = max(1, LONGEST_JUDGED - len(head) - len(tail))
        ids.append(head + tokenizer.encode(asked, **plain).ids[:room] + tail)
    return ids, [[0] * len(each) for each in ids]


def _pad(ids: Ids, types: Ids, wanted: Sequence[str]) -> tuple[dict[str, NDArray[np.int64]], list[int]]:
    lengths = [len(each) for each in ids]
    shape = (len(ids), max(lengths))
    made = {name: np.zeros(shape, np.int64) for name in ("input_ids", "token_type_ids", "attention_mask")}
    for row, (each, kinds) in enumerate(zip(ids, types, strict=True)):
        made["input_ids"][row, : len(each)] = each
        made["token_type_ids"][row, : len(kinds)] = kinds
        made["attention_mask"][row, : len(each)] = 1
    made["position_ids"] = np.broadcast_to(np.arange(shape[1], dtype=np.int64), shape).copy()
    return {name: array for name, array in made.items() if name in wanted}, lengths


def _classified(logits: Floats, folder: Path) -> list[float]:
    if logits.ndim == 1:
        logits = logits[:, None]
    if logits.shape[1] == 1:
        return [float(value) for value in 1 / (1 + np.exp(-logits[:, 0]))]
    if logits.shape[1] != 2:
        raise _unusable(folder, f"its model gives {logits.shape[1]} numbers for a pair")
    return _second_of(logits)


def _answered(logits: Floats, lengths: Sequence[int], answers: Sequence[int]) -> list[float]:
    """How likely the next word is yes rather than no, after the last word of each text."""
    last = np.stack([logits[row, length - 1, list(answers)] for row, length in enumerate(lengths)])
    return _second_of(last)


def _second_of(pairs: Floats) -> list[float]:
    return [float(value) for value in 1 / (1 + np.exp(pairs[:, 0] - pairs[:, 1]))]


def _unusable(folder: Path, why: str) -> ConfigError:
    return ConfigError(
        f"The reranker in {folder} cannot be used: {why}.",
        remedy="Set KOSMOS_RERANKER to a folder with model.onnx and tokenizer.json.",
    )
