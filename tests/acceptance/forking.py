"""Starts commands in processes forked from one that has loaded everything: imports are paid for once."""

import multiprocessing
import os
import runpy
import signal
from multiprocessing.process import BaseProcess
from pathlib import Path

_FORKED = Path(__file__).parent / "cli" / "forked.py"
_LOADED = ["kosmos.cli.main", "kosmos.app", "kosmos.tasks.folders", "kosmos.tasks.asking", "kosmos.doctor"]
_LOADED += ["kosmos.llm.client", "kosmos.config.logs", "kosmos.tasks.documents", "rich.console", "rich.table"]
_LOADED += ["kosmos.api.application", "kosmos.workers", "uvicorn"]


def fork(arguments: list[str], environ: dict[str, str], streams: list[Path]) -> BaseProcess:
    """The command as a process, with these files as its standard input, output and errors."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_LOADED)
    request = {"arguments": arguments, "environ": environ, "streams": [str(path) for path in streams]}
    process = context.Process(target=runpy.run_path, args=(str(_FORKED), {"request": request}))
    process.start()
    return process


class Forked:
    """A command that goes on until it is stopped; what it says on standard error goes into a file."""

    def __init__(self, arguments: list[str], environ: dict[str, str], log: Path) -> None:
        null = Path(os.devnull)
        log.touch()
        self._process = fork(arguments, environ, [null, null, log])

    def poll(self) -> int | None:
        """Its exit code, None while it runs."""
        return self._process.exitcode

    def send_signal(self, number: signal.Signals) -> None:
        """Send it a signal, if it still runs."""
        if self._process.exitcode is None and self._process.pid is not None:
            os.kill(self._process.pid, number)

    def wait(self, timeout: float) -> None:
        """Return once it is gone."""
        self._process.join(timeout)
        assert self._process.exitcode is not None, "it does not end"
