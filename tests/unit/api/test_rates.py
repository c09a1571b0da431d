"""How many requests a token may make."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kosmos.api.rates import MOST_BUCKETS, Pace
from kosmos.errors import SlowDown


class _Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_without_a_limit_everything_passes() -> None:
    pace = Pace(0)
    for _ in range(1000):
        pace.take("t")


def test_a_minutes_worth_passes_at_once_and_then_evenly() -> None:
    clock = _Clock()
    pace = Pace(60, clock)
    for _ in range(60):
        pace.take("t")
    with pytest.raises(SlowDown) as caught:
        pace.take("t")
    assert caught.value.retry_after == pytest.approx(1.0)
    pace.take("another token has its own")
    clock.now += 1.0
    pace.take("t")
    with pytest.raises(SlowDown):
        pace.take("t")


@given(st.lists(st.floats(0, 30), min_size=1, max_size=60), st.integers(1, 20))
def test_no_token_makes_more_than_it_may(gaps: list[float], limit: int) -> None:
    clock = _Clock()
    pace, passed, waits = Pace(limit, clock), 0, list[float]()
    for gap in gaps:
        clock.now += gap
        try:
            pace.take("t")
            passed += 1
        except SlowDown as error:
            waits.append(error.retry_after)
    assert all(0 < wait <= 60 / limit + 1e-6 for wait in waits)
    assert passed <= limit + (clock.now - 100.0) * limit / 60 + 1e-6


def test_buckets_are_forgotten_before_they_fill_the_memory() -> None:
    clock = _Clock()
    pace = Pace(10, clock)
    for number in range(MOST_BUCKETS + 5):
        pace.take(str(number))
        clock.now += 1.0
    assert len(pace._buckets) <= MOST_BUCKETS
