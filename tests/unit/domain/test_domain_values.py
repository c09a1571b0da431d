"""Free text and JSON: whatever passes can be stored, and comes back as it was."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kosmos.domain.values import check_json, check_text
from kosmos.errors import InvalidInput

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=8)
INNER = st.recursive(
    SCALARS | TEXTS, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner), max_leaves=6
)
JSONS = st.dictionaries(TEXTS, INNER, max_size=3)


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth - 1):
        value = {"d": value}
    return value


def as_json(value: dict[str, Any], most: int = 100_000) -> dict[str, Any]:
    return check_json(value, what="metadata", most=most)


@given(JSONS)
def test_plain_json_passes_unchanged(value: dict[str, Any]) -> None:
    assert as_json(value) == value


@pytest.mark.parametrize(
    "part",
    [
        *(math.nan, math.inf, -math.inf, pytest.param(10**5000, id="int of 5000 digits")),
        *("\ud800", "a\udfffb", "\x00", "a\x00b"),
        *({1, 2}, b"bytes", object()),
    ],
)
@pytest.mark.parametrize("wrap", [lambda part: part, lambda part: [{"deep": [part]}]])
def test_what_no_engine_could_give_back_is_refused(part: object, wrap: Any) -> None:
    with pytest.raises(InvalidInput, match="metadata") as caught:
        as_json({"key": wrap(part)})
    assert caught.value.remedy


@pytest.mark.parametrize("key", ["\x00", "a\ud800"])
def test_keys_are_checked_like_values(key: str) -> None:
    with pytest.raises(InvalidInput):
        as_json({key: 1})


def test_the_six_characters_of_an_escape_are_ordinary_text() -> None:
    value = {"regex": r"[\u0000-\u001f]", r"\u0000": [r"\\u0000"]}
    assert as_json(value) == value


def test_an_escaped_backslash_does_not_hide_a_real_nul() -> None:
    with pytest.raises(InvalidInput):
        as_json({"key": "\\\x00"})


def test_an_object_within_itself_is_refused() -> None:
    loop: dict[str, Any] = {}
    loop["self"] = loop
    with pytest.raises(InvalidInput):
        as_json(loop)


@pytest.mark.parametrize("depth", [101, 500, 950, 20_000])
def test_deep_nesting_is_refused_at_one_depth_everywhere(depth: int) -> None:
    """Not where Python's stack happens to end: the driver that stores it starts deeper in the stack."""
    with pytest.raises(InvalidInput, match="nested too deeply"):
        as_json(nested(depth))
    with pytest.raises(InvalidInput, match="nested too deeply"):
        as_json({"list": json.loads("[" * 100 + "]" * 100)})


def test_reasonable_nesting_passes() -> None:
    value = nested(100)
    assert as_json(value) == value


def test_json_is_measured_as_it_is_written() -> None:
    value = {"k": "字" * 10}
    size = len(json.dumps(value, ensure_ascii=False))
    assert as_json(value, most=size) == value
    with pytest.raises(InvalidInput, match=f"{size} characters; at most {size - 1}"):
        as_json(value, most=size - 1)


def test_text_is_kept_as_it_is() -> None:
    text = "  两行\r\n\tand 👩‍🚀\u202e "
    assert check_text(text, what="description", most=len(text)) == text


@pytest.mark.parametrize(
    ("text", "reason"), [("a" * 11, "11 characters; at most 10"), ("\x00", "U+0000"), ("\ud800", "surrogate")]
)
def test_text_that_cannot_be_stored_is_refused(text: str, reason: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        check_text(text, what="description", most=10)
    assert caught.value.message.startswith("The description")
    assert reason in caught.value.message
