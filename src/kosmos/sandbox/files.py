"""Files of a workspace: read, write, list, move, delete, with every path resolved beneath it."""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from kosmos.errors import Conflict, Forbidden, InvalidInput, TooLarge
from kosmos.sandbox.beneath import STRICT, Resolve, open_beneath, parent_of, refusal, rename_new

_KINDS = ((stat.S_ISDIR, "folder"), (stat.S_ISREG, "file"), (stat.S_ISLNK, "link"))


@dataclass(frozen=True, slots=True)
class Caps:
    """How much one file operation may move."""

    read_bytes: int = 2**20
    write_bytes: int = 8 * 2**20
    entries: int = 2000


@dataclass(frozen=True, slots=True)
class Entry:
    """One name of a folder."""

    name: str
    kind: str  # file, folder, link, other
    size: int


@dataclass(frozen=True, slots=True)
class Part:
    """Part of a file."""

    data: bytes
    offset: int
    size: int  # of the whole file


class Workspace:
    """One folder and what is below it. `resolve` can be loosened: only to prove what it is for."""

    def __init__(self, root: Path, *, caps: Caps | None = None, resolve: Resolve = STRICT) -> None:
        self.root = root.resolve(strict=True)
        self.caps = caps or Caps()
        self.resolve = resolve
        self._fd = os.open(self.root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)

    def close(self) -> None:
        """Let the folder go."""
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1

    @contextmanager
    def open(self, path: str, flags: int) -> Iterator[int]:
        """An open file or folder, closed at the end."""
        fd = open_beneath(self._fd, path, flags, resolve=self.resolve)
        try:
            yield fd
        finally:
            os.close(fd)

    def read(self, path: str, *, offset: int = 0, limit: int | None = None) -> Part:
        """Part of an ordinary file."""
        if offset < 0 or (limit is not None and limit < 0):
            raise InvalidInput("Offset and limit cannot be negative.")
        most = min(limit if limit is not None else self.caps.read_bytes, self.caps.read_bytes)
        # Not waiting: a named pipe without a writer would hold us for ever.
        with self.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY) as fd:
            found = _ordinary(fd, path)
            return Part(os.pread(fd, most, offset), offset, found.st_size)

    def write(self, path: str, data: bytes) -> None:
        """Put a whole file in place at once; what was there before stays until then."""
        if len(data) > self.caps.write_bytes:
            raise TooLarge(f"{len(data)} bytes; {self.caps.write_bytes} can be written at once.")
        with parent_of(self._fd, path, resolve=self.resolve) as (folder, name):
            mode = self._mode(folder, name)
            draft = f".{secrets.token_hex(8)}.part"
            try:
                _fill(folder, draft, data, mode)
                os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
            except OSError as error:
                raise refusal(error.errno or 0, path) from None
            finally:
                with suppress(OSError):
                    os.unlink(draft, dir_fd=folder)
            self._settle(path)

    def list(self, path: str = ".") -> list[Entry]:
        """The names of a folder, in order."""
        with self.open(path, os.O_RDONLY | os.O_DIRECTORY) as fd, os.scandir(fd) as found:
            entries = []
            for item in found:
                entries.append(_entry(item))
                if len(entries) > self.caps.entries:
                    raise TooLarge(f"{path!r} has more than {self.caps.entries} entries.")
        return sorted(entries, key=lambda entry: entry.name)

    def make_folder(self, path: str) -> None:
        """Make one folder."""
        with parent_of(self._fd, path, resolve=self.resolve) as (folder, name):
            try:
                os.mkdir(name, 0o755, dir_fd=folder)
            except OSError as error:
                raise refusal(error.errno or 0, path) from None

    def move(self, source: str, target: str) -> None:
        """Give a file or folder another name below the workspace; never over another."""
        inside = {"resolve": self.resolve}
        with parent_of(self._fd, source, **inside) as old, parent_of(self._fd, target, **inside) as new:
            rename_new(old, new)
        self._settle(target)

    def delete(self, path: str) -> None:
        """Remove a file, a link itself, or an empty folder."""
        with parent_of(self._fd, path, resolve=self.resolve) as (folder, name):
            try:
                found = os.stat(name, dir_fd=folder, follow_symlinks=False)
                if stat.S_ISDIR(found.st_mode):
                    os.rmdir(name, dir_fd=folder)
                else:
                    os.unlink(name, dir_fd=folder)
            except OSError as error:
                raise refusal(error.errno or 0, path) from None
        self._settle(path)

    def _mode(self, folder: int, name: str) -> int:
        try:
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return 0o644
        if not stat.S_ISREG(found.st_mode):
            raise Conflict(f"{name!r} exists and is no ordinary file.")
        return stat.S_IMODE(found.st_mode) & 0o777

    def _settle(self, path: str) -> None:
        """Make the change of names survive a loss of power."""
        above = path.rstrip("/").rpartition("/")[0] or "."
        with suppress(OSError), self.open(above, os.O_RDONLY | os.O_DIRECTORY) as fd:
            os.fsync(fd)


def _fill(folder: int, name: str, data: bytes, mode: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(name, flags, mode, dir_fd=folder), "wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())


def _ordinary(fd: int, path: str) -> os.stat_result:
    found = os.fstat(fd)
    if not stat.S_ISREG(found.st_mode):
        raise InvalidInput(f"{path!r} is no ordinary file.")
    if found.st_nlink > 1:
        raise Forbidden(f"{path!r} has other names, which may be outside the workspace.")
    return found


def _entry(item: "os.DirEntry[str]") -> Entry:
    try:
        found = item.stat(follow_symlinks=False)
    except OSError:
        return Entry(item.name, "other", 0)
    kind = next((kind for test, kind in _KINDS if test(found.st_mode)), "other")
    return Entry(item.name, kind, found.st_size if kind == "file" else 0)
