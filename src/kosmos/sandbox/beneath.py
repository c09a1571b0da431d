"""Paths that cannot leave a folder: the kernel resolves them, and refuses links and `..` beyond the top."""

import ctypes
import errno
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import IntFlag

from kosmos.errors import EngineUnavailable, Forbidden, InvalidInput, KosmosError, NotFound, TooLarge

_OPENAT2 = 437
_TRIES = 20  # the kernel gives up when names change under it, and may be asked again
_NO_REPLACE = 1


class Resolve(IntFlag):
    """How a path is followed."""

    NO_MAGICLINKS = 0x02
    NO_SYMLINKS = 0x04
    BENEATH = 0x08


STRICT = Resolve.BENEATH | Resolve.NO_SYMLINKS | Resolve.NO_MAGICLINKS
_libc = ctypes.CDLL(None, use_errno=True)


def open_beneath(folder: int, path: str, flags: int, *, resolve: Resolve = STRICT) -> int:
    """Open a path below an open folder; Forbidden when it leads out or through a link."""
    check_path(path)
    how = struct.pack("QQQ", flags | os.O_CLOEXEC, 0, int(resolve))
    for _ in range(_TRIES):
        fd: int = _libc.syscall(_OPENAT2, folder, os.fsencode(path), how, len(how))
        if fd >= 0:
            return fd
        if ctypes.get_errno() != errno.EAGAIN:
            break
    raise refusal(ctypes.get_errno(), path)


@contextmanager
def parent_of(folder: int, path: str, *, resolve: Resolve = STRICT) -> Iterator[tuple[int, str]]:
    """The open folder that holds the last name of a path, and that name."""
    check_path(path)
    above, _, name = path.rstrip("/").rpartition("/")
    if name in {"", ".", ".."} or path.startswith("/"):
        raise Forbidden(f"{path!r} names no file below the workspace.", remedy="Give a path relative to it.")
    fd = open_beneath(folder, above or ".", os.O_PATH | os.O_DIRECTORY, resolve=resolve)
    try:
        yield fd, name
    finally:
        os.close(fd)


def rename_new(source: tuple[int, str], target: tuple[int, str]) -> None:
    """Rename, never over something that exists."""
    names = [os.fsencode(name) for _, name in (source, target)]
    if _libc.renameat2(source[0], names[0], target[0], names[1], _NO_REPLACE) != 0:
        raise refusal(ctypes.get_errno(), target[1])


def check_path(path: str) -> None:
    """InvalidInput unless the text can be a path at all."""
    if not path or "\0" in path or len(path) > 4096:
        raise InvalidInput("This is no path.", remedy="Give a path relative to the workspace, or `.`.")
    with suppress(UnicodeEncodeError):
        os.fsencode(path)
        return
    raise InvalidInput("This is no path: it is not valid UTF-8.")


def refusal(number: int, path: str) -> KosmosError:
    """What the kernel's refusal means for the caller."""
    if number in {errno.EXDEV, errno.ELOOP}:
        return Forbidden(
            f"{path!r} leads out of the workspace or through a link.",
            remedy="Give a path relative to the workspace that has no links in it.",
        )
    if number in {errno.ENOENT, errno.ENOTDIR}:
        return NotFound(f"There is no {path!r} in the workspace.")
    if number in {errno.EFBIG, errno.ENAMETOOLONG, errno.ENOSPC}:
        return TooLarge(f"{path!r}: {os.strerror(number)}.")
    if number == errno.ENOSYS:
        return EngineUnavailable("This system lacks openat2.", remedy="Linux 5.6 or newer is needed.")
    return InvalidInput(f"{path!r}: {os.strerror(number)}.")
