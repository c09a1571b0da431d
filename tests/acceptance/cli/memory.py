"""How much memory a command holds."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path

LOOK_SECONDS = 0.05
PAGE = os.sysconf("SC_PAGE_SIZE")


class MemoryWatch:
    """Looks at a process and all that it has started; `peak` is the most they held together, in bytes."""

    def __init__(self, pid: int) -> None:
        self.peak = 0
        self._pid = pid
        self._done = threading.Event()

    def run(self) -> None:
        """Look until told to stop."""
        while not self._done.wait(LOOK_SECONDS):
            self.peak = max(self.peak, sum(_resident(pid) for pid in _family(self._pid)))

    def stop(self) -> None:
        """Look no more."""
        self._done.set()


def _family(pid: int) -> Iterator[int]:
    yield pid
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        children = [child for thread in threads for child in (thread / "children").read_text().split()]
    except OSError:
        return  # it has just ended
    for child in children:
        yield from _family(int(child))


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE
    except OSError:
        return 0
