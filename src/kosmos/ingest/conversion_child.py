"""The processes that convert. A server has the libraries loaded and forks one child for each file.

The server never touches a file: it reads one request a line, forks, watches and reports. The child reads
one file, writes one result, and ends. A start costs milliseconds, and no file meets the remains of another.
"""

import gc
import importlib
import json
import os
import select
import shutil
import signal
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from kosmos.domain.hints import Hints
from kosmos.errors import ConversionFailed, KosmosError
from kosmos.ingest import confinement
from kosmos.ingest.conversion_result import write_failure, write_result
from kosmos.ingest.extraction import extract_canonical
from kosmos.ingest.limits import MB, Limits

# Private memory that is reserved and never used: stacks of threads, arenas of allocators.
DATA_SLACK = 128 * MB
_LOOK_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Request:
    """One file to convert, as the server is told of it."""

    kind: str
    name: str
    source: str
    folder: str
    limits: dict[str, Any]
    hints: dict[str, Any]


def serve() -> None:
    """Answer requests until nobody is left to send one."""
    confinement.leave_network()
    confinement.step_back()
    while line := sys.stdin.buffer.readline():
        request = Request(**json.loads(line))
        _warm(request.kind)
        pid = os.fork()
        if pid == 0:
            _run(request)
        report = {**_watch(pid, request), "written": _size(Path(request.folder) / "result")}
        if report["reason"] == "orphan":
            shutil.rmtree(request.folder, ignore_errors=True)
        sys.stdout.buffer.write(json.dumps(report).encode() + b"\n")
        sys.stdout.buffer.flush()


def _warm(kind: str) -> None:
    """Load the libraries of a format before the fork, so that each child finds them loaded."""
    name = f"kosmos.ingest.formats.{kind}"
    if name in sys.modules:
        return
    with suppress(ImportError):
        module = importlib.import_module(name)
        for library in getattr(module, "WARM", ()):
            importlib.import_module(library)
        # One run over a text of our own compiles expressions and fills caches for all that follow.
        if sample := getattr(module, "WARM_SAMPLE", b""):
            extract_canonical(kind, sample, "sample", limits=Limits())
    # What is loaded now is never collected, so children do not copy its pages by looking at it.
    gc.collect()
    gc.freeze()


def _size(path: Path) -> int:
    with suppress(OSError):
        return path.lstat().st_size
    return 0


def _watch(pid: int, request: Request) -> dict[str, Any]:
    """Wait for a child; end it when it takes too long, holds too much or nobody waits for it any more."""
    deadline, reason = time.monotonic() + request.limits["seconds"], ""
    ended = _Ending(pid)
    while not ended.within(_LOOK_SECONDS):
        if time.monotonic() > deadline:
            reason = "time"
        elif _resident(pid) > request.limits["memory_bytes"]:
            reason = "memory"
        elif select.select([0], [], [], 0)[0]:
            reason = "orphan"
        if reason:
            os.kill(pid, signal.SIGKILL)
            break
    _, status, usage = os.wait4(pid, 0)
    ended.close()
    return {
        "status": os.waitstatus_to_exitcode(status),
        "reason": reason,
        "cpu": usage.ru_utime + usage.ru_stime,
        "memory": usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
    }


class _Ending:
    """The end of a child, waited for without reaping it."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._file = os.pidfd_open(pid) if hasattr(os, "pidfd_open") else -1

    def within(self, seconds: float) -> bool:
        """Whether the child ends within so many seconds, or has ended before."""
        if self._file >= 0:
            return bool(select.select([self._file], [], [], seconds)[0])
        until = time.monotonic() + seconds
        while not os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            if time.monotonic() > until:
                return False
            time.sleep(0.002)
        return True

    def close(self) -> None:
        """Give the file descriptor back."""
        if self._file >= 0:
            os.close(self._file)


def _resident(pid: int) -> int:
    """Bytes of memory that a process holds; 0 where the system does not tell."""
    with suppress(OSError, ValueError, IndexError):
        pages = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")
    return 0


def _run(request: Request) -> NoReturn:
    """The life of a child. It never returns to the server's loop, whatever happens."""
    code = 1
    try:
        _confine(request)
        _convert(request)
        code = 0
    except MemoryError:
        code = 3
    except BaseException:  # noqa: BLE001  (the last boundary of a process)
        code = 2
    finally:
        os._exit(code)


def _confine(request: Request) -> None:
    confinement.die_with_parent()
    confinement.close_files()
    os.chdir(request.folder)
    os.environ["TMPDIR"] = os.environ["HOME"] = tempfile.tempdir = request.folder
    limits = Limits(**request.limits)
    confinement.limit_resources(
        cpu_seconds=limits.cpu_seconds,
        data_bytes=limits.memory_bytes + DATA_SLACK,
        file_bytes=limits.canonical_bytes + limits.figure_bytes + 16 * MB,
    )
    confinement.forbid_outside()


def _convert(request: Request) -> None:
    path = Path(request.folder) / "result"
    limits, hints = Limits(**request.limits), Hints(**{**request.hints, **_tuples(request.hints)})
    try:
        with Path(request.source).open("rb") as file:
            data = file.read(limits.original_bytes)
        canonical, extract = extract_canonical(request.kind, data, request.name, limits=limits, hints=hints)
        del data
        write_result(path, canonical, extract)
    except KosmosError as error:
        write_failure(path, error)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001  (any library may raise anything on a hostile file)
        write_failure(path, _broken(request, error))


def _tuples(hints: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    return {key: tuple(hints[key]) for key in ("content", "noise")}


def _broken(request: Request, error: Exception) -> ConversionFailed:
    why = " ".join(str(error).split())[:200]
    return ConversionFailed(
        f"{request.name} could not be converted from {request.kind}: {type(error).__name__} {why}".strip(),
        remedy="The file is probably damaged; open it in its own program and save it anew.",
    )
