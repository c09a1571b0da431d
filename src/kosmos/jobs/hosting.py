"""A worker in a thread of its own: what a handler does to the event loop, it does to this one only."""

import asyncio
import contextlib
import ctypes
import logging
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

from kosmos.jobs.worker import Worker

log = logging.getLogger(__name__)
T = TypeVar("T")

BEAT_SECONDS = 0.5
HANG_SECONDS = 30.0
RESTART_SECONDS = 1.0

MakeWorker = Callable[[], AbstractAsyncContextManager[Worker]]


class HandlerHung(Exception):
    """A handler kept the event loop for itself and was interrupted."""


class JobThread:
    """Hosts a worker. `make` opens it, with a database of its own, inside the thread's event loop.

    A handler that never yields would stop all jobs of this process: the watchdog raises `HandlerHung`
    inside it, and the job fails or is tried again like after any other error. Should the event loop
    itself break, a new one is started.
    """

    def __init__(self, make: MakeWorker, *, polling: bool = True, hang_seconds: float = HANG_SECONDS) -> None:
        self._make = make
        self._polling = polling
        self._hang_seconds = hang_seconds
        self._opened: Future[None] = Future()
        self._hosted: tuple[Worker, asyncio.AbstractEventLoop] | None = None
        self._stop = threading.Event()
        self._beats = 0
        self._heart: asyncio.Task[None] | None = None
        self._thread = threading.Thread(target=self._main, name="jobs", daemon=True)
        self._watchdog = threading.Thread(target=self._watch, name="jobs watchdog", daemon=True)

    def start(self) -> None:
        """Start, and return when the worker is open; what kept it from opening is raised here."""
        self._thread.start()
        self._opened.result()
        self._watchdog.start()

    def wake(self) -> None:
        """Let the worker look for work now. May be called from any thread."""
        self._tell(Worker.wake)

    def submit(self, work: Callable[[Worker], Coroutine[Any, Any, T]]) -> "Future[T]":
        """Run something in the thread's event loop; RuntimeError when it does not run at the moment."""
        hosted = self._hosted
        if hosted is None or self._stop.is_set():
            raise RuntimeError("the job thread does not run")
        worker, loop = hosted
        return asyncio.run_coroutine_threadsafe(work(worker), loop)

    def stop(self, wait_seconds: float = 20.0) -> None:
        """Give running jobs back and end the thread."""
        self._stop.set()
        self._tell(Worker.stop)
        self._thread.join(wait_seconds)

    def _tell(self, what: Callable[[Worker], None]) -> None:
        if (hosted := self._hosted) is not None:
            with contextlib.suppress(RuntimeError):  # the loop has just been closed
                hosted[1].call_soon_threadsafe(what, hosted[0])

    def _main(self) -> None:
        while not self._stop.is_set():
            try:
                asyncio.run(self._host())
            except BaseException as error:
                if not self._opened.done():
                    self._opened.set_exception(error)
                    return
                log.exception("the job thread broke; starting it again")
                self._stop.wait(RESTART_SECONDS)

    async def _host(self) -> None:
        async with self._make() as worker:
            self._heart = asyncio.create_task(self._heartbeat(), name="heartbeat")
            self._hosted = worker, asyncio.get_running_loop()
            if not self._opened.done():
                self._opened.set_result(None)
            try:
                await self._serve(worker)
            finally:
                self._hosted = None
                await _end_others()

    async def _serve(self, worker: Worker) -> None:
        if self._stop.is_set():
            return
        if self._polling:
            await worker.run()
            return
        async with worker.keeping():
            await worker.stopped()

    async def _heartbeat(self) -> None:
        while True:
            self._beats += 1
            await asyncio.sleep(BEAT_SECONDS)

    def _watch(self) -> None:
        """Count looks without a heartbeat in between, not time: the whole process may have stood still."""
        beats, silent = self._beats, 0
        while not self._stop.wait(BEAT_SECONDS):
            silent = silent + 1 if self._beats == beats and self._hosted is not None else 0
            beats = self._beats
            if silent * BEAT_SECONDS > self._hang_seconds:
                log.error("a job handler blocks the worker; interrupting it")
                silent = 0
                _raise_in(self._thread, HandlerHung)


async def _end_others() -> None:
    """End the heartbeat and what was submitted and still goes on, while the database is there for it."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def _raise_in(thread: threading.Thread, error: type[BaseException]) -> None:
    """Raise an exception in another thread at its next step of Python code."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(error))
