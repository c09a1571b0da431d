"""Filters of a search, as every store understands them."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from kosmos.errors import InvalidInput
from kosmos.retrieval.conditions import Conditions, compile_conditions, instant, tags_of
from kosmos.store.filters import matches

ROW = {
    "node_type": "content",
    "document_id": "d1",
    "level": -1,
    "filetype": "pdf",
    "language": "zh",
    "source": "docs/a/guide.pdf",
    "path": "Setup > Linux",
    "updated_at": "2026-03-31T12:00:00Z",
    "metadata": ["author=Li", "draft=false", "tags=ops", "tags=k8s", "weight=20"],
    "page": 5,
}


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({}, True),
        ({"document_ids": ("d1", "d2")}, True),
        ({"document_ids": ("d2",)}, False),
        ({"types": ("heading",)}, False),
        ({"types": ("heading", "content")}, True),
        ({"levels": (-1,)}, True),
        ({"levels": (1, 2)}, False),
        ({"filetypes": ("pdf",)}, True),
        ({"filetypes": ("md",)}, False),
        ({"path": "docs/a"}, True),
        ({"path": "docs/b"}, False),
        ({"path": "DOCS"}, False),
        ({"heading": "Setup"}, True),
        ({"heading": "Linux"}, False),
        ({"since": "2026-03-31"}, True),
        ({"since": "2026-04-01"}, False),
        ({"until": "2026-03-31"}, True),
        ({"until": "2026-03-30"}, False),
        ({"since": "2026-03-31T12:00:00Z", "until": "2026-03-31T12:00:00+00:00"}, True),
        ({"until": "2026-03-31T13:59:59+02:00"}, False),
        ({"languages": ("zh",)}, True),
        ({"languages": ("en",)}, False),
        ({"languages": ("en", "zh")}, True),
        ({"metadata": {"author": "Li"}}, True),
        ({"metadata": {"author": "li"}}, False),
        ({"metadata": {"tags": "k8s", "draft": False}}, True),
        ({"metadata": {"weight": 20}}, True),
        ({"metadata": {"weight": 2}}, False),
        ({"metadata": {"aut": "hor=Li"}}, False),
        ({"pages": (5, 5)}, True),
        ({"pages": (1, 4)}, False),
        ({"path": "docs/", "pages": (6, 9)}, False),
    ],
)
def test_what_a_row_must_be(given: dict[str, Any], kept: bool) -> None:
    assert matches(compile_conditions(Conditions(**given)), ROW) is kept


def test_content_alone_is_found_unless_types_or_levels_are_asked_for() -> None:
    heading = {**ROW, "node_type": "heading", "level": 2}
    assert not matches(compile_conditions(Conditions()), heading)
    assert matches(compile_conditions(Conditions(levels=(2,))), heading)
    assert not matches(compile_conditions(Conditions(pages=(1, 9))), {**ROW, "page": None})


@pytest.mark.parametrize(
    "wrong",
    [
        {"types": ("chapter",)},
        {"languages": ("fr",)},
        {"since": "yesterday"},
        {"until": "2026-02-30"},
        {"since": "2026-13-01T00:00:00Z"},
        {"pages": (7, 3)},
        {"pages": (-1, 3)},
        {"path": "a\x00b"},
        {"heading": "x" * 5000},
        {"document_ids": ("\ud800",)},
        {"document_ids": tuple(map(str, range(1001)))},
        {"metadata": {"a": [1]}},
        {"metadata": {"a": None}},
        {"metadata": {str(n): 1 for n in range(101)}},
    ],
)
def test_filters_that_mean_nothing_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as caught:
        compile_conditions(Conditions(**wrong))
    assert caught.value.remedy


def test_metadata_of_a_document_becomes_texts() -> None:
    given = {"a": "x", "b": 3, "c": True, "d": ["y", 2, {"deep": 1}], "e": {"k": 1}, "f": None, "g": "z\x00"}
    assert tags_of(given) == ["a=x", "b=3", "c=true", "d=y", "d=2"]
    assert tags_of({"long": "x" * 999})[0] == "long=" + "x" * 195


def test_times_sort_as_texts() -> None:
    east = timezone(timedelta(hours=8))
    times = [datetime(2026, 3, 31, 7, 59, tzinfo=east), datetime(2026, 3, 31, tzinfo=UTC)]
    assert [instant(moment) for moment in times] == ["2026-03-30T23:59:00Z", "2026-03-31T00:00:00Z"]
