"""Settings of a space: what is wrong is said, what is damaged counts as not given, changes leave the rest."""

from typing import Any

import pytest

from kosmos.domain.redactions import RedactionKind
from kosmos.domain.space_settings import (
    ALL_KINDS,
    SpaceSettings,
    check_settings,
    merge_settings,
    read_settings,
)
from kosmos.errors import InvalidInput


def test_what_is_not_given_has_a_default() -> None:
    assert read_settings({}) == SpaceSettings(
        "structure", "structure", 200, None, (256, 512, 2048), ALL_KINDS
    )
    assert read_settings({"chunking": {}, "mine": {"any": 1}}) == SpaceSettings()


def test_what_is_given_counts() -> None:
    chunking: dict[str, Any] = {
        "producer": "indexer",
        "fallback": "sentinel",
        "batch_lines": 50,
        "parallel_batches": 2,
    }
    chunking["sizes"] = [64, 128, 512]
    given = {"chunking": chunking, "redaction": ["email", "phone"]}
    check_settings(given)
    kinds = frozenset({RedactionKind.EMAIL, RedactionKind.PHONE})
    assert read_settings(given) == SpaceSettings("indexer", "sentinel", 50, 2, (64, 128, 512), kinds)
    assert read_settings({"redaction": "off"}).hidden_kinds == frozenset()
    assert read_settings({"redaction": "on"}).hidden_kinds == ALL_KINDS


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"chunking": "indexer"}, "chunking is no object"),
        ({"chunking": {"produser": "indexer"}}, "no setting chunking.produser"),
        ({"chunking": {"producer": "magic"}}, "no value for producer"),
        ({"chunking": {"fallback": None}}, "no value for fallback"),
        ({"chunking": {"batch_lines": True}}, "no value for batch_lines"),
        ({"chunking": {"batch_lines": 5}}, "no value for batch_lines"),
        ({"chunking": {"parallel_batches": 65}}, "no value for parallel_batches"),
        ({"redaction": "maybe"}, "no value for redaction"),
        ({"redaction": ["email", "shoe size"]}, "no value for redaction"),
        ({"redaction": True}, "no value for redaction"),
        ({"redaction": None}, "no value for redaction"),
    ],
)
def test_what_is_wrong_is_said_and_counts_as_not_given(given: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput, match=words) as caught:
        check_settings(given)
    assert caught.value.remedy
    assert read_settings(given) == SpaceSettings()


def test_changes_leave_the_rest() -> None:
    stored = {"mine": 1, "chunking": {"producer": "indexer", "batch_lines": 50}, "redaction": "off"}
    changed = merge_settings(stored, {"chunking": {"batch_lines": None, "fallback": "sentinel"}})
    assert changed == {**stored, "chunking": {"producer": "indexer", "fallback": "sentinel"}}
    assert merge_settings(stored, {"redaction": None}) == {"mine": 1, "chunking": stored["chunking"]}
    assert merge_settings({}, {"chunking": {"producer": None}}) == {}
