"""The worker processes of a chaos run: started, killed, frozen, thawed. Does nothing when run."""

import contextlib
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import IO

WORKER = Path(__file__).with_name("chaos_worker.py")
STOP_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Setting:
    """What every worker of a run is told."""

    database: str
    folder: Path
    lease: float
    slots: int
    redis: str = ""

    @property
    def calls(self) -> Path:
        """The file in which calls are noted."""
        return self.folder / "calls"

    def command(self, name: str) -> list[str]:
        """How to start a worker."""
        words = [sys.executable, str(WORKER), name, self.database, str(self.calls)]
        return [*words, str(self.lease), str(self.slots), *([self.redis] if self.redis else [])]


class Crew:
    """A fixed number of workers; one that is killed is replaced at once."""

    def __init__(self, setting: Setting, size: int) -> None:
        self._setting = setting
        self._log: IO[bytes] = (setting.folder / "workers.log").open("ab")
        self._started = 0
        self._workers: dict[str, subprocess.Popen[bytes]] = {}
        self._frozen: set[str] = set()
        for _ in range(size):
            self._start()

    def _start(self) -> None:
        self._started += 1
        name = f"w{self._started}"
        self._workers[name] = subprocess.Popen(
            self._setting.command(name), stdout=self._log, stderr=self._log
        )

    @property
    def frozen(self) -> int:
        """How many stand still."""
        return len(self._frozen)

    def can_be_struck(self, name: str) -> bool:
        """Whether it runs."""
        return name in self._workers and name not in self._frozen

    def crashed(self) -> list[str]:
        """Those that ended although nobody killed them."""
        return [name for name, process in self._workers.items() if process.poll() is not None]

    def kill(self, name: str, *, replace: bool = True) -> None:
        """Kill -9."""
        process = self._workers.pop(name)
        process.kill()
        process.wait()
        if replace:
            self._start()

    def freeze(self, name: str) -> None:
        """Stop it where it stands."""
        self._frozen.add(name)
        os.kill(self._workers[name].pid, signal.SIGSTOP)

    def thaw(self, name: str) -> None:
        """Let it go on as if nothing had happened."""
        os.kill(self._workers[name].pid, signal.SIGCONT)
        self._frozen.discard(name)

    def stop(self) -> None:
        """Ask all to stop; kill those that do not."""
        for name, process in self._workers.items():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGCONT if name in self._frozen else signal.SIGTERM)
                process.terminate()
        for process in self._workers.values():
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._log.close()
