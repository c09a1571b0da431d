"""Reading an archive, whoever made it: nothing is unpacked by name, nothing read beyond what it declares."""

import hashlib
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kosmos.archive.manifest import (
    BLOBS,
    NAME,
    Manifest,
    blob_part,
    is_blob_part,
    is_size,
    load_manifest,
)
from kosmos.archive.rows import load_json, refused
from kosmos.errors import InvalidInput

MOST_PARTS = 5_000_000
MOST_MANIFEST = 64 * 2**20
MOST_LINE = 256 * 2**20
MOST_RATIO = 200  # text packs to a tenth; a bomb to a thousandth
ALWAYS = 256 * 2**20  # may be unpacked whatever it was packed to
PIECE = 2**20
_ENCRYPTED = 0x1
_KINDS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, struct.error, NotImplementedError)
_DAMAGE_READING = (*_DAMAGE, RuntimeError)


class Reader:
    """An archive whose directory and manifest fit each other."""

    def __init__(self, archive: zipfile.ZipFile, manifest: Manifest, blobs: dict[str, int]) -> None:
        self._zip = archive
        self.manifest = manifest
        self.blobs = blobs  # sizes by hash

    def pieces(self, name: str) -> Iterator[bytes]:
        """The bytes of a part; an error at the end when they are not those that were written."""
        part = self.manifest.parts[name]
        return _pieces(self._zip, name, part.bytes, part.sha256)

    def blob(self, sha256: str) -> Iterator[bytes]:
        """Stored bytes by their hash, checked in the same way."""
        return _pieces(self._zip, blob_part(sha256), self.blobs[sha256], sha256)

    def lines(self, name: str) -> Iterator[str]:
        """The lines of a part."""
        return _lines(self.pieces(name))

    def check(self) -> Iterator[str]:
        """Read every part once; the names of those that are whole."""
        for name in self.manifest.parts:
            for _ in self.pieces(name):
                pass
            yield name
        for sha256 in self.blobs:
            for _ in self.blob(sha256):
                pass
            yield sha256


@contextmanager
def open_archive(path: Path, kind: str, *, trusted: bool = False) -> Iterator[Reader]:
    """The archive of that kind in a file; one that is not `trusted` may not unpack to too much."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise InvalidInput(
            f"{path} cannot be read: {error.strerror or error}.", remedy="Give the file of an archive."
        ) from None
    with file:  # not by the archive: a part that was left unread would keep it open
        try:
            archive = zipfile.ZipFile(file)
        except (*_DAMAGE, OSError):
            raise refused(f"{path.name} is no archive, or only the beginning of one") from None
        with archive:
            _check_directory(archive, path.stat().st_size, trusted=trusted)
            yield _open(archive, kind)


def _open(archive: zipfile.ZipFile, kind: str) -> Reader:
    names = {info.filename for info in archive.infolist()}
    if NAME not in names:
        raise refused("it has no manifest")
    if archive.getinfo(NAME).file_size > MOST_MANIFEST:
        raise refused("its manifest is too large")
    manifest = load_manifest(_manifest_bytes(archive), kind)
    blobs = _load_blobs(archive, manifest)
    wanted = {NAME, *manifest.parts, *(blob_part(sha256) for sha256 in blobs)}
    if odd := sorted(names ^ wanted):
        raise refused(f"its parts are not those of its manifest: {odd[0][:80]!r}")
    return Reader(archive, manifest, blobs)


def _manifest_bytes(archive: zipfile.ZipFile) -> bytes:
    try:
        with archive.open(NAME) as file:
            return file.read(MOST_MANIFEST)
    except (*_DAMAGE_READING, OSError):  # a place before the file
        raise refused("its manifest is damaged") from None


def _load_blobs(archive: zipfile.ZipFile, manifest: Manifest) -> dict[str, int]:
    if BLOBS not in manifest.parts:
        raise refused("its manifest names no bytes")
    blobs: dict[str, int] = {}
    part = manifest.parts[BLOBS]
    for line in _lines(_pieces(archive, BLOBS, part.bytes, part.sha256)):
        entry = load_json(line)
        fits = isinstance(entry, dict) and set(entry) == {"sha256", "size"}
        if not fits or not is_size(entry["size"]) or not is_blob_part(f"blobs/{entry['sha256']}"):
            raise refused("its list of bytes cannot be read")
        blobs[entry["sha256"]] = entry["size"]
    return blobs


def _check_directory(archive: zipfile.ZipFile, packed: int, *, trusted: bool) -> None:
    listed = archive.infolist()
    if len(listed) > MOST_PARTS or len({info.filename for info in listed}) != len(listed):
        raise refused("its directory has too many parts, or one of them twice")
    for info in listed:
        if info.flag_bits & _ENCRYPTED or info.compress_type not in _KINDS:
            raise refused(f"the part {info.filename[:80]!r} is packed in an unknown way")
    unpacked = sum(info.file_size for info in listed)
    if not trusted and unpacked > max(ALWAYS, packed * MOST_RATIO):
        raise refused(f"{packed} bytes would unpack to {unpacked}")


def _pieces(archive: zipfile.ZipFile, name: str, size: int, sha256: str) -> Iterator[bytes]:
    """What a part holds, counted while it is unpacked: the directory may lie."""
    left, digest = size, hashlib.sha256()
    try:
        with archive.open(name) as file:
            while data := file.read(PIECE):
                left -= len(data)
                if left < 0:
                    raise refused(f"{name} is longer than it is said to be")
                digest.update(data)
                yield data
    except KeyError:
        raise refused(f"{name} is not there") from None
    except (*_DAMAGE_READING, OSError):
        raise refused(f"{name} is damaged") from None
    if left or digest.hexdigest() != sha256:
        raise refused(f"{name} does not fit its checksum")


def _lines(pieces: Iterator[bytes]) -> Iterator[str]:
    rest = bytearray()  # it grows in place, however long the line
    for data in pieces:
        if b"\n" in data:
            *whole, last = (bytes(rest) + data).split(b"\n")
            rest = bytearray(last)
            for line in whole:
                yield _decoded(line)
        else:
            rest += data
        if len(rest) > MOST_LINE:
            raise refused("a line in it is too long")
    if rest:
        raise refused("its last line is not whole")


def _decoded(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:
        raise refused("it holds what is no text") from None
