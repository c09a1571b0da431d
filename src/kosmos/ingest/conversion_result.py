"""How a converting process hands its result over: one file, of which the reader believes nothing.

A mark, the length of a JSON header, the header, the text, the figures one after the other.
"""

import hashlib
import json
import os
import re
import stat
import struct
from pathlib import Path
from typing import Any, BinaryIO

from kosmos.domain.documents import Canonical
from kosmos.domain.extracts import Extract, Figure, Origin
from kosmos.domain.values import check_json
from kosmos.errors import ConversionFailed, InvalidInput, KosmosError, TooLarge
from kosmos.ingest.canonical import is_canonical, one_line
from kosmos.ingest.limits import Converted, Limits

_MARK = b"KOSMOS1\n"
_MAX_HEADER = 8 * 1024 * 1024
_MAX_METADATA = 100_000
_MAX_NOTES = 100
_ORIGINS = frozenset({"page", "slide", "sheet", "cell", "section", "line"})
_ERRORS = {"InvalidInput": InvalidInput, "TooLarge": TooLarge, "ConversionFailed": ConversionFailed}
# What reading a header of the wrong shape raises.
_MISSHAPEN = (KeyError, TypeError, ValueError, IndexError, RecursionError, struct.error, AttributeError)


def write_result(path: Path, canonical: Canonical, extract: Extract) -> None:
    """Write what came out of a file."""
    text = canonical.text.encode()
    header = {
        "title": canonical.title,
        "metadata": dict(canonical.metadata),
        "converter": canonical.converter,
        "text": len(text),
        "notes": [one_line(note) for note in extract.notes[:_MAX_NOTES]],
        "origins": [[o.line, o.kind, o.place, one_line(o.name)] for o in extract.origins],
        "figures": [
            [f.sha256, f.media_type, one_line(f.caption), f.line, len(f.data)] for f in extract.figures
        ],
    }
    _write(path, header, text, *(figure.data for figure in extract.figures))


def write_failure(path: Path, error: KosmosError) -> None:
    """Write why nothing came out of it."""
    kind = next(
        (name for name in ("TooLarge", "ConversionFailed") if type(error).__name__ == name), "InvalidInput"
    )
    _write(path, {"error": kind, "message": error.message[:1000], "remedy": (error.remedy or "")[:1000]})


def _write(path: Path, header: dict[str, Any], *parts: bytes) -> None:
    # Halves of surrogate pairs stay escaped here; the reader refuses them where they may not be.
    head = json.dumps(header, default=str).encode("ascii")
    with path.open("wb") as file:
        file.write(_MARK + struct.pack("<I", len(head)) + head)
        for part in parts:
            file.write(part)


def read_result(path: Path, kind: str, limits: Limits) -> Converted:
    """The result, every part of it checked; the error that the process reported, or ConversionFailed."""
    try:
        with _open(path) as file:
            header = _read_header(file)
            if "error" in header:
                raise _reported(header)
            return _read_parts(file, header, kind, limits)
    except OSError as error:
        raise _nonsense("no result") from error
    except InvalidInput:
        raise
    except _MISSHAPEN as error:
        raise _nonsense("a result that makes no sense") from error


def _open(path: Path) -> BinaryIO:
    """The file itself: not what a link in its place leads to, and no pipe that never ends."""
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise _nonsense("no result")
    return file


def _read_header(file: BinaryIO) -> dict[str, Any]:
    start = file.read(len(_MARK) + 4)
    (length,) = struct.unpack("<I", start[len(_MARK) :])
    if not start.startswith(_MARK) or length > _MAX_HEADER:
        raise ValueError("no header")
    header = json.loads(file.read(length))
    if not isinstance(header, dict):
        raise TypeError("no header")
    return header


def _reported(header: dict[str, Any]) -> KosmosError:
    remedy = one_line(str(header["remedy"]))
    return _ERRORS[header["error"]](one_line(str(header["message"])), remedy=remedy or None)


def _read_parts(file: BinaryIO, header: dict[str, Any], kind: str, limits: Limits) -> Converted:
    converter, title = header["converter"], header["title"]
    if not re.fullmatch(rf"{kind}/\d{{1,4}}", converter) or one_line(title) != title or not title:
        raise ValueError("converter or title")
    if not isinstance(header["metadata"], dict):
        raise TypeError("metadata")
    metadata = check_json(header["metadata"], what="metadata", most=_MAX_METADATA)
    text = _read_text(file, header["text"], limits)
    last = text.count("\n") + 1
    origins = tuple(_origin(row, last) for row in header["origins"])
    figures = _read_figures(file, header["figures"], last, limits)
    if file.read(1):
        raise ValueError("more than was announced")
    notes = tuple(one_line(note) for note in header["notes"][:_MAX_NOTES])
    return Converted(Canonical(text, title, metadata, converter), origins, figures, notes, kind, converter)


def _read_text(file: BinaryIO, size: int, limits: Limits) -> str:
    if type(size) is not int or not 0 <= size <= limits.canonical_bytes:
        raise ValueError("size of the text")
    data = file.read(size)
    text = data.decode()
    if len(data) != size or not is_canonical(text):
        raise ValueError("text is not canonical")
    return text


def _origin(row: list[Any], last: int) -> Origin:
    line, kind, place, name = row
    if kind not in _ORIGINS or one_line(name) != name:
        raise ValueError("origin")
    return Origin(_count(line, last), kind, _count(place, 2**31), name)


def _read_figures(file: BinaryIO, rows: list[Any], last: int, limits: Limits) -> tuple[Figure, ...]:
    figures: list[Figure] = []
    left = limits.figure_bytes
    for sha256, media_type, caption, line, size in rows:
        left -= _count(size, left)
        data = file.read(size)
        if len(data) != size or hashlib.sha256(data).hexdigest() != sha256:
            raise ValueError("figure")
        if not re.fullmatch(r"image/[a-z0-9.+-]{1,40}", media_type) or one_line(caption) != caption:
            raise ValueError("figure")
        figures.append(Figure(sha256, data, media_type, caption, _count(line, last)))
    return tuple(figures)


def _count(value: Any, most: int) -> int:
    if type(value) is not int or not 1 <= value <= most:
        raise ValueError("number out of range")
    return value


def _nonsense(what: str) -> ConversionFailed:
    return ConversionFailed(
        f"The converting process gave back {what}.",
        remedy="The file may be damaged or hostile; try to save it anew.",
    )
