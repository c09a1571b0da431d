"""Lines, pages, headings and patterns over HTTP."""

from typing import Any

import pytest

from acceptance.http.test_http_problems import check_problem
from acceptance.http.world import Person, World
from acceptance.pdf import make_pdf

GUIDE = """# Guide

Oil the pump.

## 证书

叶子证书每九十天轮换一次。

## Pump

Blue.
"""


@pytest.fixture(scope="module")
def reader(world: World) -> Person:
    """Somebody with documents of their own."""
    return world.join(f"Reader {world.served.settings.database[:6]}")


@pytest.fixture(scope="module")
def shelf(world: World, reader: Person) -> dict[str, str]:
    """The ids of their space, a text, and a file with three pages."""
    space = reader.ok("POST", "/api/v1/spaces", {"name": "shelf"})["id"]
    pages = [["First page", "about pumps"], ["Second page", "about valves"], ["Third page", "about pumps"]]
    return {
        "space": space,
        "text": world.add(space, "guide.md", GUIDE),
        "pages": world.add(space, "pages.pdf", make_pdf(pages)),
    }


def _lines(reader: Person, document: str, query: str = "") -> Any:
    return reader.ok("GET", f"/api/v1/documents/{document}/lines?{query}")


def test_lines_by_range_and_by_heading(reader: Person, shelf: dict[str, str]) -> None:
    lines = GUIDE.rstrip("\n").split("\n")
    whole = _lines(reader, shelf["text"])
    assert (whole["lines"], whole["pages"], whole["truncated"]) == (lines, [], False)
    part = _lines(reader, shelf["text"], "start=3&end=5")
    assert (part["start_line"], part["end_line"], part["lines"]) == (3, 5, lines[2:5])
    assert _lines(reader, shelf["text"], "end=2")["lines"] == lines[:2]
    section = _lines(reader, shelf["text"], "heading=证书")
    assert (section["start_line"], section["lines"]) == (5, lines[4:8])
    assert _lines(reader, shelf["text"], "heading=%23pump")["start_line"] == 9


def test_lines_by_page(reader: Person, shelf: dict[str, str]) -> None:
    whole = _lines(reader, shelf["pages"])
    assert [span["page"] for span in whole["pages"]] == [1, 2, 3]
    seen = []
    for span in whole["pages"]:
        page = _lines(reader, shelf["pages"], f"page={span['page']}")
        assert page["pages"] == [span]
        assert (page["start_line"], page["end_line"]) == (span["start_line"], span["end_line"])
        seen += page["lines"]
    assert seen == whole["lines"]
    assert "valves" in " ".join(_lines(reader, shelf["pages"], "page=2")["lines"])


def test_places_that_are_not_there(reader: Person, shelf: dict[str, str]) -> None:
    text, pages = (f"/api/v1/documents/{shelf[name]}/lines?" for name in ("text", "pages"))
    for path, status in {
        f"{text}page=1": 404,
        f"{text}heading=没有": 404,
        f"{text}heading=": 422,
        f"{text}start=1&page=1": 422,
        f"{text}start=1&heading=x": 422,
        f"{text}start=99": 404,
        f"{pages}page=4": 404,
        f"{pages}page=0": 422,
    }.items():
        check_problem(reader.call("GET", path), status)


def test_patterns(reader: Person, shelf: dict[str, str]) -> None:
    found = reader.ok("POST", "/api/v1/grep", {"pattern": "pumps?", "ignore_case": True, "context": 1})
    places = [(match["source"], match["line"], match["page"]) for match in found["matches"]]
    assert places[:2] == [("guide.md", 3, None), ("guide.md", 9, None)]
    assert [(source, page) for source, _, page in places[2:]] == [("pages.pdf", 1), ("pages.pdf", 3)]
    first = found["matches"][0]
    assert (first["before"], first["text"], first["after"]) == ([""], "Oil the pump.", [""])
    assert first["text"][first["column"] - 1 : first["end_column"] - 1] == "pump"
    assert (found["truncated"], found["searched"], found["without_text"]) == ("", 2, 0)
    one = {"pattern": "证书.*轮换", "document_id": shelf["text"]}
    assert [match["line"] for match in reader.ok("POST", "/api/v1/grep", one)["matches"]] == [7]
    cut = reader.ok("POST", "/api/v1/grep", {"pattern": "pump", "max_matches": 1})
    assert (len(cut["matches"]), cut["truncated"]) == (1, "matches")
    assert reader.ok("POST", "/api/v1/grep", {"pattern": "pump", "space_ids": []})["matches"] == []


@pytest.mark.parametrize(
    "form",
    [
        {"pattern": "(a)\\1"},
        {"pattern": "(?<=a)b"},
        {"pattern": "["},
        {"pattern": ""},
        {"pattern": "a", "context": 1000},
        {"pattern": "a", "max_matches": 0},
        {"pattern": "a", "seconds": 0},
        {"pattern": "a", "seconds": 3600},
        {"patern": "a"},
    ],
)
def test_patterns_that_are_refused(reader: Person, form: dict[str, Any]) -> None:
    check_problem(reader.call("POST", "/api/v1/grep", form), 422)


def test_a_catastrophic_pattern_is_answered(world: World, reader: Person, shelf: dict[str, str]) -> None:
    world.add(shelf["space"], "aaa.md", "\n\n".join(["a" * 20_000] * 10))
    for pattern in (r"(a+)+$", r"(a|aa)+b", r"((a?){50}){20}c"):
        answer = reader.call("POST", "/api/v1/grep", {"pattern": pattern, "seconds": 2})
        assert answer.status_code == 200
        assert answer.json()["truncated"] in ("", "deadline")
