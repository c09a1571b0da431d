from datetime import UTC, datetime, timedelta, timezone

import pytest

from kosmos.domain.clock import Clock
from kosmos.doubles.clock import START, FixedClock


def test_it_stands_still_until_moved() -> None:
    clock = FixedClock()
    now: Clock = clock

    assert now() == now() == START
    clock.advance(90.5)
    assert now() == START + timedelta(seconds=90.5)
    clock.advance(-90.5)
    assert now() == START


def test_it_always_speaks_utc() -> None:
    east = timezone(timedelta(hours=8))
    clock = FixedClock(datetime(2026, 5, 1, 8, tzinfo=east))

    assert clock().tzinfo is UTC
    assert clock() == datetime(2026, 5, 1, tzinfo=UTC)
    clock.set(datetime(2027, 1, 1, 7, 59, tzinfo=east))
    assert clock().tzinfo is UTC
    assert clock().isoformat() == "2026-12-31T23:59:00+00:00"


def test_a_time_without_zone_is_refused() -> None:
    naive = datetime(2026, 5, 1)  # noqa: DTZ001
    with pytest.raises(ValueError, match="no time zone"):
        FixedClock(naive)
    clock = FixedClock()
    with pytest.raises(ValueError, match="no time zone"):
        clock.set(naive)
    assert clock() == START
