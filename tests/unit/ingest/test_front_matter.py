"""Front matter is data or it is text; it is never a reason to fail."""

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.domain.values import check_json
from kosmos.ingest.front_matter import MAX_CHARS, split_front_matter

PROPERTY = settings(max_examples=100, deadline=None)


def _metadata(yaml: str) -> dict[str, Any]:
    return split_front_matter(f"---\n{yaml}\n---\nbody")[0]


def _is_text(yaml: str) -> bool:
    return split_front_matter(f"---\n{yaml}\n---\nbody") == ({}, 1)


def test_the_body_begins_after_the_closing_line() -> None:
    text = "---\ntitle: Guide\ntags: [a, 中文]\nnested: {deep: {er: 1}}\n---\nbody"
    expected = {"title": "Guide", "tags": ["a", "中文"], "nested": {"deep": {"er": 1}}}
    assert split_front_matter(text) == (expected, 6)


@pytest.mark.parametrize("closing", ["---", "...", "---  ", "---\t"])
def test_ways_to_close(closing: str) -> None:
    assert split_front_matter(f"--- \na: 1\n{closing}\nbody") == ({"a": 1}, 4)


@pytest.mark.parametrize("text", ["---\n---\nbody", "---\n# only a comment\n---\nbody"])
def test_empty_front_matter_is_left_out(text: str) -> None:
    assert split_front_matter(text) == ({}, len(text.split("\n")))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "---",
        "----\na: 1\n---",
        " ---\na: 1\n---",
        "\n---\na: 1\n---",
        "---\na: 1",
        "---\na: 1\n ---",
        "x",
    ],
)
def test_what_does_not_open_or_never_closes_is_text(text: str) -> None:
    assert split_front_matter(text) == ({}, 1)


@pytest.mark.parametrize(
    "yaml",
    [
        "A paragraph between two rules.",
        "- a\n- list",
        "42",
        "title: one: two",
        "a: [1, 2",
        "\tindented: by a tab",
        "a: &x 1\nb: *x",
        "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]",
        "a: !!python/object/apply:os.system [ls]",
        "a: !!timestamp nonsense",
        "a: !!int ''",
        "a: !!float ''",
        "a: !!bool maybe",
        "a: 2024-99-99",
        "a: 2001-01-01 00:00:00 +99:00",
        "x: " + "1:" * 300 + "1.5",
        "x: 0x" + "f" * 9000,
        "? [a, b]\n: c",
        "<<: 3",
        "a: " + "[" * 50 + "]" * 50,
        "[" * 5000,
        "- " * 5000,
        "? " * 5000,
        "a: 1\n--- b: 2",
    ],
)
def test_what_cannot_be_read_as_data_is_text(yaml: str) -> None:
    assert _is_text(yaml)


def test_a_huge_block_is_text_and_takes_no_time() -> None:
    before = time.monotonic()
    assert _metadata("a: " + "x" * (MAX_CHARS - 10))["a"].startswith("xxx")
    assert _is_text("a: " + "x" * MAX_CHARS)
    assert _is_text("\n".join(f"key{number}: value" for number in range(200_000)))
    assert time.monotonic() - before < 5


def test_values_become_plain_json() -> None:
    yaml = "day: 2024-02-29\nat: 2024-02-29 12:30:00\nyes: true\nnone: ~\n"
    yaml += "bytes: !!binary aGk=\nset: !!set {x}\n5: five"
    assert _metadata(yaml) == {
        "day": "2024-02-29",
        "at": "2024-02-29T12:30:00",
        "True": True,
        "none": None,
        "bytes": "b'hi'",
        "set": ["x"],
        "5": "five",
    }


def test_odd_floats_become_text() -> None:
    metadata = _metadata("inf: .inf\nneg: -.inf\nnan: .nan\nbig: 1.0e+400\nfine: 1.5")
    assert metadata == {"inf": "inf", "neg": "-inf", "nan": "nan", "big": "inf", "fine": 1.5}


@pytest.mark.parametrize(
    ("yaml", "value"),
    [(r'a: "x\0y"', "xy"), (r'a: "x\ud800y"', "xy"), (r'a: "\ud83d\ude00"', "😀"), (r'a: "\u4e2d"', "中")],
)
def test_no_value_holds_what_a_database_cannot_store(yaml: str, value: str) -> None:
    assert _metadata(yaml) == {"a": value}
    assert _metadata(f"{yaml[3:]}: key") == {value: "key"}


def test_nesting_up_to_a_limit() -> None:
    assert _metadata("a: {b: {c: {d: {e: {f: 1}}}}}") == {"a": {"b": {"c": {"d": {"e": {"f": 1}}}}}}
    assert _is_text("a: {b: {c: {d: {e: {f: {g: {h: 1}}}}}}}")


YAMLISH = st.lists(
    st.sampled_from(
        [
            "a",
            "title",
            ": ",
            "\n",
            "- ",
            "? ",
            "[",
            "]",
            "{",
            "}",
            "!!int ",
            "!!float ",
            "!!timestamp ",
            "!!set ",
            "!!bool ",
            "!!binary ",
            "!!omap ",
            "!x ",
            "&a ",
            "*a",
            "'",
            '"',
            r"\0",
            r"\ud800",
            "0x",
            "1",
            ".",
            ":",
            "2024-01-01",
            " ",
            "  ",
            "|\n",
            ">\n",
            "#",
            "<<",
            "~",
            "%",
            "@",
            "---",
            "...",
            "\t",
            "é",
            "=",
        ]
    ),
    max_size=30,
).map("".join)


@PROPERTY
@given(st.one_of(YAMLISH, st.text(max_size=60)))
def test_no_text_makes_it_fail(yaml: str) -> None:
    text = f"---\n{yaml}\n---\nbody"
    metadata, body_start = split_front_matter(text)
    lines = text.split("\n")
    assert 1 <= body_start <= len(lines) + 1
    assert body_start == 1 or lines[body_start - 2].rstrip() in ("---", "...")
    assert body_start > 1 or metadata == {}
    assert check_json(metadata, what="metadata", most=10**6) == metadata


@PROPERTY
@given(st.text())
def test_no_beginning_makes_it_fail(text: str) -> None:
    _, body_start = split_front_matter(text)
    assert body_start == 1 or text.split("\n", maxsplit=1)[0].rstrip() == "---"


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00\x7f"), max_size=20)
SCALAR = st.none() | st.booleans() | st.integers(-(2**80), 2**80) | TEXT
JSON = SCALAR | st.lists(SCALAR, max_size=3) | st.dictionaries(TEXT, SCALAR, max_size=3)


@PROPERTY
@given(st.dictionaries(TEXT, JSON, max_size=4))
def test_json_comes_back_as_it_was(value: dict[str, Any]) -> None:
    """JSON is YAML; astral characters come as escaped surrogate pairs."""
    assert _metadata(json.dumps(value)) == value
