"""One worker process of a chunking storm: `chaos_chunking_worker.py NAME LEASE`, its home in KOSMOS_HOME."""

import asyncio
import logging
import os
import sys
import threading
import time
from dataclasses import replace
from datetime import timedelta

from kosmos.app import open_app
from kosmos.config import load_settings
from kosmos.jobs.registry import Registry
from kosmos.jobs.worker import Worker
from kosmos.tasks.job_types import TASK_TYPES, make_registry
from kosmos.tasks.workbench import Workbench

CLAIMS = 30  # enough that the storm never makes a job give up


def patient(bench: Workbench) -> Registry:
    """The product's types of jobs, which bear more crashes in a row."""
    registry = make_registry(bench)
    known = [registry.get(name) for name in TASK_TYPES if registry.known(name)]
    return Registry(*(replace(kind, max_attempts=CLAIMS) for kind in known))


async def work(name: str, lease: float) -> None:
    """Work until killed."""
    async with open_app(load_settings()) as app:
        registry = patient(app.bench)
        worker = Worker(app.bench.db, registry, name=name, slots=1, lease=timedelta(seconds=lease))
        await worker.run()


def end_with(parent: int) -> None:
    """End this process when whoever started it is gone."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s {sys.argv[1]} %(name)s %(message)s")
    threading.Thread(target=end_with, args=(os.getppid(),), daemon=True).start()
    asyncio.run(work(sys.argv[1], float(sys.argv[2])))
