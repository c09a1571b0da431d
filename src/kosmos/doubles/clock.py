"""A clock that stands still until it is told to move."""

from datetime import UTC, datetime, timedelta

START = datetime(2026, 1, 1, tzinfo=UTC)


class FixedClock:
    """A `kosmos.domain.clock.Clock` under the control of a test."""

    def __init__(self, start: datetime = START) -> None:
        self._now = _in_utc(start)

    def __call__(self) -> datetime:
        return self._now

    def advance(self, seconds: float) -> None:
        """Move on by some seconds; negative ones step back, as real clocks sometimes do."""
        self._now += timedelta(seconds=seconds)

    def set(self, now: datetime) -> None:
        """Jump to a moment."""
        self._now = _in_utc(now)


def _in_utc(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError(f"{moment.isoformat()} has no time zone; give one, such as datetime.UTC.")
    return moment.astimezone(UTC)
