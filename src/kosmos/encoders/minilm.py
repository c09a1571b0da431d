"""The built-in encoder: all-MiniLM-L6-v2 in 8 bits with our Chinese words, for both languages in one space."""

from functools import partial
from pathlib import Path

import numpy as np

from kosmos.encoders.bert_graph import Shape, bert_model, safe_steps
from kosmos.encoders.keeping import kept
from kosmos.encoders.runtime import Run, has_onnxruntime, run_graph, run_numpy
from kosmos.encoders.safetensors import Weights
from kosmos.encoders.weights import check_weights, stamp_weights
from kosmos.encoders.wordpiece import WordPiece, read_vocabulary
from kosmos.encoders.zh_tokens import HAN, load_words, plain_chinese, word_vectors
from kosmos.store.rows import Dense

NAME = "minilm-l6-v2+zh1"  # changes when vectors do, beyond what rounding changes
SHAPE = Shape(layers=6, heads=12, width=384, positions=512, epsilon=1e-12)
MAX_TOKENS = 256
GRAPH_VERSION = 1


class MiniLM:
    """The encoder, open. Several threads may use it at once."""

    def __init__(self, pieces: WordPiece, rows: Dense, run: Run, *, chinese: bool = True) -> None:
        self._pieces = pieces
        self._rows = rows
        self._run = run
        self._chinese = chinese

    def encode(self, text: str) -> Dense:
        """The vector of a text, which depends on nothing but the text."""
        return self._run(self._look_up(self.tokens(text)))

    def tokens(self, text: str) -> list[int]:
        """The tokens of a text; those of the Chinese pack count on behind the vocabulary."""
        limit = MAX_TOKENS - 2
        if not self._chinese or HAN.search(text) is None:
            found = self._pieces.numbers(text, limit)
        else:
            found = self._mixed(text, limit)
        return [self._pieces.start, *found, self._pieces.end]

    def _mixed(self, text: str, limit: int) -> list[int]:
        """Han runs by the words of the pack, what lies between them as ever."""
        words, base, unknown = load_words(), len(self._rows), self._pieces.unknown
        text = plain_chinese(text)
        found: list[int] = []
        done = 0
        for run in HAN.finditer(text):
            found += self._pieces.numbers(text[done : run.start()], limit)
            found += [unknown if row < 0 else base + row for row in words.cut(run[0][: limit * 8])]
            done = run.end()
            if len(found) >= limit:
                return found[:limit]
        return (found + self._pieces.numbers(text[done:], limit))[:limit]

    def _look_up(self, tokens: list[int]) -> Dense:
        numbers = np.array(tokens)
        own = numbers >= len(self._rows)
        if not own.any():
            return self._rows[numbers]
        found = np.empty((len(numbers), self._rows.shape[1]), np.float32)
        found[~own] = self._rows[numbers[~own]]
        found[own] = word_vectors(numbers[own] - len(self._rows))
        return found


def load_minilm(folder: Path, *, cache: Path | None = None, chinese: bool = True) -> MiniLM:
    """Open the encoder; its graph is made once and kept in the folder `cache`."""
    weights = Weights(folder / "model.safetensors")
    if has_onnxruntime():
        steps = safe_steps()
        file = None
        if cache is not None:
            file = cache / f"minilm-{stamp_weights(folder)}-{steps}-{GRAPH_VERSION}.graph"
        run = run_graph(kept(file, partial(_make_graph, folder, weights, steps)))
    else:
        check_weights(folder)
        run = run_numpy(weights, SHAPE)
    pieces = WordPiece(read_vocabulary(folder / "vocab.txt"))
    return MiniLM(pieces, weights["embeddings.word_embeddings.weight"], run, chinese=chinese)


def _make_graph(folder: Path, weights: Weights, steps: int) -> bytes:
    check_weights(folder)
    return bert_model(weights, SHAPE, steps=steps)
