"""Time and life of a simulated world: an event loop that never waits, and nodes that freeze and die.

Everything runs in one thread in an order that depends on nothing but the seed. When nothing is ready the
clock jumps to the next timer. What a node starts belongs to it (a context variable says so), and the loop
runs nothing that belongs to a node that is frozen or dead.
"""

import asyncio
import contextvars
import enum
import heapq
import sqlite3
from collections import deque
from collections.abc import Callable, Coroutine
from datetime import datetime, timedelta
from typing import Any

from kosmos.doubles.clock import START


class Stuck(Exception):
    """Nothing is ready and no timer is set: everybody waits for somebody else."""


class Dead(BaseException):
    """What is left of a dead process tries to do something; nothing may catch this."""


class Life(enum.Enum):
    """How a node is."""

    ALIVE = "alive"
    FROZEN = "frozen"
    DEAD = "dead"
    BURIED = "buried"  # the world has ended: tasks may unwind, but can touch nothing


class Node:
    """A process: its connections, its clock, and what it would do if it were not frozen or dead."""

    def __init__(self, name: str, loop: "VirtualLoop", *, skew: float = 0.0) -> None:
        self.name = name
        self.life = Life.ALIVE
        self.backlog: list[asyncio.Handle] = []
        self.connections: list[sqlite3.Connection] = []
        self._loop = loop
        self._skew = timedelta(seconds=skew)

    def clock(self) -> datetime:
        """What this node believes the time to be."""
        return START + timedelta(seconds=self._loop.time()) + self._skew

    def freeze(self) -> None:
        """Stop without noticing."""
        if self.life is Life.ALIVE:
            self.life = Life.FROZEN

    def thaw(self) -> None:
        """Go on as if nothing had been."""
        if self.life is Life.FROZEN:
            self.life = Life.ALIVE
            self._loop.put_back(self.backlog)

    def kill(self) -> None:
        """Die at once: no cleanup; the database rolls back what was not committed."""
        self.life = Life.DEAD
        self._close()

    def bury(self) -> None:
        """Let go of what is left."""
        self.life = Life.BURIED
        self._close()
        self._loop.put_back(self.backlog)

    def _close(self) -> None:
        for connection in self.connections:
            sqlite3.Connection.close(connection)
        self.connections.clear()


NODE: contextvars.ContextVar[Node | None] = contextvars.ContextVar("node", default=None)


class _Guarded(asyncio.Handle):
    """Something to run, unless its node is frozen or dead."""

    __slots__ = ()

    def _run(self) -> None:
        node = self._context.get(NODE)  # type: ignore[attr-defined]
        if node is not None and node.life in (Life.FROZEN, Life.DEAD):
            node.backlog.append(self)
        else:
            asyncio.Handle._run(self)


class _GuardedTimer(asyncio.TimerHandle):
    """Something to run at some time, unless its node is frozen or dead then."""

    __slots__ = ()
    _run = _Guarded._run


class VirtualLoop(asyncio.BaseEventLoop):
    """An event loop without a selector: time jumps, and nothing comes from outside."""

    _ready: deque[asyncio.Handle]
    _scheduled: list[asyncio.TimerHandle]

    def __init__(self) -> None:
        super().__init__()
        self._now = 0.0
        self._selector = self
        self.tasks: list[asyncio.Task[Any]] = []
        self.complaints: list[str] = []
        self.set_exception_handler(self._complain)
        self.set_task_factory(self._keep)  # type: ignore[arg-type]

    def time(self) -> float:
        """Seconds since the world began."""
        return self._now

    def select(self, timeout: float | None) -> tuple[()]:
        """Where other loops wait, time jumps."""
        if timeout is None:
            raise Stuck
        self._now += timeout
        return ()

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Any = None
    ) -> asyncio.Handle:
        """As in every loop, but guarded."""
        handle = _Guarded(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., object], *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        """As in every loop, but guarded."""
        timer = _GuardedTimer(when, callback, args, self, context)
        heapq.heappush(self._scheduled, timer)
        timer._scheduled = True  # type: ignore[attr-defined]
        return timer

    def put_back(self, handles: list[asyncio.Handle]) -> None:
        """Run what was held back."""
        self._ready.extend(handles)
        handles.clear()

    def end(self) -> None:
        """Unwind all tasks that are left, whatever they try, and close."""
        self.set_exception_handler(lambda _loop, _context: None)
        for _ in range(50):
            left = [task for task in self.tasks if not task.done()]
            if not left:
                break
            for task in left:
                task.cancel()
            self.run_until_complete(asyncio.sleep(0))
        self.run_until_complete(self.shutdown_asyncgens())
        self.close()

    def _keep(self, _loop: Any, coro: Coroutine[Any, Any, Any], **options: Any) -> "asyncio.Task[Any]":
        task = asyncio.Task(coro, loop=self, **options)
        self.tasks.append(task)
        return task

    def _complain(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if not isinstance(context.get("exception"), Dead):
            self.complaints.append(f"{context.get('message')}: {context.get('exception')!r}")

    def _process_events(self, _events: object) -> None:
        """There are none."""

    def _write_to_self(self) -> None:
        """Nobody waits."""
