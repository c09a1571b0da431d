"""The built-in encoder: all-MiniLM-L6-v2 in 8 bits with our Chinese words: one space for both languages."""

from functools import partial
from pathlib import Path

import numpy as np

from kosmos.encoders.bert_graph import Shape, bert_model, safe_steps
from kosmos.encoders.bert_numpy import run_numpy
from kosmos.encoders.keeping import kept
from kosmos.encoders.runtime import Run, has_onnxruntime, run_graph
from kosmos.encoders.safetensors import Weights
from kosmos.encoders.vectors import unit
from kosmos.encoders.weights import check_weights, stamp_weights
from kosmos.encoders.wordpiece import WordPiece, read_vocabulary
from kosmos.encoders.zh_tokens import HAN, load_words, plain_chinese, word_vectors
from kosmos.store.rows import Dense

NAME = "minilm-l6-v2+zh1"  # changes when vectors do, beyond what rounding changes
SHAPE = Shape(layers=6, heads=12, width=384, positions=512, epsilon=1e-12)
WINDOW = 254  # what the model was made for: 256 with the start and the end
MAX_WINDOWS = 8
GRAPH_VERSION = 1


class MiniLM:
    """The encoder, open. Several threads may use it at once."""

    def __init__(self, pieces: WordPiece, rows: Dense, run: Run, *, chinese: bool = True) -> None:
        self._pieces = pieces
        self._rows = rows
        self._run = run
        self._chinese = chinese

    def encode(self, text: str) -> Dense:
        """The vector of a text, which depends on nothing but the text.

        One that is too long is read in parts of equal length, and its vector is the mean of theirs.
        """
        tokens = self.tokens(text)
        if len(tokens) <= WINDOW:
            return self._part(tokens)
        step = -(-len(tokens) // -(-len(tokens) // WINDOW))
        parts = [tokens[start : start + step] for start in range(0, len(tokens), step)]
        return unit(np.sum([len(part) * self._part(part) for part in parts], axis=0, dtype=np.float32))

    def tokens(self, text: str) -> list[int]:
        """The tokens of a text; those of the Chinese pack count on behind the vocabulary."""
        limit = WINDOW * MAX_WINDOWS
        if not self._chinese or HAN.search(text) is None:
            return self._pieces.numbers(text, limit)
        return self._mixed(text, limit)

    def _part(self, tokens: list[int]) -> Dense:
        return self._run(self._look_up([self._pieces.start, *tokens, self._pieces.end]))

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
            rows: Dense = self._rows[numbers]
            return rows
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
