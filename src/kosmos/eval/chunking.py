"""How well pieces of a text answer questions: recall, precision and IoU over characters.

The measure of Chroma's report on chunking: each question names the exact ranges of characters that
answer it; the k best pieces of all corpora together are compared with those ranges.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kosmos.errors import InvalidInput

K = 5

Range = tuple[int, int]  # from one character up to another, counted from 0
Matrix = NDArray[np.float32]
Scorer = Callable[[Sequence[str], Sequence[str]], Matrix]  # questions, texts: one row for each question


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the ranges of one corpus that answer it."""

    corpus: str
    text: str
    answers: tuple[Range, ...]


@dataclass(frozen=True, slots=True)
class ChunkingSet:
    """Texts by name, and questions about them."""

    corpora: Mapping[str, str]
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """What a chunker made: a range of a corpus, and the words by which it is to be found."""

    corpus: str
    start: int
    end: int
    indexed: str


@dataclass(frozen=True, slots=True)
class Score:
    """Means over questions, each between 0 and 1."""

    recall: float
    precision: float
    iou: float


def read_chunking_set(folder: Path) -> ChunkingSet:
    """The set in a folder: `questions.jsonl`, and a Markdown file for each corpus here or in `corpora/`."""
    file = folder / "questions.jsonl"
    if not file.is_file():
        raise InvalidInput(f"{folder} has no questions.jsonl.", remedy="Name a folder with a chunking set.")
    questions = tuple(
        _question(json.loads(line)) for line in file.read_text("utf-8").split("\n") if line.strip()
    )
    names = sorted({question.corpus for question in questions})
    return ChunkingSet({name: _read_corpus(folder, name) for name in names}, questions)


def _read_corpus(folder: Path, name: str) -> str:
    for file in (folder / "corpora" / f"{name}.md", folder / f"{name}.md"):
        if file.is_file():
            # Bytes, since reading as text would turn other line ends into LF and shift every character.
            return file.read_bytes().decode("utf-8")
    raise InvalidInput(f"{folder} has no {name}.md.", remedy="Put the corpus beside its questions.")


def _question(row: Mapping[str, Any]) -> Question:
    answers = tuple((int(item["start_index"]), int(item["end_index"])) for item in row["references"])
    return Question(str(row["corpus"]), str(row["question"]), answers)


def score_pieces(question: Question, found: Sequence[Piece]) -> Score:
    """What the pieces found for a question are worth; a character found twice is paid for twice."""
    wanted = _union(question.answers)
    here = [(piece.start, piece.end) for piece in found if piece.corpus == question.corpus]
    hit = _length(_intersection(wanted, _union(here)))
    paid = sum(piece.end - piece.start for piece in found)
    missed = _length(wanted) - hit
    return Score(
        recall=hit / _length(wanted) if wanted else 0.0,
        precision=hit / paid if paid else 0.0,
        iou=hit / (paid + missed) if paid + missed else 0.0,
    )


def evaluate_pieces(
    data: ChunkingSet, pieces: Sequence[Piece], scorer: Scorer, *, k: int = K
) -> tuple[Score, Mapping[str, Score]]:
    """The means over all questions and over those of each corpus, with the k best pieces for each."""
    matrix = scorer([question.text for question in data.questions], [piece.indexed for piece in pieces])
    scores: dict[str, list[Score]] = {}
    for question, row in zip(data.questions, matrix, strict=True):
        best = np.argsort(-row, kind="stable")[:k]
        scores.setdefault(question.corpus, []).append(score_pieces(question, [pieces[at] for at in best]))
    return _mean([score for group in scores.values() for score in group]), {
        corpus: _mean(group) for corpus, group in scores.items()
    }


def _mean(scores: Sequence[Score]) -> Score:
    count = max(1, len(scores))
    return Score(
        recall=sum(score.recall for score in scores) / count,
        precision=sum(score.precision for score in scores) / count,
        iou=sum(score.iou for score in scores) / count,
    )


def _union(ranges: Sequence[Range]) -> list[Range]:
    """The same characters as ranges that neither touch nor overlap, in order."""
    merged: list[Range] = []
    for start, end in sorted(ranges):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def _intersection(left: Sequence[Range], right: Sequence[Range]) -> list[Range]:
    pairs = ((max(a, c), min(b, d)) for a, b in left for c, d in right)
    return [(start, end) for start, end in pairs if start < end]


def _length(ranges: Sequence[Range]) -> int:
    return sum(end - start for start, end in ranges)
