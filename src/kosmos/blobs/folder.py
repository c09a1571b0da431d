"""Blobs in a folder: `root/ab/cdef…`, durable once `put` has returned."""

import asyncio
import errno
import hashlib
import os
import re
import tempfile
import time
from collections.abc import AsyncGenerator, Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from kosmos.blobs.digests import digest_of, is_sha256, missing, require_sha256, verified
from kosmos.blobs.sources import file_chunks, in_threads, source_chunks
from kosmos.errors import ConfigError, EngineUnavailable, KosmosError

_INCOMING = ".incoming"
_SHARD = re.compile(r"[0-9a-f]{2}")
_LEFTOVER_AGE = 24 * 60 * 60.0
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_MISPLACED = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EISDIR, errno.EEXIST}
_MISPLACED |= {errno.ENAMETOOLONG, errno.ELOOP, errno.ENOENT}
# What file systems without hard links answer.
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}


class FolderBlobs:
    """A blob store on a local or mounted file system; several processes may share it."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._incoming = root / _INCOMING

    async def put(self, data: bytes) -> str:
        """Store these bytes durably and return their key; storing them again changes nothing."""
        return await asyncio.to_thread(self._put, data)

    async def put_file(self, path: Path) -> str:
        """Store the content of a regular file, read piece by piece, and return its key."""
        return await asyncio.to_thread(self._store, source_chunks(path))

    async def read(self, sha256: str) -> bytes:
        """The whole content; DataLost when it is missing or no longer fits its key."""
        return b"".join([chunk async for chunk in self.stream(sha256)])

    def stream(self, sha256: str) -> AsyncGenerator[bytes, None]:
        """The content in pieces; the last is held back until the whole is verified, else DataLost."""
        return verified(sha256, in_threads(self._chunks(sha256, self._path(sha256))))

    async def exists(self, sha256: str) -> bool:
        """Whether something is stored under this key; its content is not read."""
        return await asyncio.to_thread(self._exists, self._path(sha256))

    async def remove(self, sha256: str) -> None:
        """Forget this key; nothing happens when it is not there."""
        await asyncio.to_thread(self._remove, self._path(sha256))

    async def keys(self) -> AsyncGenerator[str, None]:
        """Every stored key in ascending order, one sub-folder at a time."""
        for shard in await asyncio.to_thread(self._names, self._root):
            if _SHARD.fullmatch(shard):
                for name in await asyncio.to_thread(self._names, self._root / shard):
                    if is_sha256(shard + name):
                        yield shard + name

    async def check(self) -> None:
        """Prove by a write that the folder can be used, and clear old leftovers."""
        await asyncio.to_thread(self._check)

    async def sweep(self) -> int:
        """Delete what crashed writes left behind more than a day ago; returns how many files."""
        return await asyncio.to_thread(self._sweep)

    async def close(self) -> None:
        """Nothing to let go of."""

    def _path(self, sha256: str) -> Path:
        require_sha256(sha256)
        return self._root / sha256[:2] / sha256[2:]

    def _put(self, data: bytes) -> str:
        sha256 = hashlib.sha256(data).hexdigest()
        path = self._path(sha256)
        with self._reported():
            if self._intact(path, sha256):
                self._settle(path)
                return sha256
        return self._store([data])

    def _store(self, chunks: Iterable[bytes]) -> str:
        with self._reported():
            self._prepare()
            with self._written(chunks) as (temporary, sha256):
                self._publish(temporary, sha256)
        return sha256

    def _prepare(self) -> None:
        if not self._incoming.is_dir():
            self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._incoming.mkdir(mode=0o700, exist_ok=True)
            _fsync_folder(self._root.parent)

    @contextmanager
    def _written(self, chunks: Iterable[bytes]) -> Iterator[tuple[Path, str]]:
        """A temporary file (mode 0600) that holds these pieces on disk, gone again afterwards."""
        descriptor, name = tempfile.mkstemp(dir=self._incoming)
        temporary, digest = Path(name), hashlib.sha256()
        try:
            with os.fdopen(descriptor, "wb") as file:
                for chunk in chunks:
                    digest.update(chunk)
                    file.write(chunk)
                file.flush()
                os.fsync(file.fileno())
            yield temporary, digest.hexdigest()
        finally:
            temporary.unlink(missing_ok=True)

    def _publish(self, temporary: Path, sha256: str) -> None:
        path = self._path(sha256)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        try:
            # Unlike a rename, a link never overwrites.
            os.link(temporary, path)
        except OSError as error:
            if error.errno != errno.EEXIST and error.errno not in _NO_LINKS:
                raise
            # What no longer fits its key is of no use to anybody: storing the content again heals it.
            if not self._intact(path, sha256):
                temporary.replace(path)
        self._settle(path)

    def _settle(self, path: Path) -> None:
        """Make the names durable too, even when another process created them a moment ago."""
        _fsync_folder(path.parent)
        _fsync_folder(self._root)

    def _intact(self, path: Path, sha256: str) -> bool:
        try:
            return digest_of(file_chunks(path))[0] == sha256
        except FileNotFoundError:
            return False

    def _chunks(self, sha256: str, path: Path) -> Generator[bytes, None, None]:
        with self._reported():
            try:
                yield from file_chunks(path)
            except FileNotFoundError as error:
                raise missing(sha256) from error

    def _exists(self, path: Path) -> bool:
        with self._reported():
            try:
                path.stat()
            except FileNotFoundError:
                return False
            return True

    def _remove(self, path: Path) -> None:
        # The sub-folder stays: a put may be about to use it.
        with self._reported():
            path.unlink(missing_ok=True)

    def _names(self, folder: Path) -> list[str]:
        with self._reported():
            try:
                return sorted(entry.name for entry in folder.iterdir())
            except FileNotFoundError:
                return []

    def _check(self) -> None:
        with self._reported():
            self._prepare()
            with self._written([b"check"]):
                pass
        self._sweep()

    def _sweep(self) -> int:
        oldest, swept = time.time() - _LEFTOVER_AGE, 0
        for name in self._names(self._incoming):
            leftover = self._incoming / name
            with self._reported():
                try:
                    if leftover.stat().st_mtime < oldest:
                        leftover.unlink()
                        swept += 1
                except FileNotFoundError:
                    continue  # another process was faster
        return swept

    @contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise _explained(error, self._root) from error


def _explained(error: OSError, root: Path) -> KosmosError:
    reason = error.strerror or str(error)
    if error.errno in _FULL:
        return EngineUnavailable(
            f"There is no room left for blobs in {root}: {reason}.",
            remedy="Free space there, or raise the quota; nothing half-written was kept.",
        )
    if error.errno in _MISPLACED:
        return ConfigError(
            f"The blob folder {root} cannot be used: {reason}.",
            remedy="Configure a folder that this process may create, read and write.",
        )
    return EngineUnavailable(
        f"The blob folder {root} does not work at the moment: {reason}.",
        remedy="Check the disk or the mount it lies on.",
    )


def _fsync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
