"""Writing an archive: a ZIP file that appears under its name whole or not at all."""

import hashlib
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from kosmos.archive.manifest import NAME, Manifest, Part, dump_manifest
from kosmos.errors import Conflict, InvalidInput

LEVEL = 3  # quicker than the usual 6, and the bytes of documents are mostly packed already


class Writer:
    """Parts one after another, hashed while they are written; the manifest comes last."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._zip = archive
        self.parts: dict[str, Part] = {}

    @contextmanager
    def part(self, name: str) -> Iterator["PartWriter"]:
        """A new part."""
        with self._zip.open(name, "w", force_zip64=True) as file:
            writer = PartWriter(file)
            yield writer
        self.parts[name] = Part(writer.bytes, writer.sha256)

    def close(self, manifest: Manifest) -> None:
        """The last part of all."""
        self._zip.writestr(NAME, dump_manifest(manifest))


class PartWriter:
    """One part while it is written."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self.bytes = 0

    def write(self, data: bytes) -> None:
        """More bytes."""
        self._hash.update(data)
        self._file.write(data)
        self.bytes += len(data)

    def write_lines(self, lines: list[str]) -> None:
        """More lines."""
        self.write("".join(f"{line}\n" for line in lines).encode())

    @property
    def sha256(self) -> str:
        """The hash of all that was written."""
        return self._hash.hexdigest()


def size_of(path: Path) -> int:
    """How large a file is."""
    return path.stat().st_size


@contextmanager
def new_archive(path: Path) -> Iterator[Writer]:
    """A new file that only its owner can read; without an error it gets its name when the block ends."""
    if path.exists():
        raise Conflict(f"{path} is there already.", remedy="Choose another name, or move that file away.")
    temporary = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    except OSError as error:
        raise InvalidInput(
            f"{path} cannot be written: {error.strerror or error}.",
            remedy="Choose a folder that you may write to.",
        ) from None
    try:
        with os.fdopen(handle, "w+b") as file:
            with zipfile.ZipFile(file, "w", compression=zipfile.ZIP_DEFLATED, compresslevel=LEVEL) as archive:
                yield Writer(archive)
            file.flush()
            os.fsync(file.fileno())
        _publish(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _publish(temporary: Path, path: Path) -> None:
    """A link never overwrites; where there are no links, a rename has to do."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise Conflict(f"{path} is there already.", remedy="Choose another name.") from None
    except OSError:
        temporary.rename(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
