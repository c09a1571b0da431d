"""The bell without any server: who hears what, from which thread, and over a line that is made up here."""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kosmos.bells import Bell, keeping
from kosmos.bells.contract import MOST_BYTES, Hear, Wire
from kosmos.bells.keeping import pack
from kosmos.errors import EngineUnavailable, KosmosError

LONG = 60.0  # a rest that ends only by a ring


class Exchange:
    """Passes what any of its wires sends on to all of them."""

    def __init__(self) -> None:
        self.hears: list[Hear] = []
        self.wires: list[_Wire] = []
        self.sent: list[str] = []
        self.down = False
        self.deaf = False

    @asynccontextmanager
    async def open(self, hear: Hear, stir: Callable[[], None]) -> AsyncIterator[Wire]:
        """Connect, unless it is down."""
        if self.down:
            raise EngineUnavailable("nobody is there")
        wire = _Wire(self, stir)
        self.hears.append(hear)
        self.wires.append(wire)
        try:
            yield wire
        finally:
            self.hears.remove(hear)
            self.wires.remove(wire)

    def break_down(self) -> None:
        """End every connection, and let no new one be made."""
        self.down = True
        for wire in self.wires:
            wire.failure = EngineUnavailable("it is gone")
            wire.stir()


class _Wire:
    def __init__(self, exchange: Exchange, stir: Callable[[], None]) -> None:
        self.failure: KosmosError | None = None
        self.stir = stir
        self._exchange = exchange

    async def send(self, payload: str) -> None:
        """Let all hear it."""
        self._exchange.sent.append(payload)
        for hear in [] if self._exchange.deaf else list(self._exchange.hears):
            hear(payload)


@pytest.fixture(autouse=True)
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "FIRST_BACK_OFF", 0.001)
    monkeypatch.setattr(keeping, "LONGEST_BACK_OFF", 0.01)


async def until(true: Callable[[], object]) -> None:
    async with asyncio.timeout(10):
        while not true():  # noqa: ASYNC110  (what happens elsewhere sets no event)
            await asyncio.sleep(0.001)


async def test_a_ring_is_heard_by_those_who_listen_to_its_topic() -> None:
    bell = Bell()
    with bell.listen("a") as one, bell.listen("a") as two, bell.listen("b") as other:
        bell.ring("a")
        async with asyncio.timeout(5):
            await one.rest(LONG)
            await two.rest(LONG)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02):
                await other.rest(LONG)
    assert bell._ears == {}
    assert not bell.carries


async def test_a_ring_during_the_look_is_not_lost() -> None:
    bell = Bell()
    with bell.listen("a") as ear:
        await ear.rest(0.0)
        bell.ring("a")  # while somebody looks
        async with asyncio.timeout(5):
            await ear.rest(LONG)


async def test_rests_end_apart_however_often_it_rings() -> None:
    bell = Bell()
    loop = asyncio.get_running_loop()
    with bell.listen("a") as ear:
        ends = []
        for _ in range(3):
            bell.ring("a")
            await ear.rest(LONG, least=0.03)
            ends.append(loop.time())
    assert all(after - before >= 0.029 for before, after in pairwise(ends))


async def test_it_rings_across_threads_and_loops() -> None:
    bell = Bell()
    there, heard = asyncio.Event(), threading.Event()
    here = asyncio.get_running_loop()

    async def listen() -> None:
        with bell.listen("a") as ear:
            here.call_soon_threadsafe(there.set)
            await ear.rest(LONG)
            heard.set()
            bell.ring("back")

    thread = threading.Thread(target=lambda: asyncio.run(listen()))
    with bell.listen("back") as ear:
        thread.start()
        await there.wait()
        bell.ring("a")
        async with asyncio.timeout(5):
            await ear.rest(LONG)
    thread.join(5)
    assert heard.is_set()
    bell.ring("a")  # whose loop is closed hears nothing, and nobody minds


async def test_a_ring_reaches_another_process_over_the_line() -> None:
    exchange = Exchange()
    one, two = Bell(exchange), Bell(exchange)
    with two.listen("a") as ear:
        await until(lambda: two.carries)
        await ear.rest(0.0)  # the ring that says that the line works
        one.ring("a", "b")
        async with asyncio.timeout(5):
            await ear.rest(LONG)
    await one.close()
    await two.close()
    assert not two.carries


async def test_many_rings_go_together_and_odd_topics_stay_at_home() -> None:
    exchange = Exchange()
    bell = Bell(exchange)
    for number in range(200):
        bell.ring("same", f"run:{number % 3}")
    bell.ring("two words", "", "x" * 300, "new\nline")
    await bell.close()
    assert [set(payload.split(" ")) - {"same"} - {bell._keeper._probe} for payload in exchange.sent] == [  # type: ignore[union-attr]
        {"run:0", "run:1", "run:2"}
    ]


async def test_a_line_that_does_not_hear_itself_counts_for_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(keeping, "PATIENCE_SECONDS", 0.02)
    exchange = Exchange()
    exchange.deaf = True
    bell = Bell(exchange)
    with bell.listen("a"):
        await until(lambda: len([item for item in exchange.sent if item.startswith("probe:")]) > 2)
        assert not bell.carries
        exchange.deaf = False
        await until(lambda: bell.carries)
    await bell.close()
    assert len([item for item in caplog.messages if "cannot wake" in item]) == 1


async def test_a_lost_line_is_told_once_and_made_anew(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "kosmos.bells")
    exchange = Exchange()
    one, two = Bell(exchange), Bell(exchange)
    with two.listen("a") as ear, one.listen("b"):
        await until(lambda: one.carries and two.carries)
        await ear.rest(0.0)
        exchange.break_down()
        await ear.rest(LONG)  # whoever rests is woken: now they have to look more often
        assert not two.carries
        one.ring("a")
        await asyncio.sleep(0.05)
        exchange.down = False
        await until(lambda: one.carries and two.carries)
        await until(lambda: any("a" in payload.split(" ") for payload in exchange.sent))
    await one.close()
    await two.close()
    assert len([item for item in caplog.messages if "cannot wake" in item]) == 2  # by each of the two
    assert len([item for item in caplog.messages if "again" in item]) == 2


async def test_what_was_rung_is_sent_although_every_task_was_ended_before() -> None:
    exchange = Exchange()
    bell = Bell(exchange)
    with bell.listen("b"):
        await until(lambda: bell.carries)
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()
    await asyncio.sleep(0)
    bell.ring("due")
    await bell.close()
    assert exchange.sent[-1].split(" ")[0] == "due"


async def test_closing_does_not_wait_for_a_line_that_is_down() -> None:
    exchange = Exchange()
    exchange.down = True
    bell = Bell(exchange)
    bell.ring("a")
    async with asyncio.timeout(5):
        await bell.close()
    bell.ring("a")  # after the end it is heard here alone


@given(
    st.lists(st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1, max_size=50)),
    st.integers(200, 400),
)
def test_payloads_hold_every_topic_and_are_short(topics: list[str], most: int) -> None:
    packed = list(pack(topics, most))
    assert " ".join(packed).split(" ") == (topics or [""])
    assert all(len(payload.encode()) <= most for payload in packed)
    assert all(len(f"{first} {next_.split(' ')[0]}".encode()) > most for first, next_ in pairwise(packed))
    assert most < MOST_BYTES < 8000
