"""Streams of a server that leaves: all end at once, none with an error."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from kosmos.sessions.streams import Streams


async def _lines(closed: list[str], *, then: BaseException | None = None) -> AsyncIterator[str]:
    try:
        yield "one"
        yield "two"
        if then is not None:
            raise then
        await asyncio.Event().wait()
    finally:
        closed.append("closed")


async def _collect(streams: Streams, lines: AsyncIterator[str]) -> list[str]:
    return [line async for line in streams.until_leaving(lines)]


async def test_those_that_wait_end_when_the_server_leaves() -> None:
    streams, closed = Streams(), list[str]()
    following = [asyncio.create_task(_collect(streams, _lines(closed))) for _ in range(3)]
    await asyncio.sleep(0.01)
    assert not any(task.done() for task in following)
    streams.leave()
    async with asyncio.timeout(5):
        assert await asyncio.gather(*following) == [["one", "two"]] * 3
    assert closed == ["closed"] * 3
    assert await _collect(streams, _lines(closed)) == []  # too late


async def test_one_whose_client_is_slow_ends_behind_the_line_under_way() -> None:
    streams, closed = Streams(), list[str]()
    stream = streams.until_leaving(_lines(closed))
    assert await anext(stream) == "one"
    streams.leave()
    with pytest.raises(StopAsyncIteration):
        await anext(stream)


@pytest.mark.parametrize("error", [TimeoutError("its own"), ValueError("broken")])
async def test_errors_of_the_lines_themselves_are_not_swallowed(error: Exception) -> None:
    with pytest.raises(type(error), match=str(error)):
        await _collect(Streams(), _lines([], then=error))


async def test_whoever_goes_away_is_cancelled_as_ever() -> None:
    streams, closed = Streams(), list[str]()
    following = asyncio.create_task(_collect(streams, _lines(closed)))
    await asyncio.sleep(0.01)
    following.cancel()
    with pytest.raises(asyncio.CancelledError):
        await following
    assert closed == ["closed"]
    assert not streams._waiting
