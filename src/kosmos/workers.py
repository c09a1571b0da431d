"""Workers as processes host them: beside the server, alone, or woken by Dramatiq."""

import asyncio
import os
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from kosmos.app import App, open_app
from kosmos.bells import Bell
from kosmos.config import Settings
from kosmos.errors import ConfigError
from kosmos.jobs.hosting import JobThread
from kosmos.jobs.worker import Worker
from kosmos.tasks.job_types import make_registry
from kosmos.telemetry.serving import serving_metrics


@asynccontextmanager
async def open_worker(settings: Settings, slots: int, bell: Bell | None = None) -> AsyncIterator[Worker]:
    """A worker with engines of its own, and with the bell of its process."""
    async with open_app(settings, bell=bell) as app:
        yield make_worker(app, slots)


def make_worker(app: App, slots: int) -> Worker:
    """A worker on the engines of an application, named so that its jobs show where they run."""
    name = f"{socket.gethostname()}:{os.getpid()}:{threading.get_ident() % 10_000}"
    bench = app.bench
    worker = Worker(bench.db, make_registry(bench), name=name[:128], slots=slots, clock=bench.clock)
    worker.bell = bench.bell
    return worker


@asynccontextmanager
async def working_beside(app: App, *, at_least: int = 0) -> AsyncIterator[None]:
    """Work on jobs in a thread of this process for as long as the block lasts."""
    slots = max(app.settings.worker_slots, at_least)
    if slots == 0:
        yield
        return
    thread = JobThread(lambda: open_worker(app.settings, slots, app.bench.bell))
    await asyncio.to_thread(thread.start)
    try:
        yield
    finally:
        await asyncio.to_thread(thread.stop)


@contextmanager
def polling_worker(settings: Settings, slots: int) -> Iterator[None]:
    """A worker that looks for due jobs by itself."""
    thread = JobThread(lambda: open_worker(settings, slots))
    thread.start()
    try:
        yield
    finally:
        thread.stop()


@contextmanager
def dramatiq_worker(settings: Settings, slots: int) -> Iterator[None]:
    """A worker that Dramatiq wakes; a sweeper beside it sends what is due."""
    if settings.redis_url is None:
        raise ConfigError(
            "Dramatiq needs a Redis.", remedy="Set KOSMOS_REDIS_URL, e.g. to redis://127.0.0.1:6379/0"
        )
    try:
        from kosmos.jobs.dramatiq_runner import DramatiqRunner
    except ImportError:
        raise ConfigError("Dramatiq is not installed.", remedy="Run: pip install 'kosmos[redis]'") from None
    thread = JobThread(lambda: open_worker(settings, slots), polling=False)
    thread.start()
    runner = DramatiqRunner(settings.redis_url, thread, threads=slots)
    runner.start()
    try:
        yield
    finally:
        runner.stop()
        thread.stop()


@contextmanager
def counted(settings: Settings, host: str, port: int | None) -> Iterator[None]:
    """Show what this process counts at a port, if there is one."""
    if port is None:
        yield
        return
    secret = settings.metrics_token.get_secret_value() if settings.metrics_token else None
    with serving_metrics(host, port, secret):
        yield


async def drain(app: App, slots: int) -> None:
    """Work in this event loop until nothing is due and nothing runs."""
    worker = make_worker(app, max(1, slots))
    running = asyncio.create_task(worker.run())
    try:
        await worker.idle()
    finally:
        worker.stop()
        await running
