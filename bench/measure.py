"""What benchmarks share: CPU time of child processes, tables, results as JSON. Does nothing when run."""

import json
import os
import platform
import statistics
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

RESULTS = Path(__file__).resolve().parent / "results"


@dataclass(frozen=True)
class Run:
    """One finished child process."""

    cpu_seconds: float
    exit_code: int
    stderr: str


@dataclass(frozen=True)
class Measurement:
    """CPU seconds of a repeated command; empty with an `error` when the command failed."""

    name: str
    cpu_seconds: tuple[float, ...] = ()
    error: str | None = None

    @property
    def median(self) -> float | None:
        """The middle of the runs, None without any."""
        return statistics.median(self.cpu_seconds) if self.cpu_seconds else None


def run_child(command: Sequence[str | Path], environment: Mapping[str, str] | None = None) -> Run:
    """Run a command to its end. CPU time is user plus system, of the child and of the children it awaited."""
    # Children keep their bytecode whatever this shell says: compiling on every run is not what users pay.
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryFile() as stderr:
        try:
            child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                env={**kept, **(environment or {})},
            )
        except OSError as error:
            return Run(0.0, 127, f"cannot be started: {error.strerror}")
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        stderr.seek(0)
        text = stderr.read().decode(errors="replace")
    return Run(usage.ru_utime + usage.ru_stime, child.returncode, text)


def measure(name: str, command: Sequence[str | Path], *, runs: int = 7) -> Measurement:
    """CPU time of several runs after one that warms the caches; stops at the first failure."""
    seconds: list[float] = []
    for _ in range(runs + 1):
        run = run_child(command)
        if run.exit_code != 0:
            return Measurement(name, error=describe_failure(run))
        seconds.append(run.cpu_seconds)
    return Measurement(name, cpu_seconds=tuple(seconds[1:]))


def describe_failure(run: Run) -> str:
    """Exit code and the last line the command wrote to standard error."""
    lines = run.stderr.strip().split("\n")
    return f"exit {run.exit_code}: {lines[-1].strip() or 'no message'}"


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table; the first column is text, the others are numbers set to the right."""
    table = Table(title=title, title_justify="left")
    for index, column in enumerate(columns):
        table.add_column(column, justify="right" if index else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    Console(markup=False).print(table)


def write_json(name: str, results: Mapping[str, Any]) -> Path:
    """Write results, with what they depend on, to `bench/results/<name>.json`."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    machine = {
        "python": platform.python_version(),
        "cpu_count": os.cpu_count(),
        "system": platform.system(),
        "architecture": platform.machine(),
    }
    file = RESULTS / f"{name}.json"
    file.write_text(json.dumps({"machine": machine, **results}, indent=2) + "\n", encoding="utf-8")
    return file
