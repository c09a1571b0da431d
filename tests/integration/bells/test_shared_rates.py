"""The pace of a token over several processes, counted in a real Redis."""

import logging
from collections.abc import Callable
from pathlib import Path

import pytest
import redis

from kosmos.api import rates
from kosmos.api.rates import Pace, SharedPace
from kosmos.errors import SlowDown

Mortal = tuple[str, Callable[[], None], Callable[[], None]]


async def _passed(pace: SharedPace, token: str, tries: int) -> int:
    waits = list[float]()
    for _ in range(tries):
        try:
            await pace.take(token)
        except SlowDown as refused:
            waits.append(refused.retry_after)
    assert all(0 < wait <= 60 for wait in waits)
    return tries - len(waits)


async def test_processes_share_one_bucket_and_count_alone_without_redis(
    mortal_redis: Mortal, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, kill, start = mortal_redis
    caplog.set_level(logging.WARNING, "kosmos.api.rates")
    one, two = (SharedPace(Pace(10), url) for _ in range(2))
    assert await _passed(one, "a", 6) + await _passed(two, "a", 6) in (10, 11)  # one may have come back
    assert await _passed(two, "b", 6) == 6
    with redis.Redis.from_url(url) as client:
        assert 0 < client.ttl("kosmos:pace:a") <= 61
    kill()
    assert await _passed(one, "a", 12) == 10
    assert await _passed(two, "a", 12) == 10
    assert len([item for item in caplog.messages if "by itself" in item]) == 2
    start()
    monkeypatch.setattr(rates, "AWAY_SECONDS", 0.0)
    one._away_until = two._away_until = 0.0
    assert await _passed(one, "c", 7) + await _passed(two, "c", 7) in (10, 11)
    await one.close()
    await two.close()


async def test_without_a_limit_redis_is_never_asked(tmp_path: Path) -> None:
    pace = SharedPace(Pace(0), f"unix://{tmp_path}/nothing")
    assert await _passed(pace, "a", 100) == 100
    assert pace._redis is None
    await pace.close()
