"""Landlock through the bare system calls: which paths a process may still open."""

import ctypes
import os
import struct
from collections.abc import Iterable

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_NO_NEW_PRIVILEGES = 38
MINIMUM = 3  # below it files can be truncated although they must not be written
_EXECUTE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 2, 1 << 3
_DEVICES = 1 << 6 | 1 << 11
_OF_FILES = _EXECUTE | 1 << 1 | _READ_FILE | 1 << 14 | 1 << 15
READ = _EXECUTE | _READ_FILE | _READ_DIR


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def abi() -> int:
    """The version that the kernel speaks; 0 without Landlock."""
    found: int = _libc().syscall(_CREATE, None, 0, 1)
    return max(0, found)


def _handled(version: int) -> int:
    bits = 13 + (version >= 2) + (version >= 3) + (version >= 5)
    return (1 << bits) - 1


def restrict(read: Iterable[str], write: Iterable[str], *, network: bool) -> None:
    """Leave this process and its children only these paths; cannot be undone."""
    version, libc = abi(), _libc()
    handled = _handled(version)
    sockets = 0b11 if version >= 4 and not network else 0
    scoped = 0b11 if version >= 6 else 0
    attributes = struct.pack("QQQ", handled, sockets, scoped)[
        : 8 if version < 4 else 16 if version < 6 else 24
    ]
    ruleset = _checked(libc.syscall(_CREATE, attributes, len(attributes), 0))
    for path in read:
        _allow(libc, ruleset, path, READ & handled)
    for path in write:
        _allow(libc, ruleset, path, handled & ~_DEVICES)
    _checked(libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    _checked(libc.syscall(_RESTRICT, ruleset, 0))
    os.close(ruleset)


def _allow(libc: ctypes.CDLL, ruleset: int, path: str, rights: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    if not os.path.isdir(path):  # noqa: PTH112
        rights &= _OF_FILES
    rule = struct.pack("=Qi", rights, fd)
    _checked(libc.syscall(_ADD, ruleset, 1, rule, 0))
    os.close(fd)


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
