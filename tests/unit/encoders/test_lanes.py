"""Threads for models: order, a limit, turns, cancelling."""

import asyncio
import threading
from functools import partial

import pytest

from kosmos.encoders.lanes import Lanes


@pytest.fixture
def lanes() -> Lanes:
    return Lanes(2)


async def test_results_come_in_order_and_no_more_run_at_once(lanes: Lanes) -> None:
    running, most, lock = 0, 0, threading.Lock()
    both = threading.Barrier(2)

    def work(number: int) -> int:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        both.wait(5)  # goes on only when two are at it
        with lock:
            running -= 1
        return number

    calls = [lanes.each([partial(work, start + number) for number in range(10)]) for start in (0, 100)]
    assert await asyncio.gather(*calls) == [list(range(10)), list(range(100, 110))]
    assert most == 2
    assert await lanes.each([]) == []
    lanes.close()


async def test_what_is_urgent_waits_for_one_turn_only(lanes: Lanes) -> None:
    order: list[str] = []
    gate = threading.Event()

    def turn(number: int) -> None:
        gate.wait(5)
        order.append(f"turn {number}")

    slow = asyncio.create_task(lanes.each([partial(turn, number) for number in range(20)]))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    urgent = asyncio.create_task(lanes.urgent(lambda: order.append("urgent")))
    await asyncio.sleep(0)
    gate.set()
    await asyncio.gather(slow, urgent)
    assert order.index("urgent") <= 3
    assert len(order) == 21
    lanes.close()


async def test_cancelling_stops_what_has_not_begun(lanes: Lanes) -> None:
    begun: list[int] = []
    gate, entered = threading.Event(), threading.Event()

    def work(number: int) -> None:
        begun.append(number)
        entered.set()
        gate.wait(5)

    task = asyncio.create_task(lanes.each([partial(work, number) for number in range(50)]))
    await asyncio.to_thread(entered.wait, 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    gate.set()
    assert await lanes.each([lambda: "still works"]) == ["still works"]
    assert len(begun) <= 2
    lanes.close()


async def test_an_error_is_itself_and_ends_the_rest(lanes: Lanes) -> None:
    begun: list[int] = []

    def work(number: int) -> None:
        begun.append(number)
        if number == 1:
            raise LookupError("this one")

    with pytest.raises(LookupError, match="this one"):
        await lanes.each([partial(work, number) for number in range(1000)])
    assert len(begun) < 1000
    lanes.close()
