"""What the comparison with peers reads and counts."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

BENCH = Path(__file__).resolve().parents[3] / "bench"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, BENCH / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # A dataclass looks its module up by name.
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(__import__("sys").modules, name, module)
        spec.loader.exec_module(module)
    return module


data = load("peers_data")


def test_a_line_gives_a_question_for_each_field_that_it_has(tmp_path: Path) -> None:
    file = tmp_path / "questions.jsonl"
    lines = [
        {"question": "为什么？", "relevant": ["a.md", "b.md"]},
        {"q1": "Why?", "q2": "How?", "relevant": ["c.md"]},
    ]
    file.write_text("\n".join(json.dumps(line) for line in lines) + "\n\n", encoding="utf-8")
    found = data.read_questions(file, ["q1", "q2", "question"])
    assert [(item.way, item.text, item.relevant) for item in found] == [
        ("question", "为什么？", ("a.md", "b.md")),
        ("q1", "Why?", ("c.md",)),
        ("q2", "How?", ("c.md",)),
    ]


def test_pages_that_answer_are_always_among_the_chosen(tmp_path: Path) -> None:
    for number in range(10):
        (tmp_path / "in").mkdir(exist_ok=True)
        (tmp_path / "in" / f"{number}.md").write_text("text")
    asked = [data.Question("q", "?", ("in/7.md", "gone.md")), data.Question("q", "?", ("gone.md",))]
    pages = data.choose_pages(tmp_path, asked, 4)
    assert pages == ["in/0.md", "in/4.md", "in/7.md", "in/8.md"]
    assert data.answerable(asked, pages) == asked[:1]
    data.copy_pages(tmp_path, tmp_path / "copy", pages)
    assert sorted(path.name for path in (tmp_path / "copy").rglob("*.md")) == ["0.md", "4.md", "7.md", "8.md"]


@pytest.mark.parametrize(
    "found",
    ["/docs/x/a b.md", "file:///docs/x/a b.md", "file:///docs/x/a%20b.md", "docs/x/a b.md", "x/a b.md"],
)
def test_a_page_has_one_name_however_a_system_calls_it(found: str) -> None:
    assert data.page_name(found, Path("/docs")) == "x/a b.md"


def test_pages_count_not_pieces() -> None:
    asked = [data.Question("one", "?", ("e",)), data.Question("two", "?", ("x", "f"))]
    pieces = ["a", "a", "b", "a", "c", "d", "e", "f"]
    assert data.score(asked, [pieces, pieces]) == {"all": 0.5, "one": 1.0, "two": 0.0}
    assert data.score(asked, [pieces, pieces], 6) == {"all": 1.0, "one": 1.0, "two": 1.0}
    assert data.score(asked[:1], [pieces[:5]]) == {"all": 0.0, "one": 0.0}


@given(st.lists(st.sampled_from("abcdefg"), max_size=30), st.integers(0, 8))
def test_first_pages_keep_the_order_of_their_best_pieces(found: list[str], count: int) -> None:
    first = data.first_pages(found, count)
    places = [found.index(name) for name in first]
    assert places == sorted(places)
    assert len(first) == len(set(first)) == min(count, len(set(found)))


def test_ratios_to_nothing_are_not_made_up() -> None:
    assert data.ratio(3.0, 2.0) == "1.5"
    assert data.ratio(3.0, 0.0) == "-"
    assert data.leanest({"floor": 1.0, "a": 3.0, "b": 2.0}, without=["floor"]) == 2.0
    assert data.leanest({"floor": 1.0}, without=["floor"]) == 0.0
