"""One worker process of a chunking storm. Does nothing when run."""

import asyncio
import logging
import os
import threading
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from kosmos.app import open_app
from kosmos.config import Settings
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


def run(name: str, home: Path, lease: float) -> None:
    """Work until killed, or until whoever started this is gone."""
    log = home / "workers.log"
    logging.basicConfig(filename=log, level=logging.INFO, format=f"%(asctime)s {name} %(name)s %(message)s")
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    asyncio.run(_work(name, home, lease))


async def _work(name: str, home: Path, lease: float) -> None:
    async with open_app(Settings(home=home)) as app:
        registry = patient(app.bench)
        worker = Worker(app.bench.db, registry, name=name, slots=1, lease=timedelta(seconds=lease))
        await worker.run()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)
