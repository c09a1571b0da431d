"""A chunking run: rows that can be compared, the indexer by answers that were written down, absent peers."""

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kosmos.chunking.indexer import index_text
from kosmos.chunking.indexer_answers import MAX_SUMMARY
from kosmos.chunking.indexer_ladder import Reply
from kosmos.chunking.indexer_prompt import HEADINGS, REDACT, SUMMARY, Question
from kosmos.chunking.indexer_sheet import lay_out
from kosmos.errors import ConfigError, InvalidInput
from kosmos.eval import chunking_encoder
from kosmos.eval.chunking import ChunkingSet, Matrix, Piece
from kosmos.eval.chunking import Question as Asked
from kosmos.eval.chunking_answers import Answers, Calls, Told, batch_hash, cut_by_answers, read_answers
from kosmos.eval.chunking_cuts import cut_all, routes_with
from kosmos.eval.chunking_peers import cut_by_peers
from kosmos.eval.chunking_run import Cut, compare
from kosmos.ingest.blocks import parse_blocks

PUMP = "The blue pump must be oiled every day, says the manual of the maker. " * 12
VALVE = "A red valve closes by itself when the pressure falls below two bars. " * 12
CORPORA = {"a": f"{PUMP}\n\n{VALVE}", "b": f"# Title\n\n{PUMP.replace('pump', 'motor') * 2}"}
DATA = ChunkingSet(CORPORA, (Asked("a", "valve", ((len(PUMP) + 2, len(PUMP) + 60),)),))


def answers_for_a() -> Answers:
    """Answers to every question about corpus a, as somebody would write them down."""
    written: dict[str, Calls] = {}

    def answer(question: Question) -> Reply:
        said = {"units": [{"line": 1, "summary": "x"}], "more_starts": [3]}
        written[batch_hash(question)] = [(SUMMARY, said)]
        return Reply([Told(SUMMARY, said)])

    text = CORPORA["a"]
    index_text(lay_out(text, parse_blocks(text), title="a.md"), answer)
    return written


def test_rows_are_scored_by_every_route_and_peers_that_win_are_named() -> None:
    whole, half = (
        Piece("a", 0, len(CORPORA["a"]), "valve"),
        Piece("a", len(PUMP) + 2, len(PUMP) + 60, "valve"),
    )
    cuts = [Cut("structure 1", [whole]), Cut("Peer", [half], seconds=0.5), Cut("indexer", [half], sent=800)]
    report = compare(DATA, cuts, routes_with(None), missing=["x"])
    assert [row.scores["words"].recall for row in report.rows] == [1.0, 1.0, 1.0]
    assert report.beaten == {"words": []}  # a recall that is only equal is not higher
    assert report.rows[2].tokens_in == pytest.approx(800 / (sum(map(_tokens, CORPORA.values())) / 1000))
    assert report.missing == ["x"]
    miss = replace(cuts[0], pieces=[replace(whole, end=3)])
    worse = compare(DATA, [miss, *cuts[1:]], routes_with(None)).beaten
    assert worse == {"words": ["Peer beats structure 1"]}  # the indexer is no peer
    part = replace(cuts[1], corpora=frozenset({"a"}))  # measured on other questions: not compared
    assert compare(DATA, [miss, part], routes_with(None)).beaten == {"words": []}


def _tokens(text: str) -> int:
    return -(-len("".join(text.split())) // 4)


def test_an_encoder_adds_routes() -> None:
    def encode(texts: Sequence[str]) -> Matrix:
        return np.array([[1, 0] if "valve" in text else [0, 1] for text in texts], dtype=np.float32)

    assert list(routes_with(encode)) == ["vectors", "words", "both"]


def test_the_indexer_is_measured_where_all_its_questions_are_answered() -> None:
    answers = answers_for_a()
    cut, missing = cut_by_answers(CORPORA, answers)
    assert cut is not None
    assert cut.label == "indexer (a only)"
    assert [(piece.start, piece.end) for piece in cut.pieces] == [
        (0, len(PUMP) + 1),
        (len(PUMP) + 2, len(CORPORA["a"])),
    ]
    assert cut.sent > _tokens(CORPORA["a"]) > cut.given > 0
    assert [line.split(" (")[0] for line in missing] == ["indexer: b has a batch without an answer"]
    cut, missing = cut_by_answers({"a": CORPORA["a"]}, answers)
    assert cut is not None
    assert (cut.label, missing) == ("indexer", [])
    assert cut_by_answers(CORPORA, {})[0] is None


def test_tokens_are_counted_once_for_each_text_that_is_whole() -> None:
    answers = answers_for_a()
    one, _ = cut_by_answers({"a": CORPORA["a"]}, answers)
    many, missing = cut_by_answers({"a": CORPORA["a"], "b": CORPORA["b"], "c": "small"}, answers)
    assert one is not None
    assert many is not None
    assert (many.sent, many.given) == (one.sent, one.given)
    assert len(missing) == 1


def test_an_answer_that_cannot_be_filed_is_none() -> None:
    wrong = {key: [(SUMMARY, {"units": [{"line": 99, "summary": "x"}]})] for key in answers_for_a()}
    cut, missing = cut_by_answers({"a": CORPORA["a"]}, wrong)
    assert cut is None
    assert len(missing) == 1


def test_an_answer_is_found_whatever_the_fixed_words() -> None:
    question = Question(({"content": "old words"}, {"content": "batch"}), ())
    other = replace(question, messages=({"content": "new words"}, {"content": "batch"}))
    assert batch_hash(question) == batch_hash(other)
    assert batch_hash(question) != batch_hash(replace(question, messages=({}, {"content": "b"})))


def test_answers_that_were_given_by_hand_are_well_formed() -> None:
    answers = read_answers()
    assert len(answers) >= 12
    for calls in answers.values():
        names = [name for name, _ in calls]
        assert names[0] == SUMMARY
        assert set(names) <= {SUMMARY, HEADINGS, REDACT}
        units = calls[0][1]["units"]
        lines = [unit["line"] for unit in units]
        assert lines == sorted(set(lines)) != []
        assert all(0 < len(unit["summary"]) < MAX_SUMMARY // 2 for unit in units)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"answers": [1]}', '{"answers": {"a": [["x"]]}}'])
def test_a_file_without_answers_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "answers.json"
    with pytest.raises(InvalidInput, match="holds no answers"):
        read_answers(file)
    file.write_text(text)
    with pytest.raises(InvalidInput, match="holds no answers"):
        read_answers(file)
    file.write_text(json.dumps({"answers": {"h": [[SUMMARY, {"units": []}]]}}))
    assert read_answers(file) == {"h": [(SUMMARY, {"units": []})]}


def test_peers_that_are_not_there_are_named_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("langchain_text_splitters", "chonkie"):
        monkeypatch.setitem(sys.modules, name, None)
    found = list(cut_by_peers(CORPORA))
    assert len(found) == 2
    assert all(isinstance(line, str) and "pip install" in line for line in found)
    cuts, missing = cut_all(CORPORA, {})
    assert [cut.label.split(" ")[0] for cut in cuts] == ["structure"] * 4
    assert len(missing) == 4


def test_an_encoder_needs_its_files_and_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInput, match=r"has no model\.onnx"):
        chunking_encoder.open_encoder(tmp_path)
    for name in ("model.onnx", "tokenizer.json"):
        (tmp_path / name).write_text("x")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ConfigError, match="onnxruntime"):
        chunking_encoder.open_encoder(tmp_path)
