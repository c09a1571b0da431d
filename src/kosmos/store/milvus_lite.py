"""Milvus Lite: a folder that one process may open. That process lets the others in by a socket beside it.

Whoever comes first hosts it. When the host has ended, another one that uses the folder hosts it, at the
same socket, within a second or as soon as it has something to ask.
"""

import atexit
import contextlib
import fcntl
import hashlib
import logging
import os
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kosmos.errors import ConfigError, EngineUnavailable

log = logging.getLogger(__name__)

WATCH_SECONDS = 0.5
PATIENCE_SECONDS = 20.0  # a host that is just starting or ending
_LONGEST_SOCKET = 90  # bytes of a path that every system takes as the name of a socket
_PORT = ":0"  # what Milvus Lite puts behind any address

_files: dict[str, "LiteFile"] = {}
_guard = threading.Lock()


class LiteFile:
    """The folder as one process uses it: hosted here, or reached through its host."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._socket = _socket_of(path)
        self.address = f"unix:{self._socket}"
        self.users = 0
        self._hosting = threading.Lock()
        self._hosted: tuple[Any, Any] | None = None
        self._ended = threading.Event()
        self._watch = threading.Thread(target=self._keep_hosted, name="milvus lite", daemon=True)

    def enter(self) -> None:
        """Host the folder or find its host."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.be_hosted()
        self._watch.start()

    def be_hosted(self) -> None:
        """Return once somebody hosts the folder: this process, if nobody else does."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self._hosted is None and not (self._answers() or self._host()):
            if time.monotonic() > deadline:
                raise EngineUnavailable(
                    f"The index {self.path} is open in a process that lets no other in.",
                    remedy="Stop whatever has it open, or use a folder, PostgreSQL or a Milvus server.",
                )
            time.sleep(0.1)

    def leave(self) -> None:
        """Let go of it; others may host it then."""
        self._ended.set()
        self._watch.join()
        if self._hosted is not None:
            server, db = self._hosted
            self._hosted = None
            server.stop(grace=2).wait()
            db.close()

    def _keep_hosted(self) -> None:
        """Take the place of a host that has ended."""
        while not self._ended.wait(WATCH_SECONDS):
            if self._hosted is None and not self._answers():
                try:
                    self._host()
                except Exception:
                    log.exception("the index cannot be opened")

    def _host(self) -> bool:
        """Open the folder and serve it, unless another process has it."""
        try:
            from milvus_lite.adapter.grpc.server import (  # type: ignore[import-untyped]
                start_server_in_thread,
            )
            from milvus_lite.exceptions import DataDirLockedError  # type: ignore[import-untyped]
        except ImportError:
            raise ConfigError(
                "The index is in Milvus Lite, which is not installed.",
                remedy="Run: pip install 'kosmos[milvus]'",
            ) from None
        host = self.address.removesuffix(_PORT)
        with self._hosting:
            if self._hosted is not None:
                return True
            try:
                # One thread: Milvus Lite does not stand two writers in a collection.
                server, db, _ = start_server_in_thread(str(self.path), host=host, port=0, max_workers=1)
            except DataDirLockedError:
                return False
            self._socket.chmod(0o600)
            self._hosted = server, db
            return True

    def _answers(self) -> bool:
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(str(self._socket))
            except OSError:
                return False
            return True


def enter(path: str) -> LiteFile:
    """The folder, open in this process; whoever enters has to leave."""
    place = Path(path).absolute()
    with _guard:
        file = _files.get(str(place))
        if file is None:
            file = LiteFile(place)
            file.enter()
            _files[str(place)] = file
        file.users += 1
        return file


def leave(file: LiteFile) -> None:
    """The last one to leave closes the folder."""
    with _guard:
        file.users -= 1
        if file.users == 0:
            del _files[str(file.path)]
            file.leave()


@atexit.register
def _leave_all() -> None:
    """What nobody has closed is closed in the end, so that the next host need not repair it."""
    while _files:
        _files.popitem()[1].leave()


@contextlib.contextmanager
def writing(path: str) -> Iterator[None]:
    """One writer at a time among all processes: a collection may be written anew meanwhile."""
    with Path(path + ".lock").open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _socket_of(path: Path) -> Path:
    """Beside the folder; where that name is too long for a socket, in a folder of the user alone."""
    beside = Path(f"{path}.sock{_PORT}")
    if len(os.fsencode(beside)) <= _LONGEST_SOCKET:
        return beside
    folder = Path(tempfile.gettempdir()) / f"kosmos-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if found.st_uid != os.getuid() or found.st_mode & 0o077 or not folder.is_dir() or folder.is_symlink():
        raise ConfigError(f"{folder} is not a private folder of yours.", remedy="Remove it, or set TMPDIR.")
    digest = hashlib.sha256(os.fsencode(path)).hexdigest()[:20]
    return folder / f"{digest}{_PORT}"
