"""The Chinese token pack: words of Chinese for an encoder that was made for English.

The encoder itself is not changed. Each Chinese word has a row that stands where the row of an English piece
would, so a text without a Han character is read exactly as without the pack.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

import numpy as np
from numpy.typing import NDArray

from kosmos.store.rows import Dense

HAN = re.compile("[\u3400-\u9fff]+")
UNKNOWN_SCORE = -20.0
_FIRST = -1e9


@dataclass(frozen=True, slots=True)
class Words:
    """The words of the pack: which row each has, how likely it is, how long those that begin alike are."""

    rows: dict[str, int]
    scores: dict[str, float]
    longest: dict[str, int]

    def cut(self, run: str) -> list[int]:
        """The rows of the likeliest words that make up a run of Han characters; -1 for an unknown one."""
        best = [0.0] + [_FIRST] * len(run)
        came = [0] * (len(run) + 1)
        scores, longest = self.scores, self.longest
        for start in range(len(run)):
            score = best[start]
            for end in range(start + 1, min(start + longest.get(run[start], 1), len(run)) + 1):
                word = scores.get(run[start:end], UNKNOWN_SCORE if end == start + 1 else None)
                if word is not None and score + word > best[end]:
                    best[end], came[end] = score + word, start
        return list(self._back(run, came))[::-1]

    def _back(self, run: str, came: list[int]) -> Iterator[int]:
        end = len(run)
        while end:
            yield self.rows.get(run[came[end] : end], -1)
            end = came[end]


def plain_chinese(text: str) -> str:
    """The text with simplified characters and the punctuation of ASCII."""
    return text.translate(_forms())


def pack_file(name: str) -> Traversable:
    """A file of the pack."""
    return resources.files("kosmos.encoders") / "zh_pack" / name


@cache
def load_words() -> Words:
    """The words, read once."""
    rows: dict[str, int] = {}
    scores: dict[str, float] = {}
    longest: dict[str, int] = {}
    lines = pack_file("zh_tokens.tsv").read_text(encoding="utf-8").rstrip("\n").split("\n")
    for row, line in enumerate(lines):
        word, _, score = line.partition("\t")
        rows[word], scores[word] = row, float(score)
        longest[word[0]] = max(longest.get(word[0], 1), len(word))
    return Words(rows, scores, longest)


@cache
def _vectors() -> tuple[NDArray[np.int8], Dense]:
    with pack_file("zh_embeddings.npz").open("rb") as file, np.load(file) as stored:
        return stored["q"], stored["s"].astype(np.float32)


def word_vectors(rows: NDArray[np.int64]) -> Dense:
    """The vectors of these rows."""
    quantized, scales = _vectors()
    made: Dense = quantized[rows] * scales[rows, None]
    return made


@cache
def _forms() -> dict[int, str]:
    stored = json.loads(pack_file("zh_norm.json").read_text(encoding="utf-8"))
    return {ord(form): plain for kind in ("t2s", "punct") for form, plain in stored[kind].items()}
