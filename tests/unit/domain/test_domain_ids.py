"""Identifiers: version 7, unique, in the order of time."""

import time
import uuid

import pytest

from kosmos.domain.ids import new_id


def test_an_id_is_a_uuid_of_version_7() -> None:
    for _ in range(200):
        text = new_id()
        value = uuid.UUID(text)
        assert str(value) == text
        assert (value.version, value.variant) == (7, uuid.RFC_4122)


def test_ids_made_at_one_moment_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: 1_700_000_000_000_000_000)
    assert len({new_id() for _ in range(20_000)}) == 20_000


def test_ids_sort_by_time_as_text(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = [0, 1, 999, 1_700_000_000_000, 1_700_000_000_001, 1_700_000_001_000, 2**48 - 1]
    made = []
    for moment in moments:
        monkeypatch.setattr(time, "time_ns", lambda moment=moment: moment * 1_000_000)
        made.append(new_id())
    assert made == sorted(made)


def test_an_id_begins_with_its_millisecond() -> None:
    before = time.time_ns() // 1_000_000
    stamp = uuid.UUID(new_id()).int >> 80
    assert before <= stamp <= time.time_ns() // 1_000_000
