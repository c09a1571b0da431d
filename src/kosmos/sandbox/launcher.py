"""Confines itself and becomes the command: the way without bubblewrap. Run as a process of its own.

`kosmos.sandbox.box` starts it; the order comes as JSON over a file descriptor.
"""

import ctypes
import json
import os
import resource
import signal
import sys
from pathlib import Path
from typing import Any

from kosmos.sandbox import landlock

_NEW = {"user": 0x10000000, "pid": 0x20000000, "net": 0x40000000, "ipc": 0x08000000, "uts": 0x04000000}
_DEATH_SIGNAL, _DUMPABLE, _SECCOMP, _FILTER = 1, 4, 22, 2
FAILED = 125


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def main(fd: int) -> int:
    """Read the order, confine this process, run the command; its exit code."""
    with os.fdopen(fd, "rb") as stream:
        order = json.loads(stream.read())
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    try:
        _leave(libc, order)
        child = os.fork()
        if child == 0:
            _become(libc, order)
    except OSError as error:
        sys.stderr.write(f"sandbox: {error}\n")
        return FAILED
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _leave(libc: ctypes.CDLL, order: dict[str, Any]) -> None:
    if os.geteuid() == 0:
        user, group = order["user"]
        os.setgroups([])
        os.setresgid(group, group, group)
        os.setresuid(user, user, user)
        libc.prctl(_DUMPABLE, 1, 0, 0, 0)  # or the maps below would belong to root
    user, group = os.geteuid(), os.getegid()
    wanted = sum(_NEW[name] for name in order["namespaces"])
    if libc.unshare(wanted) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"namespaces are not available: {os.strerror(number)}")
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/gid_map").write_text(f"{order['uid']} {group} 1")
    Path("/proc/self/uid_map").write_text(f"{order['uid']} {user} 1")


def _become(libc: ctypes.CDLL, order: dict[str, Any]) -> None:
    """The first process of the new tree: when it ends, the whole tree does."""
    try:
        libc.prctl(_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
        os.setsid()
        os.chdir(order["cwd"])
        for name, value in order["limits"]:
            _limit(getattr(resource, f"RLIMIT_{name.upper()}"), value)
        landlock.restrict(order["read"], order["write"], network=order["network"])
        os.closerange(3, 65536)
        program = bytes.fromhex(order["seccomp"])
        block = _Program(len(program) // 8, program)
        if program and libc.prctl(_SECCOMP, _FILTER, ctypes.byref(block), 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "the seccomp filter was refused")
        os.execve(order["argv"][0], order["argv"], order["environment"])  # noqa: S606
    except OSError as error:
        os.write(2, f"sandbox: {error}\n".encode())
    os._exit(FAILED)


def _limit(what: int, value: int) -> None:
    _, most = resource.getrlimit(what)
    least = value if most == resource.RLIM_INFINITY else min(value, most)
    resource.setrlimit(what, (least, least))
