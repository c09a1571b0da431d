"""What a converting process may not do: reach the network, start programs, grow, or run for ever.

Each measure is applied where the system has it; none depends on another.
"""

import ctypes
import os
import resource
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

_NEWUSER, _NEWNET = 0x10000000, 0x40000000
_SET_DEATH_SIGNAL, _SET_NO_NEW_PRIVILEGES = 1, 38
_FORBIDDEN = frozenset(
    {
        "os.exec",
        "os.fork",
        "os.forkpty",
        "os.posix_spawn",
        "os.spawn",
        "os.system",
        "pty.spawn",
        "socket.__new__",
        "socket.bind",
        "socket.connect",
        "socket.getaddrinfo",
        "socket.gethostbyname",
        "socket.sendto",
        "subprocess.Popen",
    }
)


def leave_network() -> bool:
    """Move this process to a network of its own, with nothing in it; whether the system allowed that."""
    if not sys.platform.startswith("linux"):
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_NEWNET) == 0:
        return True
    user, group = os.getuid(), os.getgid()
    if libc.unshare(_NEWUSER | _NEWNET) != 0:
        return False
    # Without a map the process could make no file: its user would have no number.
    with suppress(OSError):
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    return True


def step_back() -> None:
    """Yield to everything else: low priority, first to go when memory runs out, no core files."""
    with suppress(OSError):
        os.nice(10)
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def die_with_parent() -> None:
    """Ask the system to end this process with the one that started it, and to grant it nothing more."""
    if sys.platform.startswith("linux"):
        libc = ctypes.CDLL(None)
        libc.prctl(_SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
        libc.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0)


def limit_resources(*, cpu_seconds: int, data_bytes: int, file_bytes: int) -> None:
    """Limits that the system enforces: the process is killed, or its request for memory fails."""
    _limit(resource.RLIMIT_CPU, cpu_seconds, cpu_seconds + 5)
    # Private memory only: address space is no measure, libraries reserve much that they never use.
    _limit(resource.RLIMIT_DATA, data_bytes, data_bytes)
    _limit(resource.RLIMIT_FSIZE, file_bytes, file_bytes)
    _limit(resource.RLIMIT_NOFILE, 64, 64)


def close_files() -> None:
    """Leave no file open: standard streams lead nowhere, everything else is closed."""
    null = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(null, number)
    os.closerange(3, 4096)


def forbid_outside() -> None:
    """Refuse sockets and programs to all Python code of this process; cannot be undone."""
    sys.addaudithook(_refuse)


def _refuse(event: str, _: tuple[Any, ...]) -> None:
    if event in _FORBIDDEN:
        raise PermissionError(f"{event} is not allowed while a file is converted")


def _limit(what: int, soft: int, hard: int) -> None:
    _, most = resource.getrlimit(what)
    if most != resource.RLIM_INFINITY:
        soft, hard = min(soft, most), min(hard, most)
    with suppress(OSError, ValueError):
        resource.setrlimit(what, (soft, hard))
