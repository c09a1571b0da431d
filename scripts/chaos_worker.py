"""One worker process of a chaos run: `chaos_worker.py NAME DATABASE CALLS LEASE SLOTS [REDIS]`."""

import logging
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

from chaos_ledger import Labour

from kosmos.db import Database
from kosmos.jobs.hosting import JobThread
from kosmos.jobs.worker import Worker


def host(name: str, url: str, *, calls: Path, lease: float, slots: int, polling: bool) -> JobThread:
    """The product's job thread around the product's worker, with a type of job that it does not ship."""
    labour = Labour(calls)

    @asynccontextmanager
    async def make() -> AsyncIterator[Worker]:
        db = Database(url)
        try:
            yield Worker(db, labour.registry(), name=name, slots=slots, lease=timedelta(seconds=lease))
        finally:
            await db.close()

    return JobThread(make, polling=polling)


def main() -> None:
    """Work until told to stop, or until whoever started this is gone."""
    name, url, calls, lease, slots, redis = (*sys.argv[1:], "")[:6]
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s {name} %(name)s %(message)s")
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    parent = os.getppid()
    thread = host(name, url, calls=Path(calls), lease=float(lease), slots=int(slots), polling=not redis)
    thread.start()
    runner = None
    if redis:
        from kosmos.jobs.dramatiq_runner import DramatiqRunner

        runner = DramatiqRunner(redis, thread, threads=int(slots))
        runner.start()
    while not stop.wait(1.0) and os.getppid() == parent:
        pass
    (runner or thread).stop()


if __name__ == "__main__":
    main()
