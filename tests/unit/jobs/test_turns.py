"""Whose turn it is."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from kosmos.db.job_sharing import Head
from kosmos.jobs.turns import DUE_PER_SECOND, LOOK_AGAIN, Turns

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def _heads(waiting: dict[str, int], *, priority: int = 0) -> list[Head]:
    return [
        Head(f"{space}{number}", space, priority)
        for space, count in waiting.items()
        for number in range(min(16, count))
    ]


def test_nobody_looks_while_nobody_waits() -> None:
    turns = Turns()
    assert not turns.wants_look(NOW)
    turns.crowded = True
    assert turns.wants_look(NOW)
    turns.learn(_heads({"a": 5, "b": 5}), {}, 10, NOW)
    assert not turns.wants_look(NOW)
    assert turns.wants_look(NOW + LOOK_AGAIN)


def test_the_more_there_are_the_more_seldom_they_are_looked_at() -> None:
    turns = Turns(crowded=True)
    turns.learn(_heads({"a": 5, "b": 1}), {}, 5 * DUE_PER_SECOND, NOW)
    assert not turns.wants_look(NOW + timedelta(seconds=4.9))
    assert turns.wants_look(NOW + timedelta(seconds=6))


def test_a_space_alone_needs_no_turns() -> None:
    turns = Turns()
    turns.learn(_heads({"a": 10_000}), {}, 10, NOW)
    assert turns.take(4) == []


def test_spaces_take_turns_from_the_one_that_has_least() -> None:
    turns = Turns()
    turns.learn(_heads({"a": 10_000, "b": 3}), {"a": 2}, 10, NOW)
    assert turns.take(4) == ["b0", "b1", "a0", "b2"]
    assert turns.take(4) == []  # the rest are of one space: the table's order will do


def test_urgent_jobs_come_before_turns() -> None:
    turns = Turns()
    turns.learn([*_heads({"a": 3}, priority=1), *_heads({"b": 3})], {"a": 50}, 6, NOW)
    assert turns.take(3) == ["a0", "a1", "a2"]


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 40), min_size=2),
    st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 5)),
    st.lists(st.integers(1, 8), min_size=1, max_size=20),
)
def test_no_space_gets_ahead_while_another_waits(
    waiting: dict[str, int], running: dict[str, int], wants: list[int]
) -> None:
    known: dict[str | None, int] = {}
    known.update(running)
    turns = Turns()
    turns.learn(_heads(waiting), known, 10, NOW)
    taken = [one for want in wants for one in turns.take(want)]
    assert len(taken) == len(set(taken))
    held, left = dict(running), {space: min(16, count) for space, count in waiting.items()}
    for one in taken:
        space = one[0]
        others = [held.get(other, 0) for other, count in left.items() if count and other != space]
        assert not others or held.get(space, 0) <= min(others)
        held[space] = held.get(space, 0) + 1
        left[space] -= 1
