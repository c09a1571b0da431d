"""Reading questions: BEIR folders and JSONL files, good and bad ones."""

import json
from pathlib import Path
from typing import Any

import pytest

from kosmos.errors import InvalidInput
from kosmos.eval.retrieval_sets import read_set


def _write(path: Path, *lines: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    return path


def test_a_file_of_questions(tmp_path: Path) -> None:
    path = _write(
        tmp_path / "mine.jsonl",
        {"_id": "q1", "question": "证书多久轮换一次", "relevant": ["certs.md"]},
        {"query": "How often?", "relevant": {"a.md": 2, "b.md": 1}},
        {"text": "pump", "gold": "a.md", "language": "zh"},
    )
    found = read_set(path)
    assert (found.name, found.corpus) == ("mine", None)
    assert [(q.id, q.text, dict(q.relevant), q.language) for q in found.questions] == [
        ("q1", "证书多久轮换一次", {"certs.md": 1.0}, "zh"),
        ("2", "How often?", {"a.md": 2.0, "b.md": 1.0}, "en"),
        ("3", "pump", {"a.md": 1.0}, "zh"),
    ]


def test_several_phrasings_of_one_question(tmp_path: Path) -> None:
    path = _write(tmp_path / "q.jsonl", {"_id": "k", "user_q1": "a", "user_q2": "b", "relevant": ["x"]})
    assert [q.id for q in read_set(path, fields=["user_q1", "user_q2"]).questions] == [
        "k/user_q1",
        "k/user_q2",
    ]
    assert [q.id for q in read_set(path, fields=["user_q2"]).questions] == ["k"]


def test_a_folder_of_the_beir_layout(tmp_path: Path) -> None:
    folder = tmp_path / "tiny"
    _write(
        folder / "corpus.jsonl", {"_id": "d1", "title": "Pump", "text": "Oil it."}, {"_id": "d2", "text": "x"}
    )
    _write(folder / "queries.jsonl", {"_id": "q1", "text": "oil"}, {"_id": "q2", "text": "unused"})
    (folder / "qrels").mkdir()
    (folder / "qrels" / "test.tsv").write_text(
        "query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t0\nq3\td1\t1\n"
    )
    found = read_set(folder)
    assert [(entry.id, entry.title, entry.text) for entry in found.corpus or ()] == [
        ("d1", "Pump", "Oil it."),
        ("d2", "", "x"),
    ]
    assert [(q.id, dict(q.relevant)) for q in found.questions] == [("q1", {"d1": 1.0})]
    with pytest.raises(InvalidInput):
        read_set(folder, split="dev")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}\n",
        b"[1]\n",
        b"not json\n",
        b'{"question": "x"}\n',
        b'{"question": "x", "relevant": []}\n',
        b'{"question": "x", "relevant": [1]}\n',
        b'{"question": "x", "relevant": {"a": "high"}}\n',
        b'{"question": " ", "relevant": ["a"]}\n',
        b'{"question": 7, "relevant": ["a"]}\n',
        b"\xff\xfe\n",
        b'{"relevant": ["a"]}\n',
    ],
)
def test_what_is_no_set_of_questions(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_bytes(content)
    with pytest.raises(InvalidInput) as caught:
        read_set(path)
    assert caught.value.remedy


def test_nothing_there(tmp_path: Path) -> None:
    for path in (tmp_path / "none.jsonl", tmp_path):
        with pytest.raises(InvalidInput, match="cannot be read"):
            read_set(path)


def test_the_questions_that_come_with_the_project() -> None:
    path = Path(__file__).parents[3] / "bench" / "questions" / "kubernetes_zh.jsonl"
    found = read_set(path)
    assert len(found.questions) >= 60
    assert {question.language for question in found.questions} == {"zh"}
    assert len({question.text for question in found.questions}) == len(found.questions)
    assert all(name.endswith(".md") for question in found.questions for name in question.relevant)
