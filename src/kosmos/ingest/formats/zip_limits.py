"""Office files are zip archives of XML: opened only when they cannot blow up."""

import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from kosmos.errors import InvalidInput, TooLarge
from kosmos.ingest.formats.refusals import SAVE_AGAIN

MAX_MEMBERS = 10_000
MAX_BYTES = 512 * 2**20
MAX_XML_BYTES = 200 * 2**20
MAX_RATIO = 250
# Below this size no ratio is suspicious: a page of blanks compresses well.
_SMALL = 4 * 2**20
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCODING = re.compile(rb"<\?xml[^>]{0,100}?encoding\s*=\s*[\"']([^\"']{0,40})")
# Another encoding could spell an entity so that it is not seen here.
_PLAIN_ENCODINGS = (b"utf-8", b"utf8", b"utf-16", b"us-ascii", b"ascii", b"iso-8859-1")
_REMEDY = "Take large pictures or sheets out of it, or split it."


def open_archive(data: bytes, name: str, kind: str) -> zipfile.ZipFile:
    """The archive, after its members were counted and measured."""
    if data.startswith(_OLE):
        raise InvalidInput(
            f"{name} is encrypted or in the old binary form of Office.",
            remedy=f"Take the password off, or save it as a {kind}.",
        )
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError, EOFError):
        raise InvalidInput(f"{name} is damaged: it is not a whole {kind}.", remedy=SAVE_AGAIN) from None
    _check_sizes(archive.infolist(), name)
    for member in archive.infolist():
        if member.filename.endswith((".xml", ".rels")):
            _check_xml(archive, member, name)
    return archive


def _check_sizes(members: list[zipfile.ZipInfo], name: str) -> None:
    if len(members) > MAX_MEMBERS:
        raise TooLarge(
            f"{name} holds {len(members):,} parts; at most {MAX_MEMBERS:,} are read.", remedy=_REMEDY
        )
    total = sum(member.file_size for member in members)
    if total > MAX_BYTES:
        raise TooLarge(
            f"{name} unpacks to {total // 2**20:,} MB; at most {MAX_BYTES // 2**20} MB are read.",
            remedy=_REMEDY,
        )
    for member in members:
        if member.flag_bits & 0x1:
            raise InvalidInput(f"{name} is encrypted.", remedy="Take the password off and add it again.")
        if member.file_size > _SMALL and member.file_size > MAX_RATIO * max(member.compress_size, 1):
            raise TooLarge(f"{name} unpacks to far more than it holds.", remedy=SAVE_AGAIN)


def _check_xml(archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str) -> None:
    """No part may define entities: Office writes none, and they read files or grow without end."""
    if member.file_size > MAX_XML_BYTES:
        raise TooLarge(
            f"{name} holds a part of {member.file_size // 2**20} MB; at most "
            f"{MAX_XML_BYTES // 2**20} MB are read.",
            remedy=_REMEDY,
        )
    tail = b""
    with _unpacking(member.filename, name), archive.open(member) as stream:
        while piece := stream.read(2**20):
            # Without its zero bytes UTF-16 reads as ASCII; the tail catches a word cut in two.
            plain = tail + piece.replace(b"\x00", b"")
            _check_piece(plain, name)
            tail = plain[-16:]


def _check_piece(plain: bytes, name: str) -> None:
    declared = _ENCODING.search(plain)
    odd = declared is not None and declared.group(1).lower() not in _PLAIN_ENCODINGS
    if odd or b"<!DOCTYPE" in plain or b"<!ENTITY" in plain:
        raise InvalidInput(f"{name} holds XML of a kind Office never writes.", remedy=SAVE_AGAIN)


def read_member(archive: zipfile.ZipFile, member: str, name: str) -> bytes:
    """The bytes of a part, or a plain reason why it cannot be unpacked."""
    with _unpacking(member, name), archive.open(member) as stream:
        return stream.read()


@contextmanager
def _unpacking(member: str, name: str) -> Iterator[None]:
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError, KeyError):
        raise InvalidInput(
            f"{name} is damaged: its part {member} cannot be unpacked.", remedy=SAVE_AGAIN
        ) from None
