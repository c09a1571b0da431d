"""ZIP archives by hand where that is safer: the names inside, and members within limits."""

import struct
import zipfile
import zlib
from collections.abc import Mapping
from io import BytesIO

from kosmos.errors import InvalidInput, TooLarge

MAX_MEMBERS = 20_000
TAIL = 4 * 1024 * 1024
_END = b"PK\x05\x06"
_ENTRY = b"PK\x01\x02"
_LOCAL = b"PK\x03\x04"
_ENCRYPTED = 0x1
# What the library raises on damaged archives, apart from its own error.
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, struct.error, NotImplementedError)


def member_names(tail: bytes) -> list[str]:
    """Names from the central directory in the last bytes of an archive; none when it is damaged.

    Only names are read, and only so many: the library would build an object for each of millions.
    """
    end = tail.rfind(_END)
    if end < 0 or len(tail) < end + 22:
        return []
    size = int.from_bytes(tail[end + 12 : end + 16], "little")
    at = tail.rfind(_ENTRY, 0, end) if size == 0xFFFFFFFF else end - size
    names: list[str] = []
    while 0 <= at < end and tail[at : at + 4] == _ENTRY and len(names) < MAX_MEMBERS:
        name, extra, comment = struct.unpack_from("<HHH", tail, at + 28)
        names.append(tail[at + 46 : at + 46 + name].decode("utf-8", "replace"))
        at += 46 + name + extra + comment
    return names


def local_names(head: bytes) -> list[str]:
    """Names of the first members, found from the front: what a truncated archive still tells."""
    names: list[str] = []
    at = 0
    while head[at : at + 4] == _LOCAL and len(head) >= at + 30 and len(names) < 100:
        packed = int.from_bytes(head[at + 18 : at + 22], "little")
        name, extra = struct.unpack_from("<HH", head, at + 26)
        names.append(head[at + 30 : at + 30 + name].decode("utf-8", "replace"))
        at += 30 + name + extra + packed
    return names


class Archive:
    """An archive of which no member and no sum of members can grow beyond its limits."""

    def __init__(self, data: bytes, name: str, *, most: int = 256 * 1024 * 1024) -> None:
        if len(member_names(data[-TAIL:])) >= MAX_MEMBERS:
            raise TooLarge(f"{name} holds more than {MAX_MEMBERS} files.", remedy="Split it.")
        self._name, self._left, self._most = name, most, most
        try:
            self._zip = zipfile.ZipFile(BytesIO(data))
        except _DAMAGE as error:
            raise self._damaged() from error
        self.members: Mapping[str, zipfile.ZipInfo] = {info.filename: info for info in self._zip.infolist()}

    def read(self, member: str, *, most: int = 64 * 1024 * 1024) -> bytes:
        """The bytes of one member, counted while they are unpacked: the declared size may lie."""
        info = self.members.get(member)
        if info is None:
            raise InvalidInput(
                f"{self._name} lacks {member[:200]}.", remedy="Get a complete copy of the file."
            )
        if info.flag_bits & _ENCRYPTED:
            raise InvalidInput(f"{self._name} is encrypted.", remedy="Remove the password and add it again.")
        allowed = min(most, self._left)
        try:
            with self._zip.open(info) as stream:
                data = stream.read(allowed + 1)
        except (*_DAMAGE, RuntimeError) as error:
            raise self._damaged() from error
        if len(data) > allowed:
            raise TooLarge(
                f"{self._name} unpacks to more than {self._most // 2**20} MB, or {member[:200]} to more than "
                f"{most // 2**20} MB.",
                remedy="Split it, or add its parts one by one.",
            )
        self._left -= len(data)
        return data

    def _damaged(self) -> InvalidInput:
        return InvalidInput(
            f"{self._name} is a damaged or incomplete archive.", remedy="Get a complete copy of the file."
        )
