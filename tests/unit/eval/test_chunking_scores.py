"""Recall, precision and IoU count characters, as they would be counted by hand."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from kosmos.chunking.packing import ChunkSizes
from kosmos.errors import InvalidInput
from kosmos.eval.chunking import (
    ChunkingSet,
    Matrix,
    Piece,
    Question,
    Score,
    evaluate_pieces,
    read_chunking_set,
    score_pieces,
)
from kosmos.eval.chunking_pieces import cut_by_structure
from kosmos.eval.chunking_routes import by_both, by_vectors, by_words

QUESTION = Question("a", "?", ((10, 20), (30, 40)))


def _piece(start: int, end: int, corpus: str = "a") -> Piece:
    return Piece(corpus, start, end, "")


@pytest.mark.parametrize(
    ("found", "score"),
    [
        ([], Score(0.0, 0.0, 0.0)),
        ([_piece(10, 20)], Score(0.5, 1.0, 0.5)),
        ([_piece(0, 40)], Score(1.0, 0.5, 0.5)),
        ([_piece(15, 35)], Score(0.5, 0.5, 1 / 3)),
        ([_piece(0, 40, "b")], Score(0.0, 0.0, 0.0)),
        ([_piece(10, 20), _piece(10, 20)], Score(0.5, 0.5, 1 / 3)),  # paid for twice, counted once
        ([_piece(10, 20), _piece(0, 10, "b")], Score(0.5, 0.5, 1 / 3)),
    ],
)
def test_scores_by_hand(found: list[Piece], score: Score) -> None:
    got = score_pieces(QUESTION, found)
    assert (got.recall, got.precision, got.iou) == pytest.approx((score.recall, score.precision, score.iou))


def test_the_best_pieces_are_taken_and_means_are_made_by_corpus() -> None:
    questions = (
        Question("a", "one", ((0, 10),)),
        Question("a", "two", ((0, 10),)),
        Question("b", "x", ((0, 5),)),
    )
    pieces = [_piece(0, 10), _piece(10, 20), _piece(0, 5, "b")]

    def scorer(asked: Sequence[str], texts: Sequence[str]) -> Matrix:
        assert list(asked) == ["one", "two", "x"]
        assert len(texts) == 3
        return np.array([[3, 1, 0], [1, 3, 0], [0, 0, 1]], dtype=np.float32)

    score, by_corpus = evaluate_pieces(ChunkingSet({}, questions), pieces, scorer, k=1)
    assert {corpus: item.recall for corpus, item in by_corpus.items()} == {"a": 0.5, "b": 1.0}
    assert score.recall == pytest.approx(2 / 3)


def _write_set(folder: Path, below: str) -> None:
    (folder / below).mkdir(exist_ok=True)
    (folder / below / "a.md").write_bytes("# Title\n\nThe cat\u2028sleeps.\n\nThe dog barks.\r\n".encode())
    row = {
        "corpus": "a",
        "question": "dog?",
        "references": [{"content": "x", "start_index": 26, "end_index": 40}],
    }
    (folder / "questions.jsonl").write_text(json.dumps(row) + "\n\n")


@pytest.mark.parametrize("below", [".", "corpora"])
def test_a_set_is_read_with_its_characters_where_they_are(tmp_path: Path, below: str) -> None:
    _write_set(tmp_path, below)
    data = read_chunking_set(tmp_path)
    (start, end) = data.questions[0].answers[0]
    assert data.corpora["a"].endswith("\r\n")
    assert data.corpora["a"][start:end] == "The dog barks."


def test_a_folder_without_questions_or_corpus_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"questions\.jsonl"):
        read_chunking_set(tmp_path)
    _write_set(tmp_path, ".")
    (tmp_path / "a.md").unlink()
    with pytest.raises(InvalidInput, match=r"a\.md"):
        read_chunking_set(tmp_path)


def test_structure_is_found_by_words_vectors_and_both() -> None:
    text = "# Cats\n\nThey sleep all day.\n\n# Dogs\n\nThey bark at night.\n\n<!-- hidden bark -->"
    pieces = cut_by_structure({"a": text}, ChunkSizes())
    assert [text[piece.start : piece.end].split("\n", maxsplit=1)[0] for piece in pieces] == [
        "They sleep all day.",
        "They bark at night.",
    ]
    assert pieces[1].indexed.startswith("Dogs They bark")
    assert "hidden" not in pieces[1].indexed

    def encode(texts: Sequence[str]) -> Matrix:
        return np.array([[1, 0] if "sleep" in text else [0, 1] for text in texts], dtype=np.float32)

    indexed = [piece.indexed for piece in pieces]
    assert by_words(["Do dogs bark?"], indexed).argmax() == 1
    assert by_vectors(encode)(["sleep"], indexed).tolist() == [[1, 0]]
    # Words say dogs by 1, vectors say cats by half.
    assert by_both(encode)(["dogs sleepless"], indexed).tolist() == [[0.5, 1.0]]
    assert by_both(encode, weight=2)(["dogs sleepless"], indexed).tolist() == [[2.0, 1.0]]
